"""A `Pack` in, one HTML page out, in the look of the report for readers; it needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template

from quietrank.auditing.report import SIGN
from quietrank.evidence.pack import CAUTION, Pack
from quietrank.evidence.parts import in_words
from quietrank.evidence.payment import Payment
from quietrank.evidence.promise_audit import NOT, WHY
from quietrank.evidence.proofs import ABOUT_PROOFS, proof_hashes
from quietrank.evidence.register import BLANK, SCHEMA, as_yaml
from quietrank.evidence.verify import Verdict
from quietrank.ledger.history import in_words as terms_in_words
from quietrank.promise.privacy import plain_number
from quietrank.publish.tabular import json_text
from quietrank.render.meaning import FIGURES, promise_notes, symbols
from quietrank.render.parts import data, definitions, file, listed, paragraphs, policy, text

FORMULA = '<p class="formula">P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] + δ</p>'


def page(pack: Pack) -> str:
    """The whole page."""
    style, subject = file("report.css"), pack.subject
    title = f"Evidence about {subject.path.name}"
    return Template(file("evidence.html")).substitute(
        policy=policy(style), style=style, title=text(title),
        kicker=text(f"{title} · {subject.privacy.strength} · {pack.environment.when}"),
        headline=text(_headline(pack)), warning=_warning(pack), caution=text(CAUTION),
        short=definitions(_in_short(pack)), statement=text(subject.result.statement), formula=FORMULA,
        symbol_notes=paragraphs(promise_notes(subject.privacy)), symbols=definitions(_promise(pack)),
        unprotected=listed(pack.unprotected), mechanism=definitions(_mechanism(pack)),
        proofs=_proofs(pack), audit=_audit(pack),
        about_proofs=text(f"{ABOUT_PROOFS} The version is {pack.environment.quietrank}."),
        verification=_table(
            "What was checked", ("check", "verdict", "why"),
            [(line.what, line.verdict.value, line.why) for line in pack.verification.lines], wide=(2,),
        ),
        unchecked=listed(pack.verification.unchecked), ledger=_ledger(pack), made=definitions(_environment(pack)),
        hashes=definitions(_hashes(pack)), schema=text(SCHEMA), blank=text(BLANK),
        json=data("application/json", json_text(pack.to_dict())), yaml=data("text/yaml", as_yaml(pack)),
        release=data("application/json", json_text(dict(subject.values))),
    )  # fmt: skip


# ---- the top --------------------------------------------------------------------------------------------------------


def _headline(pack: Pack) -> str:
    if pack.reason is not None:
        return "This release does not hold"
    if pack.promise_audit.audit is None:
        return "All that could be checked holds; the promise could not be attacked"
    return "All that could be checked holds, and the attack on its promise failed"


def _warning(pack: Pack) -> str:
    return "" if pack.reason is None else f'<p class="warning">{text(pack.reason)}</p>'


def _in_short(pack: Pack) -> list[tuple[str, str]]:
    lines, audit = pack.verification.lines, pack.promise_audit.audit
    held = sum(line.verdict is Verdict.HOLDS for line in lines)
    unknown = [line.what for line in lines if line.verdict is Verdict.UNKNOWN]
    left = f"; not checked: {', '.join(unknown)}" if unknown else ""
    checked = f"{held} of {len(lines)} checks hold{left}"
    attacked = pack.promise_audit.reason if audit is None else (
        f"{sum(finding.passed for finding in audit.findings)} of {len(audit.findings)} checks kept"
    )  # fmt: skip
    paid = pack.ledger_note if pack.payment is None else f"entry {pack.payment.entry.id}; the chain is intact"
    return [("Release", pack.subject.kind), ("Verified", checked), ("Attacked", attacked), ("Paid", paid)]


# ---- the promise and the noise --------------------------------------------------------------------------------------


def _promise(pack: Pack) -> list[tuple[str, str]]:
    """The symbols up to the mechanism, which has a section of its own."""
    facts = symbols(pack.subject.one)
    names = [name for name, _ in facts]
    figures = {"Mechanism", *(FIGURES.get(name, name) for name, _ in pack.subject.one.mechanism.figures)}
    return [fact for name, fact in zip(names, facts, strict=True) if name not in figures]


def _mechanism(pack: Pack) -> list[tuple[str, str]]:
    known = {name for name, _ in _promise(pack)}
    facts = [fact for fact in symbols(pack.subject.one) if fact[0] not in known]
    return [*facts, *((f"Drawn, part {k}", in_words(part)) for k, part in enumerate(pack.parts, 1))]


def _proofs(pack: Pack) -> str:
    if not pack.proofs:
        return "<p>No page of quietrank derives this mechanism.</p>"
    hashes = proof_hashes(pack.proofs)
    return listed(
        [f"{name}, SHA-256 {hashes.get(name, 'not known: the page is not installed')}" for name in pack.proofs]
    )


# ---- the audit ------------------------------------------------------------------------------------------------------


def _audit(pack: Pack) -> str:
    known = pack.promise_audit
    if known.audit is None:
        return f'<p class="warning">{text(f"This promise was not attacked: {known.reason}.")}</p>'
    audit = known.audit
    rows = [
        (
            finding.check,
            finding.subject,
            plain_number(float(f"{finding.epsilon:.6g}")),
            "" if finding.measured is None else f"{SIGN[finding.check]} {finding.measured:.3f}",
            "kept" if finding.passed else "BROKEN",
        )
        for finding in audit.findings
    ]
    heads = ("check", "of", "claimed ε", "measured", "verdict")
    confidence = f"{100 * (1 - audit.risk):g} % confidence over all tests together"
    form = "quick" if audit.quick else "full"
    verdict = "No check broke the promise" if audit.passed else "THE PROMISE WAS BROKEN: do not publish"
    details = [f"{finding.check}, {finding.runs:,} {finding.unit}: {finding.detail}." for finding in audit.findings]
    return "\n".join(
        [
            f"<p>{text(f'{verdict} ({confidence}; the {form} form, {audit.seconds:.0f} seconds, here and now).')}</p>",
            _table("What was attacked", heads, rows, wide=(1,)),
            "<h3>What each check found</h3>",
            listed(details),
            "<h3>As in the release</h3>",
            f"<p>{text(', '.join(known.same))}.</p>",
            "<h3>Not as in the release</h3>",
            listed(known.differs) if known.differs else "<p>Nothing.</p>",
            "<h3>Why this is evidence</h3>",
            listed(WHY),
            "<h3>What it is not</h3>",
            listed(NOT),
        ]
    )


# ---- the ledger, and what made this page ----------------------------------------------------------------------------


def _ledger(pack: Pack) -> str:
    if pack.payment is None:
        return f"<p>{text(f'There is no extract: {pack.ledger_note}.')}</p>"
    return definitions(_payment(pack.payment))


def _payment(paid: Payment) -> list[tuple[str, str]]:
    entry, link, spend = paid.entry, paid.link, paid.entry.spend
    rho = "" if spend.rho is None else f", ρ = {float(spend.rho):.6g}"
    units = f" ({entry.k} units of the release are one of the ledger)" if entry.k > 1 else ""
    promised = f"ε = {plain_number(entry.promise['epsilon'])}, δ = {plain_number(entry.promise['delta'])}"
    return [
        ("Budget", terms_in_words(paid.terms)),
        (
            "Entry",
            f"{entry.id}, number {link.number} of {link.entries}; releases paid for so far: {paid.payments}",
        ),
        ("When", entry.when),
        ("For what", entry.what),
        ("Promise paid for", f"{promised} per {entry.promise['unit']}, neighbours {entry.promise['neighbours']}"),
        ("Cost", f"ε = {float(spend.epsilon):.6g}, δ = {float(spend.delta):.6g}{rho}{units}"),
        ("Left after it", f"one more release with δ = 0 of ε up to {entry.remaining:.6g}"),
        ("Spent by now", f"ε = {paid.spent:.6g}" + (", with the δ of the ledger" if paid.terms.delta else "")),
        ("Left by now", f"one more release with δ = 0 of ε up to {paid.remaining:.6g}"),
        ("quietrank ledger verify", f"intact; the last entry is {link.last}"),
        ("Hash before it", link.previous),
        ("Hash of the entry", link.hash),
    ]


def _environment(pack: Pack) -> list[tuple[str, str]]:
    here = pack.environment
    return [
        ("Time", here.when),
        ("This page", f"quietrank {here.quietrank}"),
        ("The release", pack.subject.one.made_with),
        ("Python", here.python),
        ("Platform", here.platform),
        ("Libraries that draw noise", ", ".join(f"{name} {number}" for name, number in here.drawing)),
        ("Other libraries", ", ".join(f"{name} {number}" for name, number in here.others)),
    ]


def _hashes(pack: Pack) -> list[tuple[str, str]]:
    hashes = [(f"Release file, {pack.subject.path.name}", pack.subject.sha256)]
    if pack.verification.tally_sha256 is not None:
        hashes.append(("Noisy tally", pack.verification.tally_sha256))
    if pack.payment is not None:
        hashes.append((f"Ledger entry {pack.payment.entry.id}", pack.payment.link.hash))
    return [*hashes, (f"Package, {len(pack.environment.files)} files", pack.environment.sha256)]


# ---- HTML -----------------------------------------------------------------------------------------------------------


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], wide: Sequence[int]) -> str:
    """A table in a box that scrolls; the columns `wide` hold sentences."""
    top = "".join(f'<th scope="col"{_kind(k, wide)}>{text(head)}</th>' for k, head in enumerate(heads))
    body = "\n".join(
        "<tr>" + "".join(f"<td{_kind(k, wide)}>{text(cell)}</td>" for k, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">\n<table>\n'
        f"<thead>\n<tr>{top}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _kind(place: int, wide: Sequence[int]) -> str:
    return ' class="text"' if place in wide or place == 0 else ""
