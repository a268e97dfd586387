"""Vote arrays or pairs in, scores that are not private out: the stable import path of `fit_arrays` and `fit_pairs`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quietrank.maths.fit import Fit, fit_arrays, fit_pairs

__all__ = ["Fit", "fit_arrays", "fit_pairs"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("quietrank.maths.fit"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
