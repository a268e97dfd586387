"""The site: pages that scripts write are current, and links of other pages lead somewhere; `make docs` builds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.make_api import api_page
from docs.make_benchmarks import benchmarks_page
from docs.make_modules import modules_page
from docs.make_noise import page_with_tables
from tests.test_boundaries import LINES, MODULES

ROOT = Path(__file__).parent.parent
OUTSIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]


def test_the_page_of_the_api_is_current() -> None:
    """Every public name has its section, from its docstring; `make docs` writes it anew."""
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == api_page()


def test_the_page_of_benchmarks_is_current() -> None:
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == benchmarks_page()


def test_the_page_of_modules_is_current_and_every_module_has_a_head() -> None:
    page = (ROOT / "docs" / "modules.md").read_text(encoding="utf-8")
    assert page == modules_page()
    assert "|  |" not in page


def test_pages_that_the_code_names_exist() -> None:
    """A proof that a module cites is there."""
    for path in (ROOT / "src").rglob("*.py"):
        for page in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8")):
            assert (ROOT / page).exists(), f"{path.name} names {page}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "SECURITY.md"])
def test_the_ceiling_of_the_reading_list_is_the_one_that_is_tested(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert f"{MODULES} modules and {LINES:,} lines" in text


def test_what_the_notation_names_is_where_it_says() -> None:
    """A name of Python stands in the module beside it."""
    page = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    places = re.findall(r"\| `(\w+)(?:\.(\w+))?`[^|]*\| `([\w/]+\.py)` \|", page)
    assert len(places) >= 8
    for name, member, module in places:
        source = (ROOT / "src" / "quietrank" / module).read_text(encoding="utf-8")
        assert re.search(rf"\b(class|def) {name}\b|\b{name}=", source), f"{name} is not in {module}"
        assert not member or re.search(rf"\b{member}\b", source), f"{name}.{member} is not in {module}"


def test_the_table_of_noise_is_current() -> None:
    """The noise of every mechanism, from the laws themselves."""
    page = (ROOT / "docs" / "noise.md").read_text(encoding="utf-8")
    assert page_with_tables(page) == page


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links and anchors of the pages that the site does not have; it checks its own when it is built."""
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text(encoding="utf-8")), link


def _anchors(text: str) -> set[str]:
    """As MkDocs and others make them of headings."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings)
    return {re.sub(r"\s+", "-", heading) for heading in plain}


def test_every_page_is_in_the_navigation() -> None:
    """MkDocs warns of others; here it is found without MkDocs."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r"[\w/-]+\.md", navigation))
