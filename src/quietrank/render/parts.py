"""Text and values in, pieces of a page out: every text is escaped, and a policy lets a browser run nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files

from quietrank.render.screen import visible


@cache
def file(name: str) -> str:
    """A file that stands beside this module."""
    return (files("quietrank.render") / name).read_text(encoding="utf-8")


def policy(style: str, script: str = "") -> str:
    """What a browser may load and run: this style, this script if there is one, and pictures inside the page."""
    scripts = f" script-src '{_digest(script)}';" if script else ""
    return (
        f"default-src 'none'; style-src '{_digest(style)}';{scripts} img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(block: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}"


def text(content: str) -> str:
    """Text as it is safe in a page, between tags and within quotes."""
    return escape(visible(content)).replace(" %", "&nbsp;%")


def listed(sentences: Iterable[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{text(sentence)}</li>" for sentence in sentences) + "\n</ul>"


def paragraphs(sentences: Iterable[str]) -> str:
    return "\n".join(f"<p>{text(sentence)}</p>" for sentence in sentences)


def definitions(facts: Iterable[tuple[str, str]]) -> str:
    return "<dl>\n" + "\n".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in facts) + "\n</dl>"


def data(kind: str, content: str) -> str:
    """A file inside the page, as a link that can be saved."""
    return f"data:{kind};base64,{base64.b64encode(content.encode()).decode()}"
