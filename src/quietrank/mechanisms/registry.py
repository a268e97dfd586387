"""A name in, its mechanism out: the list that `choose`, the command line, the planner, the audit and tallies use."""

from __future__ import annotations

from typing import Literal

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.ball import BALL
from quietrank.mechanisms.exponential import EXPONENTIAL
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.horizon import BoardNoise
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE
from quietrank.mechanisms.stream import GaussianBoardNoise
from quietrank.mechanisms.tents import LaplaceBoardNoise
from quietrank.mechanisms.zonotope import ZONOTOPE

AUTO = "auto"

MechanismWord = (
    Mechanism
    | Literal[
        "auto", "laplace", "zonotope", "ball", "gaussian", "perturbed-mle", "permute-and-flip", "exponential"
    ]
)  # fmt: skip
"""what callers may write: a name of the library's own, or the object; a type checker does not know other names"""

MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (LAPLACE, ZONOTOPE, BALL, GAUSSIAN, PERTURBED_MLE, PERMUTE_AND_FLIP, EXPONENTIAL)
}

BOARD_NOISES: tuple[type[BoardNoise], ...] = (GaussianBoardNoise, LaplaceBoardNoise)
"""the noise that a board may have; its promise says which"""


def register(mechanism: Mechanism) -> Mechanism:
    """Add your own mechanism under its name; from then on `rank`, `plan` and `audit` know it."""
    if mechanism.name == AUTO or (mechanism.name in MECHANISMS and MECHANISMS[mechanism.name] != mechanism):
        raise PrivacyError(f"there is a mechanism {mechanism.name} already; give yours another name")
    MECHANISMS[mechanism.name] = mechanism
    return mechanism


def named(argument: object) -> Mechanism | None:
    """The mechanism of this name, or the argument itself if it is a mechanism; None for `auto`."""
    if isinstance(argument, Mechanism):
        return argument
    if isinstance(argument, str) and (argument == AUTO or argument in MECHANISMS):
        return MECHANISMS.get(argument)
    known = ", ".join([AUTO, *MECHANISMS])
    raise PrivacyError(f"{option('mechanism')} must be one of {known}; got {option('mechanism', repr(argument))}")
