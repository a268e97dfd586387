"""Texts and values in, the pieces of a page out: fields with their option of the command line, messages, progress."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shiny import ui
from shiny.module import resolve_id
from shiny.ui import Tag, TagChild, tags

MORE_PRIVATE, MORE_ACCURATE = "← smaller: more private", "larger: more accurate →"


# ---- fields: `name` is that of the input, `option` the same on the command line --------------------------------------


def label(text: str, option: str | None = None) -> Tag | str:
    """What a field is called, here and on the command line."""
    return text if option is None else tags.span(text, tags.code(option))


def message_for(field: str) -> Tag:
    """The place of messages about a field, empty until there is one."""
    return tags.p({"class": "error", "data-for": field, "role": "alert", "hidden": ""})


def field(name: str, control: Tag, hint: TagChild = None, when: str | None = None) -> Tag:
    """An input with its hint and the place for what is wrong with it; `when` says for which choices it is there."""
    about = [] if hint is None else [tags.p({"class": "hint"}, hint)]
    shown: dict[str, Any] = {} if when is None else {"data-when": _on_this_page(when), "hidden": ""}
    return tags.div(shown, control, *about, message_for(resolve_id(name)))


def fields_when(when: str, *parts: TagChild) -> Tag:
    """Several fields that are there for some choices only."""
    return tags.div({"data-when": _on_this_page(when)}, *parts)


def _on_this_page(when: str) -> str:
    """Choices such as "shape=wide shape=rankings", with the names that the inputs of this page have in a browser."""
    choices = (choice.partition("=") for choice in when.split(" "))
    return " ".join(f"{resolve_id(name)}={value}" for name, _, value in choices)


def number_field(
    name: str,
    text: str,
    value: float | None,
    option: str | None = None,
    *,
    hint: TagChild = None,
    when: str | None = None,
    **limits: float,
) -> Tag:
    control = ui.input_numeric(name, label(text, option), value, **limits)  # type: ignore[arg-type]
    return field(name, control, hint, when)


def text_field(
    name: str,
    text: str,
    option: str | None = None,
    value: str = "",
    *,
    example: str | None = None,
    hint: TagChild = None,
    when: str | None = None,
) -> Tag:
    return field(name, ui.input_text(name, label(text, option), value, placeholder=example), hint, when)


def select_field(
    name: str,
    text: str,
    choices: Iterable[str] | dict[str, str],
    option: str | None = None,
    *,
    selected: str | None = None,
    hint: TagChild = None,
    when: str | None = None,
) -> Tag:
    listed = choices if isinstance(choices, dict) else list(choices)
    return field(name, ui.input_select(name, label(text, option), listed, selected=selected), hint, when)


def radio_field(
    name: str, text: str, choices: dict[str, str], option: str | None = None, *, hint: TagChild = None
) -> Tag:
    return field(name, ui.input_radio_buttons(name, label(text, option), choices), hint)


# ---- parts of a page -------------------------------------------------------------------------------------------------


def row(*fields: TagChild) -> Tag:
    return tags.div({"class": "row"}, *fields)


def card(title: str | None, *parts: TagChild, kind: str = "") -> Tag:
    """A part of a page."""
    heading = [] if title is None else [tags.h2(title)]
    return tags.div({"class": f"card {kind}".strip()}, *heading, *parts)


def page(name: str, title: str, lead: str, *parts: TagChild) -> Tag:
    """A whole page, which is one step."""
    heading = tags.h1({"tabindex": "-1"}, title)
    return tags.section(
        {"id": f"page-{name}", "aria-label": title, "hidden": ""}, heading, tags.p({"class": "lead"}, lead), *parts
    )


def more(title: str, *parts: TagChild) -> Tag:
    """What few people need, folded."""
    return tags.details(tags.summary(title), *parts)


def working(place: str, stop: str | None = None) -> Tag:
    """Where the progress of something is shown, and stopped with a button of that name."""
    return tags.div(
        {"class": "working", "id": place, "hidden": "", "role": "status"},
        tags.span({"class": "doing"}),
        tags.progress({"aria-label": "Progress", "max": "1"}),
        *([] if stop is None else [ui.input_action_button(stop, "Stop", class_="small")]),
    )


def step_button(step: str, text: str, main: bool = True) -> Tag:
    """A button that leads to another page."""
    return tags.button({"type": "button", "class": "btn main" if main else "btn", "data-step": step}, text)


def ends() -> Tag:
    """Which end of ε is more private."""
    return tags.div({"class": "ends"}, tags.span(MORE_PRIVATE), tags.span(MORE_ACCURATE))


def table(headings: Sequence[str], rows: Iterable[Sequence[TagChild]], caption: str, plain: bool = True) -> Tag:
    """A table whose first column names its rows."""
    head = tags.tr(*(tags.th({"scope": "col"}, heading) for heading in headings))
    body = [tags.tr(tags.th({"scope": "row", "class": "text"}, one[0]), *map(tags.td, one[1:])) for one in rows]
    whole = tags.table({"class": "plain"} if plain else {}, tags.caption(caption), tags.thead(head), tags.tbody(*body))
    return tags.div({"class": "scroll", "role": "region", "tabindex": "0", "aria-label": caption}, whole)


def errors_for(message: str, options: Mapping[str, str], otherwise: str) -> dict[str, str]:
    """The message, beside the first field whose option it names; elsewhere where the form has room for all others."""
    for option in re.findall(r"--[a-z][a-z-]*", message):
        if option in options:
            return {options[option]: sentence(message)}
    return {otherwise: sentence(message)}


def sentence(message: str) -> str:
    """A message as a sentence."""
    text = message[:1].upper() + message[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def per_cent(share: float) -> str:
    return f"{share:.0%}".replace("%", "\N{NO-BREAK SPACE}%")


def html(text: str) -> Any:
    """HTML that was made, and escaped, by `render`."""
    return ui.HTML(text)
