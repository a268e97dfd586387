"""Arguments of any type: taken where their meaning is plain, else refused in one sentence."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import quietrank as qr
from quietrank.errors import QuietrankError

SMALL: dict[str, Any] = {"items": 5, "people": 40, "per_person": 6, "repetitions": 20, "epsilon": 2.0, "curves": False}
NO_NUMBERS: list[Any] = [2.5, "3", True, np.True_, -1, 0, float("nan"), float("inf"), [3], b"3", 1j, Decimal("NaN")]


@pytest.mark.parametrize(
    "epsilon",
    [2, np.float64(2), np.float32(2), np.int8(2), Decimal(2), Fraction(2), [2.0], (2, 2.0), np.array(2.0),
     np.array([2.0]), range(2, 3)],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_any_number_is_an_epsilon(epsilon: Any) -> None:
    assert qr.plan(**(SMALL | {"epsilon": epsilon})).rows() == qr.plan(**SMALL).rows()


@pytest.mark.parametrize(
    "epsilon",
    [[], (), np.array([]), "1", b"1", True, np.True_, 0, -1.0, float("nan"), float("inf"), Decimal("inf"), 1j, [1, "2"],
     [1, None], [1, 0], [[1]], {"a": 1}, len, 10**400, "∞"],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_anything_else_is_not(epsilon: Any) -> None:
    """Before anything is simulated."""
    with pytest.raises(QuietrankError, match="epsilon") as refused:
        qr.plan(**(SMALL | {"epsilon": epsilon}))
    assert "\n" not in str(refused.value)


def test_several_epsilons_are_sorted_and_each_is_shown_once() -> None:
    plan = qr.plan(**(SMALL | {"epsilon": [2, Fraction(1, 2), np.float64(2)], "mechanism": "laplace"}))
    assert [one.epsilon for one in plan.predictions] == [0.5, 2.0]


@pytest.mark.parametrize("name", ["items", "people", "per_person", "top_k", "repetitions", "max_per_person"])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:30])
def test_sizes_are_whole_numbers(name: str, value: Any) -> None:
    """The error names the argument, in the words of the caller."""
    with pytest.raises(QuietrankError, match=f"{name} must be a whole number") as refused:
        qr.plan(**(SMALL | {name: value}))
    assert "--" + name.replace("_", "-") in refused.value.in_options()


@pytest.mark.parametrize(
    "value", [value for value in NO_NUMBERS if value != 0] + [None], ids=lambda value: repr(value)[:30]
)
def test_a_seed_is_a_whole_number(value: Any) -> None:
    with pytest.raises(QuietrankError, match="seed must be a whole number"):
        qr.plan(**(SMALL | {"seed": value}))


def test_whole_numbers_may_be_of_any_type() -> None:
    same = {"items": np.int64(5), "people": 40.0, "per_person": Decimal(6), "repetitions": Fraction(20), "seed": 1.0}
    assert qr.plan(**(SMALL | same)).to_json() == qr.plan(**SMALL).to_json()


@pytest.mark.parametrize(
    "options",
    [
        {"spread": True}, {"spread": None}, {"spread": [1]}, {"spread": 1j}, {"spread": 10**400},
        {"target": 5, "epsilon": None}, {"target": ["winner 0.9"], "epsilon": None},
        {"target": f"top-{'9' * 5000} error 0.1", "epsilon": None}, {"solve": None}, {"solve": 3},
        {"one_per_pair": "no"}, {"one_per_pair": None}, {"method": None}, {"mechanism": 3}, {"mechanism": []},
        {"unit": None}, {"items": None}, {"epsilon": 1e-290}, {"votes": "9", "unit": "comparison"},
    ],
    ids=lambda options: str(options)[:60],
)  # fmt: skip
def test_other_wrong_types_are_refused_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(QuietrankError) as refused:
        qr.plan(**(SMALL | options))
    assert "\n" not in str(refused.value)
