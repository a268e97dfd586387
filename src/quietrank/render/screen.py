"""Text in, what a terminal can show out: characters it knows, with control characters written as escapes."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

IN_WORDS = {
    "ε": "epsilon", "δ": "delta", "ρ": "rho", "γ": "gamma", "θ": "theta", "λ": "lambda", "±": "+/-", "∞": "infinity",
    "≤": "<=", "≥": ">=", "×": "x", "−": "-", "–": "-", "—": "-", "…": "...", "‖": "|", "✓": "ok", "•": "*",
    "’": "'", "“": '"', "”": '"', "é": "e",
}  # fmt: skip
"""For encodings that lack them."""

HANDLER = "quietrank-in-words"


def _in_words(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(IN_WORDS.get(letter, "?") for letter in missing), error.end


def never_fail_on_a_character() -> None:
    """From now on, what standard output and error cannot encode is written in other words, or as a question mark."""
    codecs.register_error(HANDLER, _in_words)
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def visible(text: str) -> str:
    """The text with its control characters shown as escapes: a name must not be able to move the cursor."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def show(rendered: Any, piped_width: int | None = None) -> None:
    """Print something for people on standard output; raises OSError if it cannot be written.

    `piped_width` is its least width where there is no terminal; tables have all the room there that they need.
    """
    from rich.console import Console

    from quietrank.render.fitting import fit_to_reader

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "the reader closed the pipe")  # Rich itself would exit

    _require_stdout()
    screen = Screen()
    fit_to_reader(screen, rendered, piped_width or 0)
    screen.print(rendered)
    sys.stdout.flush()


def show_data(text: str) -> None:
    """Print CSV, JSON or lines on standard output, as UTF-8 if it goes to a program; raises OSError if it cannot."""
    _require_stdout()
    if sys.stdout.isatty():
        text = "".join(f"{visible(line)}\n" for line in text.split("\n")[:-1])
    elif not is_utf8(sys.stdout) and hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        text = ""
    sys.stdout.write(text)
    sys.stdout.flush()


def tell(text: str) -> None:
    """Print a line about the run on standard error; if that is closed, the line is lost."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(visible(text), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """The same in bold."""
    from rich.console import Console
    from rich.text import Text

    with contextlib.suppress(OSError, ValueError, AttributeError):
        Console(stderr=True).print(Text(visible(text), style="bold"))


def busy(text: str) -> AbstractContextManager[Any]:
    """On a terminal, show what is being done."""
    from rich.console import Console

    return Console(stderr=True).status(text)


@contextmanager
def progress(text: str) -> Iterator[Callable[..., None]]:
    """On a terminal, a bar that vanishes at the end: call what is yielded with what is done, of 1 or of a total."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn(text), progress.BarColumn(), progress.TaskProgressColumn(), progress.TimeElapsedColumn()
    )  # fmt: skip
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda done, total=1.0: bar.update(task, completed=done, total=total)


@contextmanager
def steps(text: str) -> Iterator[Callable[[str, float | None], None]]:
    """The same for work in steps: call what is yielded with what is being done, and how much of it is done, if that is
    known; `text` is what is done at first."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.SpinnerColumn(), progress.TextColumn("{task.description} …"), progress.BarColumn(),
        progress.TaskProgressColumn(), progress.TimeElapsedColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=None)

        def tell(doing: str, done: float | None) -> None:
            bar.update(task, description=doing, completed=done or 0.0, total=None if done is None else 1.0)

        yield tell


def _require_stdout() -> None:
    """Refuse a standard output that was closed from the start: the result would be lost."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")


def silence_stdout() -> None:
    """Nothing more can be written there: stop the interpreter from trying when it exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_utf8(stream: Any) -> bool:
    """Whether the stream can show every character."""
    return str(getattr(stream, "encoding", "utf-8") or "utf-8").lower().replace("-", "").startswith("utf")
