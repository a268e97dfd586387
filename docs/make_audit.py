"""What `quietrank audit --format json` printed in, the table of docs/audit.md out: what the attack measured.

    quietrank audit --format json > audit.json      # many minutes
    python docs/make_audit.py audit.json

keeps a summary in docs/audit.json, from which `make docs` writes the table between the marks in the page.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "audit.md"
KEPT = Path(__file__).parent / "audit.json"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"


def summary(audit: dict[str, Any]) -> dict[str, Any]:
    """By mechanism and claim: how many checks, the worst loss, the best lower bound."""
    cases: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for finding in audit["findings"]:
        cases[finding["subject"].partition(",")[0], finding["epsilon"]].append(finding)
    rows = [
        {
            "mechanism": name, "epsilon": epsilon, "checks": len(found),
            "loss": _most(found, "loss"), "black box": _most(found, "black box"),
            "runs": sum(one["runs"] for one in found if one["check"] == "black box"),
        }
        for (name, epsilon), found in sorted(cases.items())
    ]  # fmt: skip
    about = {name: audit[name] for name in ("made_with", "passed", "confidence", "seconds")}
    return about | {
        "checks": len(audit["findings"]),
        "day": _today(),
        "python": platform.python_version(),
        "rows": rows,
    }


def _most(findings: list[dict[str, Any]], check: str) -> float | None:
    measured = (one["measured"] for one in findings if one["check"] == check)
    return max((value for value in measured if value is not None), default=None)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def page_with_table(page: str, known: dict[str, Any]) -> str:
    """The page with its table written anew."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{_table(known)}\n{END}", page, flags=re.DOTALL)


def _table(known: dict[str, Any]) -> str:
    verdict = "none broke a promise" if known["passed"] else "SOME BROKE A PROMISE"
    about = (
        f"A full run of {known['made_with']} on {known['day']}, Python {known['python']}, two cores that other work "
        f"shared: {known['checks']} checks in {known['seconds'] / 60:.0f} minutes, and {verdict}, at "
        f"{100 * known['confidence']:g} % confidence over all tests together."
    )
    heads = "| mechanism | claimed ε | checks | exact loss, at most | black-box lower bound, at best | its runs |"
    return "\n".join([about, "", heads, "|---" * 6 + "|", *map(_row, known["rows"])])


def _row(row: dict[str, Any]) -> str:
    measured = f"{_number(row['loss'])} | {_number(row['black box'])}"
    return f"| {row['mechanism']} | {row['epsilon']:g} | {row['checks']} | {measured} | {row['runs']:,} |"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    if sys.argv[1:]:
        measured = summary(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
        KEPT.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    stored = json.loads(KEPT.read_text(encoding="utf-8"))
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8"), stored), encoding="utf-8")
