"""Best–worst sets: net wins s, and beside them, as βd, how often each item was shown.

A vote of weight w on a set S with the best b and the worst v adds ½w(e_b − e_v) to s, an L1 norm of w, and w to the d
of each of its |S| ≤ M items: docs/proofs/best-worst.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, NoReturn

from quietrank.errors import PrivacyError, option
from quietrank.promise.privacy import Neighbours, Privacy
from quietrank.promise.promise import Limits, Squares
from quietrank.statistics.net_wins import NetWinsAndExposures

SHOWN_SHARE = Fraction(1, 16)
"""β: in sets of four, exposures make the Laplace noise on net wins a quarter larger. They get 16 times that noise,
which matters little: sets show items about equally often, and noisy exposures are shrunk towards their mean."""


class NetWinsAndShown(NetWinsAndExposures):
    """(s, βd), d how often an item was shown"""

    name = "net-wins-and-times-shown"
    sums_to_zero = False
    beta: ClassVar[Fraction] = SHOWN_SHARE
    squares: Squares = (("net_wins", Fraction(1)), ("exposure", SHOWN_SHARE**2))

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """‖s‖₁ + β‖d‖₁ ≤ L(1 + βM), and the triangle inequality for two of them; attained where 2M items are there."""
        one = limits.weight * (1 + share * limits.shown)
        return one if change is Neighbours.ADD_REMOVE else 2 * one


NET_WINS_AND_SHOWN = NetWinsAndShown()


def require_known_sets(privacy: Privacy) -> NoReturn:
    """Refuse scores where nothing is known of the sets: those of ordinary Bradley–Terry would be stretched."""
    raise PrivacyError(
        f"{option('method', 'bradley-terry')} needs to know which best-worst sets were shown, and under "
        f"{option('design', privacy.design)} only how often each item was is known; declare "
        f"{option('design', 'uniform')} if the sets were drawn at random, or {option('design', 'public')} with "
        f"{option('neighbours', 'outcome')} if they are no secret, or use {option('method', 'win-rate')}"
    )
