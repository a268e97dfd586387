"""Findings in; one table, one figure, JSON or CSV out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank import __version__
from quietrank.arrays import Floats
from quietrank.promise.arguments import file_path
from quietrank.promise.privacy import plain_number
from quietrank.publish.files import AUDIT
from quietrank.publish.tabular import Tabular
from quietrank.render.style import save

if TYPE_CHECKING:
    from rich.console import Group

FORMAT = "quietrank/audit/1"
BINS = 81
WIDTH = 118
"""of the table, where the output is not a terminal"""
WIDE = 1.5
"""the figure shows losses up to this many ε"""
COLUMNS = 3


@dataclass(frozen=True)
class Histogram:
    """How the privacy loss is distributed under each neighbour: shares of the runs, in bins of equal width."""

    edges: tuple[float, ...]
    one: tuple[float, ...]
    other: tuple[float, ...]

    @classmethod
    def of(cls, one: Floats, other: Floats, epsilon: float) -> Histogram:
        edges = np.linspace(-WIDE * epsilon, WIDE * epsilon, BINS + 1)
        shares = []
        for scores in (one, other):
            inside = np.clip(scores, edges[0], edges[-1])
            shares.append(tuple((np.histogram(inside, edges)[0] / len(scores)).tolist()))
        return cls(tuple(edges.tolist()), *shares)


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    subject: str
    epsilon: float
    """as claimed"""
    measured: float | None
    """a loss that occurs (bounds, loss), or a lower bound with confidence (black box)"""
    passed: bool
    runs: int
    seconds: float
    detail: str
    unit: str
    """what was run"""
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Audit(Tabular):
    """All findings."""

    kind = AUDIT

    findings: tuple[Finding, ...]
    risk: float
    quick: bool
    seconds: float

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)

    def rows(self) -> list[dict[str, Any]]:
        """One row per finding, without its histogram."""
        findings = map(asdict, self.findings)
        return [{name: value for name, value in row.items() if name != "histogram"} for row in findings]

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "passed": self.passed,
            "confidence": 1 - self.risk,
            "quick": self.quick,
            "seconds": self.seconds,
            "findings": [asdict(finding) for finding in self.findings],
            "made_with": f"quietrank {__version__}",
        }

    def plot(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """The distributions of the privacy loss, one picture for each black-box attack."""
        return draw(self, file_path(path), overwrite=overwrite)

    def page(self) -> Group:
        return render(self)


SIGN = {"bounds": "=", "loss": "=", "black box": "≥"}


def render(audit: Audit) -> Group:
    """The table, what went wrong, and one sentence."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("check", "of"):
        table.add_column(heading)
    for heading in ("claimed ε", "measured", "verdict", "runs", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for finding in audit.findings:
        measured = "" if finding.measured is None else f"{SIGN[finding.check]} {finding.measured:.3f}"
        verdict = Text("kept", style="green") if finding.passed else Text("BROKEN", style="bold red")
        table.add_row(
            finding.check, finding.subject, plain_number(finding.epsilon), measured, verdict, f"{finding.runs:,}",
            f"{finding.seconds:.1f}",
        )  # fmt: skip
    broken = [finding for finding in audit.findings if not finding.passed]
    lines = [Text(f"BROKEN: {finding.check} of {finding.subject}: {finding.detail}", style="red") for finding in broken]
    return Group(table, *lines, Text(_conclusion(audit), style="bold"))


def _conclusion(audit: Audit) -> str:
    confidence = f"{100 * (1 - audit.risk):g} % confidence over all tests together"
    took = f"{audit.seconds:.0f} seconds"
    if audit.passed:
        return f"No promise was broken ({confidence}, {took})."
    broken = sum(not finding.passed for finding in audit.findings)
    return f"{broken} of {len(audit.findings)} checks failed ({confidence}, {took}): do not publish with this version."


def draw(audit: Audit, path: Path, *, overwrite: bool = True) -> Path:
    """Small multiples: losses under one neighbour and under the other, with ±ε marked."""
    from matplotlib.figure import Figure

    attacks = [finding for finding in audit.findings if finding.histogram is not None]
    columns = max(1, min(COLUMNS, len(attacks)))
    rows = max(1, -(-len(attacks) // columns))
    figure = Figure(figsize=(4.2 * columns, 2.6 * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).reshape(-1)
    for axis, finding in zip(axes, attacks, strict=False):
        _panel(axis, finding)
    for axis in axes[len(attacks) :]:
        axis.set_visible(False)
    figure.suptitle("Privacy loss under two neighbours; dashed: ±ε as claimed", fontsize=10)
    save(figure, path, dpi=110, overwrite=overwrite)
    return path


def _panel(axis: Any, finding: Finding) -> None:
    histogram = finding.histogram
    if histogram is None:
        return
    edges = np.array(histogram.edges)
    for shares, colour, label in ((histogram.one, "#1f6f8b", "one"), (histogram.other, "#d1793f", "other")):
        axis.stairs(shares, edges, fill=True, alpha=0.45, color=colour, label=label)
    for sign in (-1, 1):
        axis.axvline(sign * finding.epsilon, color="black", linestyle="--", linewidth=0.9)
    parts = finding.subject.split(", ")
    strength = f"ε = {plain_number(finding.epsilon)}, measured ≥ {finding.measured:.3f}"
    title = f"{', '.join(parts[:-2])}\n{', '.join(parts[-2:])}; {strength}"
    axis.set_title(title, fontsize=8)
    axis.tick_params(labelsize=7)
    axis.set_xlabel("privacy loss", fontsize=7)
    axis.set_ylabel("share of runs", fontsize=7)
    axis.legend(fontsize=7, frameon=False, loc="upper left")
