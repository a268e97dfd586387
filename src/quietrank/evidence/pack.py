"""A release and, if there is one, its ledger in, a `Pack` out: what a privacy officer files about one release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from quietrank.errors import QuietrankError
from quietrank.evidence.environment import Environment
from quietrank.evidence.parts import Part, drawn
from quietrank.evidence.payment import Payment, payment_of
from quietrank.evidence.promise_audit import NOT, WHY, PromiseAudit, audit_promise
from quietrank.evidence.proofs import ABOUT_PROOFS, proof_hashes
from quietrank.evidence.subject import Subject
from quietrank.evidence.verify import Verification, verify
from quietrank.publish.release import Release
from quietrank.publish.tabular import promise
from quietrank.publish.top import TopRelease
from quietrank.render.meaning import PROOFS, promise_notes, symbols, unprotected
from quietrank.render.report import has_groups

FORMAT = "quietrank/evidence/1"
FORMULA = "P[M(D) ∈ S] ≤ e^ε · P[M(D′) ∈ S] + δ"
CAUTION = (
    "This pack is for your files. It was made from the release, from the ledger and the noisy tally if they were "
    "given, "
    "and from made-up votes: no vote was read. It names times, budgets and machines, so look through it before you "
    "hand it on."
)


@dataclass(frozen=True, eq=False)
class Pack:
    """Everything that is known about one release without its votes."""

    subject: Subject
    verification: Verification
    promise_audit: PromiseAudit
    payment: Payment | None
    """None where no ledger was given, or nothing in it paid for the release"""
    environment: Environment

    @property
    def reason(self) -> str | None:
        """The first thing that is wrong; None where all that could be checked holds."""
        if self.verification.reason is not None:
            return self.verification.reason
        audit = self.promise_audit.audit
        broken = [] if audit is None else [finding for finding in audit.findings if not finding.passed]
        return f"audit: {broken[0].check} of {broken[0].subject}: {broken[0].detail}" if broken else None

    @property
    def proofs(self) -> list[str]:
        """The pages that derive sensitivity and noise, the first for the mechanism itself."""
        return [f"docs/proofs/{page}" for page in _proofs(self.subject, paid=self.payment is not None)]

    @cached_property
    def parts(self) -> list[Part]:
        """Everything that noise was drawn for."""
        return drawn(self.subject)

    @property
    def unprotected(self) -> list[str]:
        subject = self.subject
        return unprotected(
            subject.privacy, grouped=has_groups(subject.result), where=subject.one.where, board=subject.is_of_a_board
        )

    @property
    def ledger_note(self) -> str:
        """Why there is no extract of a ledger."""
        (line,) = (line for line in self.verification.lines if line.what == "ledger")
        return line.why

    def to_dict(self) -> dict[str, Any]:
        subject, release = self.subject, self.subject.one
        return {
            "format": FORMAT,
            "holds": self.reason is None,
            "caution": CAUTION,
            "release": {
                "file": subject.path.name,
                "sha256": subject.sha256,
                "kind": subject.kind,
                "format": subject.format,
                "made_with": release.made_with,
            },
            "promise": {
                **promise(subject.privacy),
                "statement": subject.result.statement,
                "formula": FORMULA,
                "notes": promise_notes(subject.privacy),
                "symbols": dict(symbols(release)),
            },
            "unprotected": self.unprotected,
            "mechanism": {
                **release.mechanism.to_dict(),
                "parts": self.parts,
                "proofs": self.proofs,
                "proofs_sha256": proof_hashes(self.proofs),
                "proofs_version": self.environment.quietrank,
                "about_proofs": ABOUT_PROOFS,
            },
            "verification": self.verification.to_dict(),
            "audit": self._audit(),
            "ledger": {"reason": self.ledger_note} if self.payment is None else self.payment.to_dict(),
            "made": self.environment.to_dict(),
        }

    def _audit(self) -> dict[str, Any]:
        known = self.promise_audit
        if known.audit is None:
            return {"run": False, "reason": known.reason}
        return {
            "run": True,
            "passed": known.audit.passed,
            "confidence": 1 - known.audit.risk,
            "quick": known.audit.quick,
            "seconds": known.audit.seconds,
            "as_in_the_release": list(known.same),
            "not_as_in_the_release": list(known.differs),
            "why_this_is_evidence": list(WHY),
            "what_this_is_not": list(NOT),
            "findings": [asdict(finding) for finding in known.audit.findings],
        }


def _proofs(subject: Subject, *, paid: bool) -> list[str]:
    release = subject.one
    pages = {
        "boards.md": subject.is_of_a_board,
        PROOFS.get(release.mechanism.name, ""): release.mechanism.name in PROOFS,
        "ties.md": release.ties is not None,
        "best-worst.md": isinstance(release, Release) and release.set_size > 2,
        "selection.md": isinstance(release, TopRelease),
        "groups.md": subject.groups is not None,
        "scatter.md": release.scatter is not None,
        "limit.md": release.limit is not None,
        "filter.md": release.where is not None,
        "composition.md": paid,
    }
    return [page for page, concerns in pages.items() if concerns]


def make_pack(
    subject: Subject,
    *,
    ledger: str | Path | None = None,
    tally: str | Path | None = None,
    full: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Pack:
    """Verify the release, attack its promise, and look up its payment, here and now."""
    checked = verify(subject, ledger=ledger, tally=tally)
    payment = None
    if ledger is not None:
        try:
            payment = payment_of(subject, ledger)
        except QuietrankError:
            payment = None  # the verification says why
    attacked = audit_promise(subject, full=full, workers=workers, progress=progress)
    return Pack(subject, checked, attacked, payment, Environment.here())
