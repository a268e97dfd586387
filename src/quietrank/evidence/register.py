"""A `Pack` in, a draft for the public registry of deployments of differential privacy out, as YAML.

The fields are those of `schemas/deployments-schema.yaml` in github.com/opendp/deployments-registry-data at commit
057e5d8, as it was stored in November 2026; the registry still changes. What follows from the release is filled in; what
only the organisation knows is a blank that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quietrank.evidence.noise import BoardFacts, UnknownNoiseError
from quietrank.evidence.pack import Pack
from quietrank.evidence.parts import in_words
from quietrank.promise.privacy import Neighbours, Unit, plain_number
from quietrank.publish.release import Release
from quietrank.publish.top import TopRelease
from quietrank.render.meaning import NEIGHBOURS
from quietrank.render.report import METHODS

BLANK = "TO BE FILLED IN"
SCHEMA = "github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml, commit 057e5d81cf60"

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Noted:
    """A value with a remark beside it."""

    value: Any
    remark: str


@dataclass(frozen=True)
class LeftOut:
    """A field that is not written, because no text can stand for its value, and what is to be written there."""

    remark: str


def blank(what: str) -> str:
    return f"{BLANK}: {what}"


# ---- fields ---------------------------------------------------------------------------------------------------------


def fields(pack: Pack) -> Fields:
    """The record, field by field."""
    return {
        "url_slug": blank("a short name for the address of the entry"),
        "deployment": {
            "basic": _basic(pack),
            "dp_variant": _variant(pack),
            "privacy_loss": _loss(pack),
            "deployment_model": _model(pack),
            "implementation": _implementation(pack),
            "administrative": _administrative(),
        },
    }


def _basic(pack: Pack) -> Fields:
    return {
        "name": blank("the name of the data product"),
        "data_curators": [
            {
                "data_curator_name": blank("who publishes it"),
                "data_curator_type": Noted(BLANK, "Government, Industry or Nonprofit"),
            }
        ],
        "description": f"{_product(pack)} {blank('who voted, and on what')}",
        "intended_use": blank("what it is for"),
        "data_product_type": "Summary statistics",
        "data_product_region": blank("which region the votes are from, or whose laws apply"),
        "data_product_sector": Noted(BLANK, "Technology, Healthcare, Education, Government, Energy or Finance"),
        "publication_date": Noted(BLANK, "YYYY-MM-DD"),
    }


def _product(pack: Pack) -> str:
    subject, release = pack.subject, pack.subject.one
    votes = "best-worst votes" if isinstance(release, Release) and release.set_size > 2 else "pairwise votes"
    groups = "" if subject.groups is None else f", in each of {len(subject.groups)} groups"
    if isinstance(release, TopRelease):
        return f"The first {release.k} of {release.items} items in order, from {votes}{groups}."
    return f"A ranking of {len(release)} items by {METHODS.get(release.method, release.method)}, from {votes}{groups}."


def _variant(pack: Pack) -> Fields:
    release, privacy = pack.subject.one, pack.subject.privacy
    sets = isinstance(release, Release) and release.set_size > 2
    vote = "names the best and the worst of a few items" if sets else "prefers one of two items, or neither of them"
    whose = ", and belongs to one person" if privacy.unit is Unit.PERSON else ""
    return {
        "variant_name": "Approximate DP" if privacy.delta else "Pure DP",
        "data_domain": f"All sets of votes on the declared items; each vote {vote}{whose}.",
        "unprotected_quantities": _lines(pack.unprotected),
    }


def _loss(pack: Pack) -> Fields:
    privacy = pack.subject.privacy
    parameters: dict[str, Any] = {"epsilon": privacy.epsilon}
    if privacy.delta:
        parameters["delta"] = privacy.delta
    limit = privacy.max_per_person if privacy.clip is None else None  # a clip takes its place
    bounds = {
        "A person's votes weigh at most {} in all.": limit if privacy.unit is Unit.PERSON else None,
        "At most {} votes of each person count.": None if privacy.unit is Unit.PERSON else limit,
        "A person's votes are scaled down to a Euclidean norm of {} at most.": privacy.clip,
    }
    said = [sentence.format(plain_number(value)) for sentence, value in bounds.items() if value is not None]
    said += ["What a person says about one pair counts as one answer."] * privacy.one_per_pair
    changed = NEIGHBOURS[privacy.unit, privacy.neighbours]
    return {
        "privacy_unit": "Person" if privacy.unit is Unit.PERSON else "Single vote",
        "privacy_unit_details": " ".join([f"Two sets of votes are adjacent if {changed}.", *said]),
        "number_of_privacy_units": LeftOut(_units(pack)),
        "privacy_parameters": parameters,
        "privacy_parameters_details": pack.subject.result.statement,
    }


def _units(pack: Pack) -> str:
    """What may be said about n: rounding a secret number does not make it private."""
    privacy, subject = pack.subject.privacy, pack.subject
    public = privacy.neighbours is not Neighbours.ADD_REMOVE and not subject.is_of_a_board
    if public:
        groups = " over all groups" if subject.groups is not None else ""
        left_out = ", counted before any row was left out" if subject.one.where is not None else ""
        return f"a whole number{groups}{left_out}; it is public here"
    return (
        "leave it out, or give a figure that does not come from the votes (people invited), or one that was paid for; "
        "the true number is secret here, and so is the true number rounded"
    )


def _model(pack: Pack) -> Fields:
    subject = pack.subject
    several = "One release"
    details = blank("whether more releases from these votes are planned")
    source: Any = Noted(BLANK, "Static, or Dynamic if votes keep coming in")
    if subject.is_of_a_board:
        several, source, details = "Many releases", "Dynamic", _of_the_board(pack)
    return {
        "model_name": "Central",
        "model_name_details": "Whoever holds the votes runs quietrank on them, and publishes what it releases.",
        "trust_assumptions": (
            "Readers are not trusted, whatever they know. Trusted are whoever holds the votes, the machine that runs "
            "quietrank, its operating system's entropy, OpenDP's samplers, python-flint and the engine that counts. "
            f"{blank('why these can be trusted here')}"
        ),
        "actors": blank("who may see the votes, and who sees the release"),
        "release_type": several,
        "release_type_details": details,
        "data_source_type": source,
        "access_type": "Non-interactive",
        "access_type_details": "Readers get the release as it is, and ask no questions of the votes.",
    }


def _of_the_board(pack: Pack) -> str:
    try:
        facts = BoardFacts.of(pack.subject.one)
    except UnknownNoiseError as reason:
        return str(reason)
    whole = f"{facts.horizon} {facts.every}s"
    return (
        f"A board of {whole}, of which this is {facts.every} {facts.day}; the promise holds for all {whole} together."
    )


def _implementation(pack: Pack) -> Fields:
    return {
        "preprocessing_and_hyperparameter_tuning": _tuning(pack),
        "mechanisms": _mechanisms(pack),
        "composition": _composition(pack),
        "post_processing": _lines(
            [
                "Scores, intervals, rank sets, tiers and probabilities are computed from the noisy counts alone."
                if isinstance(pack.subject.one, Release)
                else "None: what is published is what the mechanism gave.",
                *pack.subject.one.assumptions,
            ]
        ),
        "justification": blank("why this ε, this unit and these bounds, and who decided"),
        "utility": _utility(pack),
        "additional_information": (
            f"Evidence by quietrank {pack.environment.quietrank}, {pack.environment.when}. SHA-256 of the release: "
            f"{pack.subject.sha256}; of the package that made the evidence: {pack.environment.sha256}. {_audit(pack)}"
        ),
    }


def _tuning(pack: Pack) -> str:
    release = pack.subject.one
    said = ["Mechanism, scale and bounds follow from the options and from what is public, not from unpaid counts."]
    if release.limit is not None:
        said.append(release.limit.note)
    said.append(blank("what else was looked at in these votes before, and how the options were chosen"))
    return " ".join(said)


def _mechanisms(pack: Pack) -> str:
    release = pack.subject.one
    drawn = ", ".join(f"{name} {version}" for name, version in pack.environment.drawing)
    return _lines(
        [
            f"{release.mechanism.name} noise. Everything that was drawn:",
            *map(in_words, pack.parts),
            f"Implemented by {release.made_with}; derived in its source: {', '.join(pack.proofs) or 'no page'}.",
            f"Libraries that draw noise, as installed where this evidence was made: {drawn}.",
            "Floating point: noise is drawn in whole numbers on a public lattice, or rounded to it exactly.",
            "Timing: not protected; releases are to be made where nobody unauthorised can time them.",
            blank("how the votes themselves are protected, and who has access to them"),
        ]
    )


def _composition(pack: Pack) -> str:
    paid = pack.payment
    parts = {"the intervals": pack.subject.one.scatter, "choosing a limit": pack.subject.one.limit}
    inside = [f"{plain_number(part.epsilon)} for {what}" for what, part in parts.items() if part is not None]
    said = [f"Of ε, {' and '.join(inside)}; parts of ε add up."] if inside else []
    if paid is None:
        return " ".join([*said, blank("how several releases from these votes are accounted for; no ledger was given")])
    terms = paid.terms
    budget = f"ε = {plain_number(float(terms.epsilon))}, δ = {plain_number(float(terms.delta))} per {terms.unit}"
    said.append(
        f"Paid from a ledger of {budget}, entry {paid.entry.id}; releases paid for so far: {paid.payments}. Each may "
        "be chosen after looking at earlier ones (docs/proofs/composition.md)."
    )
    return " ".join(said)


def _utility(pack: Pack) -> str:
    release = pack.subject.one
    if isinstance(release, TopRelease) or release.certainty is None:
        return blank("what is known about the accuracy")
    known = release.certainty
    holds = "for all items together" if known.simultaneous else "for each item by itself"
    return (
        f"Every score has an interval and a set of possible ranks at {100 * known.level:g} %, {holds}, for sampling "
        f"and noise; the noise alone moves a typical score by {known.noise_sd:.3g} (standard deviation)."
    )


def _audit(pack: Pack) -> str:
    audit = pack.promise_audit.audit
    if audit is None:
        return f"The promise was not audited: {pack.promise_audit.reason}."
    verdict = "no check broke it" if audit.passed else "IT WAS BROKEN"
    return f"The promise was attacked by quietrank's own audit when the evidence was made: {verdict}."


def _administrative() -> Fields:
    return {
        "evidence_sources": LeftOut("what describes the deployment, each under a name of its own"),
        "status": "Draft",
        "registry_authors": [blank("who fills this in")],
        "tier": Noted(3, "once the blanks are filled in"),
    }


def _lines(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


# ---- YAML -----------------------------------------------------------------------------------------------------------


def as_yaml(pack: Pack) -> str:
    """The record as YAML: every text in double quotes, so that no character of it means anything."""
    when = pack.environment.when
    head = [
        f"# quietrank evidence: a draft for the registry of deployments of differential privacy, {when}",
        f"# Fields: {SCHEMA}.",
        f"# Fill in what says {BLANK}; nobody but you knows it. Read the rest before you submit it.",
    ]
    return "\n".join([*head, *yaml_lines(fields(pack))]) + "\n"


def yaml_lines(values: Fields, depth: int = 0) -> Iterator[str]:
    """A mapping, line by line."""
    indent = "  " * depth
    for name, value in values.items():
        if isinstance(value, LeftOut):
            yield f"{indent}# {name}: {BLANK}: {value.remark}"
        elif isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from yaml_lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            yield from _listed(value, depth + 1)
        elif isinstance(value, Noted):
            yield f"{indent}{name}: {_scalar(value.value)}  # {value.remark}"
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _listed(values: list[Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for value in values:
        if isinstance(value, Mapping):
            first, *rest = yaml_lines(value, depth + 1)
            yield f"{indent}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{indent}- {_scalar(value)}"


def _scalar(value: Any) -> str:
    """A number, or text in double quotes with everything escaped that is not printed; JSON's way is YAML's as well."""
    if isinstance(value, float):
        return _with_point(repr(value)) if "e" in repr(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    quoted = json.dumps(str(value), ensure_ascii=False)
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in quoted)


def _with_point(number: str) -> str:
    """1e-06 is text to many readers of YAML, and 1.0e-06 is a number to all."""
    mantissa, _, exponent = number.partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}e{exponent}"


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
