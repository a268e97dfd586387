"""A tie parameter ν in; the chances of winning and of a tie by Davidson's model (1970), and their derivatives, out.

Of two items whose scores differ by x, the first wins, the second wins, or they tie with odds e^(x/2) : e^(−x/2) : ν. So
A(x) = ln(2 cosh(x/2) + ν) is the logarithm of the sum of all odds, and its derivatives are the mean and the variance of
a vote counted as ½, −½ or 0: A' = P(win) + P(tie)/2 − ½, 0 < A'' ≤ ¼, and |A'''| ≤ A''. With ν = 0 it is the
Bradley–Terry model. In terms of h = e^(−|x|/2), nothing overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from quietrank.maths.links import CALL_ERROR, U

if TYPE_CHECKING:
    from quietrank.arrays import Floats


def centred_rate(x: Floats, nu: float) -> Floats:
    """A'(x) = P(win) + P(tie)/2 − ½ = sinh(x/2)/(2 cosh(x/2) + ν)."""
    h = np.exp(-np.abs(x) / 2)
    return np.asarray(np.copysign((1 - h * h) / 2 / (1 + h * h + nu * h), x))


def slope(x: Floats, nu: float) -> Floats:
    """A''(x) = (1 + ν cosh(x/2)/2)/(2 cosh(x/2) + ν)²."""
    h = np.exp(-np.abs(x) / 2)
    return np.asarray((h * h + nu * h * (1 + h * h) / 4) / (1 + h * h + nu * h) ** 2)


def tie(x: Floats, nu: float) -> Floats:
    """P(tie) = ν/(2 cosh(x/2) + ν)."""
    h = np.exp(-np.abs(x) / 2)
    return np.asarray(nu * h / (1 + h * h + nu * h))


def win_rate(x: Floats, nu: float) -> Floats:
    """P(win) + P(tie)/2."""
    return np.asarray(0.5 + centred_rate(x, nu))


def difference(rate: Floats, nu: float) -> Floats:
    """The x at which P(win) + P(tie)/2 is this, strictly between 0 and 1: a quadratic equation in e^(x/2)."""
    r = np.asarray(rate) - 0.5
    far = np.abs(r)
    g = (far * nu + np.sqrt((far * nu) ** 2 + 1 - 4 * far**2)) / (1 - 2 * far)
    return np.asarray(np.copysign(2 * np.log(g), r))


def equal_chance(nu: float) -> float:
    """P(tie) of two items with equal scores, ν/(2 + ν)."""
    return nu / (2 + nu)


@dataclass(frozen=True)
class Davidson:
    """The likelihood of votes at a given ν, with the methods that the solver asks of a link.

    A win counts −log P(win), and a tie as half a win for each side: half of −log P(win) − log P(loss), which is A(x) as
    it should be, for −log P(tie) = A(x) − ln ν. So the scores take no counts of ties of their own. ψ = (log P(win))' =
    ½ − A', ψ(x) + ψ(−x) = 1 and −(log P(win))'' = A'' ≤ ¼.
    """

    nu: float
    name: str = "davidson"
    kappa1: float = 1.0
    kappa2: float = 0.25

    def cdf(self, x: Floats) -> Floats:
        """P(win) + P(tie)/2."""
        return win_rate(x, self.nu)

    def nll(self, x: Floats) -> Floats:
        """−log P(win)."""
        h = np.exp(-np.abs(x) / 2)
        return np.log1p(h * h + self.nu * h) + np.maximum(-x, 0.0)

    def grad(self, x: Floats) -> Floats:
        h = np.exp(-np.abs(x) / 2)
        return np.asarray(np.where(x >= 0, h * (h + self.nu / 2), 1 + self.nu / 2 * h) / (1 + h * h + self.nu * h))

    def curvature(self, x: Floats) -> Floats:
        return slope(x, self.nu)

    def grad_error(self, reach: float) -> float:
        # |(log ψ)'| ≤ 1, so moving x by U|x| costs U|x|, and so does rounding x/2 at most; h enters numerator and
        # denominator, squared at most: 4·CALL_ERROR; a dozen elementary operations on positive numbers.
        return 1.01 * U * (2 * reach + 4 * CALL_ERROR + 12)

    def grad_decimal(self, x: Decimal) -> Decimal:
        h, nu = (-abs(x) / 2).exp(), Decimal(self.nu)
        return (h * (h + nu / 2) if x >= 0 else 1 + nu / 2 * h) / (1 + h * h + nu * h)
