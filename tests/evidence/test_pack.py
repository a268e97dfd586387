"""What a pack holds: all of it in JSON, the page for people, the draft for the registry, hashes to be repeated."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.auditing.report import Audit, Finding
from quietrank.evidence import pack as packs
from quietrank.evidence.environment import Environment
from quietrank.evidence.pack import Pack, make_pack
from quietrank.evidence.page import page
from quietrank.evidence.promise_audit import PromiseAudit
from quietrank.evidence.register import BLANK, as_yaml, yaml_lines
from quietrank.evidence.subject import read_subject
from tests.evidence.published import ITEMS, MADE, PEOPLE, made, subject_of, votes

FINDING = Finding("bounds", "laplace, person", 1.0, 0.99, True, 3, 0.1, "moves at most 0.990 of the bound", "pairs")
BROKEN = Finding("black box", "laplace, person", 1.0, 1.7, False, 9, 0.1, "ε is at least this", "runs")


@pytest.fixture(autouse=True)
def attack(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack has its own tests."""
    known = PromiseAudit(
        Audit((FINDING,), 1e-3, True, 0.1), "", ("unit person",), ("There are 4 items; there were 9.",)
    )
    monkeypatch.setattr(packs, "audit_promise", lambda subject, **options: known)


@pytest.fixture
def paid(tmp_path: Path) -> Pack:
    ledger = qr.Ledger.create(tmp_path / "budget.db", 3, data="drinks", unit="person")
    release = qr.rank(votes(), PEOPLE, mechanism="laplace", ledger=ledger)
    return make_pack(subject_of(release, tmp_path), ledger=tmp_path / "budget.db")


def test_a_pack_says_everything(paid: Pack) -> None:
    """Promise, unprotected quantities, mechanism and proof, audit, ledger, versions, hashes."""
    values = json.loads(json.dumps(paid.to_dict()))
    assert (values["format"], values["holds"]) == ("quietrank/evidence/1", True)
    assert values["promise"]["statement"] == paid.subject.result.statement
    assert values["unprotected"][0] == "The list of items."
    assert values["mechanism"]["proofs"] == [
        f"docs/proofs/{name}.md" for name in ("noisy-tally", "scatter", "composition")
    ]
    root = Path(__file__).parent.parent.parent
    for proof, digest in values["mechanism"]["proofs_sha256"].items():
        assert digest == hashlib.sha256((root / proof).read_bytes()).hexdigest()
    assert len(values["mechanism"]["proofs_sha256"]) == 3
    assert values["audit"]["findings"][0]["check"] == "bounds"
    assert values["audit"]["not_as_in_the_release"]
    assert values["audit"]["what_this_is_not"]
    assert values["ledger"]["verify"].startswith("intact")
    assert {"opendp", "python-flint"} == set(values["made"]["libraries_that_draw_noise"])
    assert values["release"]["sha256"] == hashlib.sha256(paid.subject.path.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.few(2)
def test_there_is_a_pack_of_every_kind(kind: str, tmp_path: Path) -> None:
    """In all three forms; every proof that is named is there."""
    pack = make_pack(subject_of(made(kind), tmp_path))
    assert pack.reason is None
    assert "All that could be checked holds" in page(pack)
    assert as_yaml(pack).startswith("# quietrank evidence")
    assert pack.proofs
    root = Path(__file__).parent.parent.parent
    assert all((root / proof).is_file() for proof in pack.proofs)


def test_the_hash_of_a_ledger_entry_can_be_repeated(paid: Pack) -> None:
    """From the extract alone: the hash before it, a line break, and the entry."""
    ledger = paid.to_dict()["ledger"]
    content = f"{ledger['previous_sha256']}\n{ledger['content']}"
    assert hashlib.sha256(content.encode()).hexdigest() == ledger["sha256"]
    assert ledger["entry"] == f"{ledger['number']}-{ledger['sha256'][:16]}" == paid.subject.result.ledger_entry


def test_the_hash_of_the_package_is_that_of_its_files() -> None:
    """As `sha256sum` prints them, in the order of names; one changed file changes it."""
    made, root = Environment.here(), Path(qr.__file__).parent.parent
    for name, digest in made.files[:5]:
        assert hashlib.sha256((root / name).read_bytes()).hexdigest() == digest
    names = [name for name, _ in made.files]
    assert names == sorted(names)
    assert {"quietrank/crossing.py", "quietrank/render/report.css"} <= set(names)
    assert not any("__pycache__" in name for name in names)
    lines = "".join(f"{digest}  {name}\n" for name, digest in made.files)
    assert made.sha256 == hashlib.sha256(lines.encode()).hexdigest()


def test_what_is_broken_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken audit is the headline of the page, and its reason."""
    known = PromiseAudit(Audit((FINDING, BROKEN), 1e-3, True, 0.1), "")
    monkeypatch.setattr(packs, "audit_promise", lambda subject, **options: known)
    pack = make_pack(subject_of(made("people"), tmp_path))
    assert str(pack.reason).startswith("audit: black box of laplace, person")
    assert "<h1>This release does not hold</h1>" in page(pack)
    assert "IT WAS BROKEN" in as_yaml(pack)


def test_what_could_not_be_attacked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the page, in the JSON and in the draft."""
    monkeypatch.setattr(packs, "audit_promise", lambda subject, **options: PromiseAudit(None, "there is no law"))
    pack = make_pack(subject_of(made("people"), tmp_path))
    assert pack.reason is None
    assert "This promise was not attacked: there is no law." in page(pack)
    assert pack.to_dict()["audit"] == {"run": False, "reason": "there is no law"}
    assert "not audited: there is no law" in as_yaml(pack)


def test_a_ledger_that_did_not_pay_is_no_extract(paid: Pack, tmp_path: Path) -> None:
    """The pack says why, and does not hold."""
    qr.Ledger.create(tmp_path / "other.db", 3, data="drinks", unit="person")
    pack = make_pack(read_subject(paid.subject.path), ledger=tmp_path / "other.db")
    assert pack.payment is None
    assert "has no payment" in str(pack.reason)
    assert "has no payment" in pack.to_dict()["ledger"]["reason"]


# ---- the page -------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """What a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_page_needs_nothing_but_itself(paid: Pack) -> None:
    """No script, nothing from elsewhere, and a policy that would not let it; names are text."""
    shown = page(paid)
    tags = Tags()
    tags.feed(shown)
    assert not [tag for tag, _ in tags.seen if tag in ("script", "iframe", "object", "b")]
    links = [link for _, words in tags.seen for name, link in words.items() if name in ("href", "src")]
    assert links
    assert all(str(link).startswith("data:") for link in links)
    policies = [words["content"] for tag, words in tags.seen if words.get("http-equiv") == "Content-Security-Policy"]
    assert str(policies[0]).startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in str(policies[0])
    assert "$" not in re.sub(r"data:[^\"]*", "", shown)


# ---- the draft for the registry -------------------------------------------------------------------------------------

SCHEMA = {
    "": {"url_slug", "deployment"},
    "deployment": {"basic", "dp_variant", "privacy_loss", "deployment_model", "implementation", "administrative"},
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
        "data_product_sector", "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "privacy_parameters": {"epsilon", "delta", "rho"},
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type", "release_type_details",
        "data_source_type", "data_source_type_details", "access_type", "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification",
        "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
"""the fields of deployments-schema.yaml of opendp/deployments-registry-data at commit 057e5d8"""


def read_yaml(text: str) -> dict[str, Any]:
    """As much of YAML as is written: mappings by indentation, and scalars as in JSON, with a remark after some."""
    root: dict[str, Any] = {}
    stack: list[tuple[int, Any]] = [(-1, root)]
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth, content = len(line) - len(line.lstrip()), line.strip().removeprefix("- ")
        while stack[-1][0] >= depth:
            stack.pop()
        name, _, rest = content.partition(":")
        if content.startswith('"'):
            stack[-1][1].setdefault("[]", []).append(json.JSONDecoder().raw_decode(content)[0])
        elif rest.strip():
            stack[-1][1][name] = json.JSONDecoder().raw_decode(rest.strip())[0]
        else:
            stack[-1][1][name] = {}
            stack.append((depth, stack[-1][1][name]))
    return root


@pytest.mark.parametrize("kind", ["people", "clipped", "countries", "list", "board"])
def test_the_draft_has_the_fields_of_the_registry(kind: str, tmp_path: Path) -> None:
    """No other ones, and what is known is filled in."""
    subject = subject_of(made(kind), tmp_path)
    record = read_yaml(as_yaml(make_pack(subject)))
    assert set(record) == SCHEMA[""]
    deployment = record["deployment"]
    assert set(deployment) == SCHEMA["deployment"]
    for part, values in deployment.items():
        assert set(values) <= SCHEMA[part], part
    loss = deployment["privacy_loss"]
    assert loss["privacy_parameters"]["epsilon"] == subject.privacy.epsilon
    assert loss["privacy_parameters"].get("delta", 0) == subject.privacy.delta
    assert loss["privacy_parameters_details"] == subject.result.statement
    assert deployment["dp_variant"]["variant_name"] == ("Approximate DP" if subject.privacy.delta else "Pure DP")
    assert deployment["deployment_model"]["release_type"] == ("Many releases" if kind == "board" else "One release")
    for name in ("name", "intended_use", "publication_date"):
        assert deployment["basic"][name].startswith(BLANK)


def test_no_character_of_a_text_means_anything() -> None:
    """Quotes, line breaks, colons, signs that begin something in YAML, and what is not printed."""
    nasty = 'a: "b"\n- #c\t\\ \x85\u2028\x00 & * ! | > \' % @ ` ε 🦉'
    (line,) = yaml_lines({"name": nasty})
    assert line.isprintable()
    assert json.loads(line.partition(": ")[2].replace("\\U", "\\u")) == nasty
    assert list(yaml_lines({"small": 1e-6, "whole": 1.0})) == ["small: 1.0e-06", "whole: 1.0"]
    assert any("<b>" in item for item in ITEMS)


@pytest.mark.parametrize(
    ("neighbours", "said"),
    [("replace", "it is public here"), ("add-remove", "leave it out, or give a figure that does not come from")],
)
def test_a_secret_number_of_people_is_not_asked_for(neighbours: Any, said: str, tmp_path: Path) -> None:
    """Rounding it would not make it private."""
    release = qr.rank(votes(), PEOPLE.changed(neighbours=neighbours), mechanism="laplace")
    (line,) = (
        line for line in as_yaml(make_pack(subject_of(release, tmp_path))).splitlines() if "number_of_privacy" in line
    )
    assert said in line
    assert "approximate" not in line


def test_a_limit_that_is_not_enforced_is_not_claimed(tmp_path: Path) -> None:
    """Where a clip bounds people, L is only what it came from; and every part of the noise is in the pack."""
    pack = make_pack(subject_of(qr.rank(votes(), PEOPLE, mechanism="ball", method="win-rate"), tmp_path))
    shown, values = page(pack), pack.to_dict()
    assert "Weight of a person's votes" not in shown
    assert "not itself enforced" in shown
    assert [part["on"] for part in values["mechanism"]["parts"]] == ["net wins", "exposure", "the scatter of people"]
    assert "the scatter of people" in as_yaml(pack)


def test_a_ledger_without_delta_does_not_speak_of_one(paid: Pack) -> None:
    assert "with the δ of the ledger" not in page(paid)
