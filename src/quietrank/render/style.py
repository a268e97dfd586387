"""A matplotlib figure in, a picture file out; and the look that all figures share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank.publish.files import PICTURE, written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "quietrank",
    "figure.constrained_layout.use": True,
}

DATES = {".svg": "Date", ".pdf": "CreationDate"}
"""where a file would say when it was made"""


def save(figure: Figure, path: Path, *, dpi: int = 150, overwrite: bool = True) -> None:
    """Write a figure, whole or not at all; it names its maker, so that a later one may replace it."""
    maker: dict[str, Any] = {"Software" if path.suffix.lower() == ".png" else "Creator": "quietrank"}
    if date := DATES.get(path.suffix.lower()):
        maker[date] = None  # the same figure is the same file
    with written_whole(path, PICTURE, overwrite=overwrite) as draft:
        figure.savefig(draft, dpi=dpi, metadata=maker)
