"""The valid rows of a snapshot in, the same with an integer weight out: no person contributes more than was promised.

Weights are counted in units of 2^-20; nothing is drawn at random, and a person's weights depend on that person's
votes alone. Five ways:

- total weight at most L: each of a person's c votes weighs min(2^20, ⌊L·2^20/c⌋);
- one answer per pair: the c votes of a person on one pair share the weight of one answer, ⌊w/c⌋ each, with
  w = min(2^20, ⌊L·2^20/k⌋) for a person who answered k pairs;
- clipped: all votes of a person weigh W, the largest whole number of units at which the Euclidean norm of what
  they add to the statistic is at most C; checked in integers;
- kept together, for selection: all votes of a person weigh W, the largest whole number of units at which they bring no
  two items apart by more than was promised, and weigh no more than L in all;
- capped, where the unit is one vote but no person may have more than L: L of their votes weigh 1, the rest 0.

A vote on a best–worst set of m items weighs the part (m − 1)/(M − 1) of that, rounded down, M the declared largest m.

Where each vote has its own group, a person is bounded over all groups together: L is the total weight in all of them,
an answer is one per group and pair, and the norm that is clipped is that of the vector over all groups and items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, option
from quietrank.promise.privacy import GroupOf, Unit
from quietrank.promise.promise import PERSON_GRID, Bounded, Clip, RangeClip, whole_squares
from quietrank.votes.engines import engine_of
from quietrank.votes.sets import shown_columns, size
from quietrank.votes.sets import sides as sides_of_sets

if TYPE_CHECKING:
    import ibis.expr.types as ir

ANSWER_GRID = 2**10
"""Where answers are averaged and then clipped, an answer weighs this many parts; the clipping factor takes the rest."""

ONE_PER_GROUP = ("ties", "total")
"""statistics that are one number for all items of a group"""

SCRAMBLE = (1_583_458_089, 784_588_716, 2_147_483_647)
"""a·low + b·high modulo a prime: an order of pairs that is unrelated to the order of items"""


def weigh(rows: ir.Table, bounded: Bounded, people: ir.Table | None = None) -> ir.Table:
    """The valid rows of a snapshot with `weight`: 1 where each vote counts by itself, bounded for people.

    A row that stands for several votes weighs as many; no person can be bounded then. `people`, if it is known, is
    what `votes_of_people` says about these rows, or about these and others of other people.
    """
    import ibis

    if "count" in rows.columns and bounded.counts_people:
        raise AssertionError("people cannot be bounded where rows stand for several votes")
    full = int(1 / (2 * bounded.half_vote))
    if bounded.counts_people and bounded.clip is not None:
        return _clipped(rows, bounded.clip, bounded)
    if not bounded.counts_people:
        votes = rows["count"].cast("int64") if "count" in rows.columns else ibis.literal(1, type="int64")
        weighed = rows.mutate(weight=votes * full)
    elif bounded.max_per_person is None:
        raise AssertionError("people are bounded by a limit or a clip")
    elif bounded.unit is Unit.COMPARISON:
        weighed = _first_few(rows, bounded.max_per_person, full)
    elif bounded.one_per_pair:
        weighed = _averaged(rows, PERSON_GRID, bounded.max_per_person, _apart(bounded))
    else:
        weighed = _scaled_down(rows, bounded.max_per_person, votes_of_people(rows) if people is None else people)
    return _sized(weighed, bounded.shown) if bounded.shown > 2 else weighed


def _sized(rows: ir.Table, shown: int, weight: str = "weight") -> ir.Table:
    """A set of m items weighs ⌊w·(m − 1)/(M − 1)⌋: what a full vote may weigh, or less, so that all bounds still hold.

    M is declared: were it looked up, one person with a larger set would change everybody's weights.
    """
    import ibis

    pairs = ibis.greatest(size(rows) - 1, 0)
    return rows.mutate(**{weight: quotient(rows[weight] * pairs, ibis.literal(shown - 1, type="int64"))})


def votes_of_people(rows: ir.Table) -> ir.Table:
    """Per person: the number of `votes` that count; rows that do not, if there are any, are marked in `use`."""
    votes = rows.count(where=rows.use) if "use" in rows.columns else rows.count()
    return rows.group_by("person").agg(votes=votes)


def people_by_votes(rows: ir.Table, people: ir.Table, bins: int, *, one_per_pair: bool) -> ir.Table:
    """`bin` and `people`: each person is in the one bin k with 2^k to 2^(k+1) − 1 votes, or answers; the last bin is
    open. A person without votes is in none."""
    import ibis

    if one_per_pair:
        paired = with_pair(rows)
        groups = ["group"] if "group" in rows.columns else []
        people = votes_of_people(paired.select("person", *groups, "low", "high").distinct())
    people = people.filter(people.votes > 0)
    steps = [ibis.ifelse(people.votes >= 2**k, 1, 0) for k in range(1, bins)]
    binned = people.mutate(bin=sum(steps[1:], steps[0]).cast("int64"))
    return binned.group_by("bin").agg(people=binned.count())


def _apart(bounded: Bounded) -> tuple[str, ...]:
    """The columns that tell answers and entries of one person apart, besides the pair or the item."""
    return ("group",) if bounded.group_of is GroupOf.VOTE else ()


def _first_few(rows: ir.Table, most: int, full: int) -> ir.Table:
    """L votes of each person weigh 1 (in so many units), the rest 0: which ones depends on that person's votes alone.

    They are chosen in an order that favours neither a position on the list of items nor a side: by a number scrambled
    from the pair and, within a pair, the wins of its first or of its second item first, as that number decides. Rows
    that are still equal are the same vote twice.
    """
    import ibis

    if shown_columns(rows):
        return _first_sets(rows, most, full)
    paired = with_pair(rows)
    scrambled = (paired.low.cast("int64") * SCRAMBLE[0] + paired.high.cast("int64") * SCRAMBLE[1]) % SCRAMBLE[2]
    # y as seen from the pair's first item, or from its second.
    as_written = (paired.a == paired.low) == (scrambled % 2 == 0)
    y: ir.Value = paired.y if "y" in rows.columns else ibis.literal(2, type="int16")
    # The last keys separate rows that say the same with the items swapped, or in another group: which votes count
    # must not depend on the order of rows.
    keys = [scrambled, paired.low, paired.high, ibis.ifelse(as_written, y, 2 - y), paired.a]
    if "group" in rows.columns:
        keys.append(paired.group)
    return paired.select(*rows.columns, weight=_full_for_first(paired, keys, most, full))


def _first_sets(rows: ir.Table, most: int, full: int) -> ir.Table:
    """The same for best–worst sets. The order is that of the sets (and groups), and only then of the answers."""
    names = shown_columns(rows)
    known = [rows[name].fill_null(-1).cast("int64") for name in names]
    parts = [item * (SCRAMBLE[0] - k * SCRAMBLE[1] // len(names)) % SCRAMBLE[2] for k, item in enumerate(known)]
    group = ["group"] if "group" in rows.columns else []
    keys = [sum(parts[1:], parts[0]) % SCRAMBLE[2], *known, *(rows[name] for name in group), rows.y, rows.a, rows.b]
    return rows.select(*rows.columns, weight=_full_for_first(rows, keys, most, full))


def _full_for_first(rows: ir.Table, keys: Sequence[ir.Value], most: int, full: int) -> ir.Value:
    """The full weight in the first rows of each person, in the order of these keys, and 0 in the rest."""
    import ibis

    place = ibis.row_number().over(group_by=rows.person, order_by=keys)
    return ibis.ifelse(place < most, ibis.literal(full, type="int64"), ibis.literal(0, type="int64"))


def _scaled_down(rows: ir.Table, limit: int, people: ir.Table) -> ir.Table:
    """Each of a person's c votes weighs min(2^20, ⌊L·2^20/c⌋)."""
    import ibis

    weights = people.select(who=people.person, weight=share_of(limit, ibis.greatest(people.votes, 1)))
    # Everybody who voted is among `people`: an inner join, which is faster. With a select instead of a drop, Ibis names
    # this query once, so that it runs once.
    return rows.inner_join(weights, [("person", "who")]).select(*rows.columns, "weight")


def _averaged(rows: ir.Table, grid: int, limit: int | None, apart: tuple[str, ...]) -> ir.Table:
    """The votes of a person on one pair (and, where they lie apart, in one group) share the weight of one answer, in
    units of 1/grid."""
    import ibis

    paired = with_pair(rows)
    pairs = paired.group_by("person", "low", "high", *apart).agg(votes=paired.count())
    answer: ir.Value = ibis.literal(grid, type="int64")
    if limit is not None:
        people = pairs.group_by("person").agg(pairs=pairs.count())
        weights = people.select(who=people.person, answer=share_of(limit, people.pairs))
        pairs = pairs.left_join(weights, [("person", "who")]).select(*pairs.columns, "answer")
        answer = pairs.answer
    names = {"person": "who", "low": "first", "high": "second", **{name: f"of_{name}" for name in apart}}
    shares = pairs.select(**{new: pairs[old] for old, new in names.items()}, weight=quotient(answer, pairs.votes))
    keys = list(names.items())
    return paired.left_join(shares, keys).select(*rows.columns, "weight")


def _clipped(rows: ir.Table, clip: Clip, bounded: Bounded) -> ir.Table:
    """Every vote of a person weighs W, times its share of an answer where answers are averaged."""
    import ibis

    engine = engine_of(rows)
    if not (engine.exact_decimals or isinstance(clip, RangeClip)):
        raise VotesError(
            f"clipping, for ball and Gaussian noise, needs exact decimals, which {engine.title} does not have; "
            f"give the votes as a file or a data frame, or use {option('mechanism', 'laplace')}"
        )
    grid = ANSWER_GRID if bounded.one_per_pair or bounded.shown > 2 else 1
    if bounded.shown > 2:
        parts = _sized(rows.mutate(part=ibis.literal(grid, type="int64")), bounded.shown, "part")
    elif bounded.one_per_pair:
        parts = _averaged(rows, grid, None, _apart(bounded)).mutate(part=ibis._.weight).drop("weight")
    else:
        parts = rows.mutate(part=ibis.literal(1, type="int64"))
    factors_for = _range_factors if isinstance(clip, RangeClip) else _clipping_factors
    factors = factors_for(parts, clip, PERSON_GRID // grid, _apart(bounded))
    joined = parts.left_join(factors, [("person", "who")])
    return joined.select(*rows.columns, weight=joined.part * joined.factor)


def _range_factors(rows: ir.Table, clip: Clip, most: int, apart: tuple[str, ...]) -> ir.Table:
    """Per person the factor W, as below; the range is the sum over groups."""
    assert isinstance(clip, RangeClip)
    sums = _net_wins_of_items(rows, apart)
    tallies = sums.group_by("person", *apart).agg(wide=sums.net_wins.max() - sums.net_wins.min())
    wide = tallies.group_by("person").agg(wide=tallies.wide.sum().cast("int64"))
    parts = rows.group_by("person").agg(parts=rows.part.sum().cast("int64"))
    people = parts.left_join(wide.select(who=wide.person, wide=wide.wide), [("person", "who")])
    return people.select(who=people.person, factor=range_factor(people.wide, people.parts, clip, most))


def range_factor(wide: ir.Value, parts: ir.Value, clip: RangeClip, most: int) -> ir.Value:
    """W ≤ `most`: the largest whole number with W·r ≤ 2ρ·2^20 and W·(all parts) ≤ L·2^20, r the range of a person's net
    wins in half votes. Rounded down, towards privacy."""
    import ibis

    room, weight = math.floor(2 * clip.norm * PERSON_GRID), clip.limit * PERSON_GRID
    by_range = quotient(ibis.literal(room, type="int64"), ibis.greatest(wide, 1))
    by_weight = quotient(ibis.literal(weight, type="int64"), ibis.greatest(parts, 1))
    return ibis.least(by_range, by_weight, ibis.literal(most, type="int64"))


def _net_wins_of_items(rows: ir.Table, apart: tuple[str, ...]) -> ir.Table:
    """Per person, group and item, in half votes; they sum to zero over items, so items that do not occur change
    neither the largest nor the smallest beyond zero."""
    sums = _sums_of_items(rows, apart)
    return sums.select("person", *apart, net_wins=half_of(sums.won - sums.lost))


def _clipping_factors(rows: ir.Table, clip: Clip, most: int, apart: tuple[str, ...]) -> ir.Table:
    """Per person the factor W, as below."""
    terms, _ = whole_squares(clip)
    people = _squared_norms(rows, terms, apart)
    return people.select(who=people.person, factor=clipping_factor(people.square, clip, most))


def clipping_factor(square: ir.Value, clip: Clip, most: int) -> ir.Value:
    """W ≤ `most`: the largest whole number with W²·S ≤ K, S the squared norm in units, K = (2C·2^20)²."""
    import ibis

    bound = math.floor((2 * clip.norm * PERSON_GRID * whole_squares(clip)[1]) ** 2)
    root = (ibis.literal(float(bound)) / square.cast("float64").nullif(0.0)).sqrt()
    guess = ibis.least(root, ibis.literal(float(most))).floor().cast("int64")

    def allowed(factor: ir.Value) -> ir.Value:
        # Where the square is beyond the bound the factor is 0, and the product would not fit.
        wide = factor.cast("decimal(38, 0)")
        return (square <= whole(bound)) & (wide * wide * square <= whole(bound)) & (factor <= most)

    return ibis.cases(
        (square == 0, ibis.literal(most, type="int64")),
        (square > whole(bound), ibis.literal(0, type="int64")),
        (allowed(guess + 1), guess + 1),
        (allowed(guess), guess),
        (allowed(guess - 1), guess - 1),
        else_=ibis.literal(0, type="int64"),
    )


def _squared_norms(rows: ir.Table, terms: dict[str, int], apart: tuple[str, ...]) -> ir.Table:
    """Per person the square of the norm of twice the contribution, in answer parts; exact decimals throughout.

    Entries of several groups are squared apart: wins in one and losses in another must not cancel.
    """
    of_items = {name: weight for name, weight in terms.items() if name not in ONE_PER_GROUP}
    of_sums = {name: weight for name, weight in terms.items() if name in ONE_PER_GROUP}
    squares = _squares_of_items(rows, of_items, apart)
    if of_sums:
        squares = squares.union(_squares_of_sums(rows, of_sums, apart))
    people = squares.group_by("person").agg(square=squares.square.sum())
    return people.select("person", square=people.square.cast("decimal(38, 0)"))


def _sums_of_items(rows: ir.Table, apart: tuple[str, ...]) -> ir.Table:
    """Per person, group and item: `won` and `lost`, in half votes."""
    if shown_columns(rows):
        sides = sides_of_sets(rows, ["person", *apart], "part")
    else:
        y = rows.y if "y" in rows.columns else 2
        a = rows.select("person", *apart, item=rows.a, won=rows.part * y, lost=rows.part * (2 - y))
        b = rows.select("person", *apart, item=rows.b, won=rows.part * (2 - y), lost=rows.part * y)
        sides = a.union(b)
    return sides.group_by("person", *apart, "item").agg(won=sides.won.sum(), lost=sides.lost.sum())


def _squares_of_items(rows: ir.Table, terms: dict[str, int], apart: tuple[str, ...]) -> ir.Table:
    """Per person, group and item."""
    sums = _sums_of_items(rows, apart)
    return sums.select("person", square=sum_of_squares(of_item(sums.won, sums.lost), terms))


def of_item(won: ir.Value, lost: ir.Value) -> dict[str, ir.Value]:
    """What can be squared of a person's item. In half votes: won − lost and won + lost are even."""
    return {
        "wins": won.cast("decimal(38, 0)"),
        "losses": lost.cast("decimal(38, 0)"),
        "net_wins": _halved(won - lost),
        "exposure": _halved(won + lost),
    }


def _squares_of_sums(rows: ir.Table, terms: dict[str, int], apart: tuple[str, ...]) -> ir.Table:
    """Per person and group: of the weight of all votes, or of the ties among them."""
    import ibis

    tied = ibis.ifelse(rows.y == 1, rows.part, rows.part * 0) if "y" in rows.columns else rows.part * 0
    votes = rows.select("person", *apart, tied=tied, part=rows.part)
    sums = votes.group_by("person", *apart).agg(ties=votes.tied.sum(), total=votes.part.sum())
    columns = {name: sums[name].cast("decimal(38, 0)") for name in ONE_PER_GROUP}
    return sums.select("person", square=sum_of_squares(columns, terms))


def sum_of_squares(columns: dict[str, ir.Value], terms: dict[str, int]) -> ir.Value:
    """The squares of these columns, weighted; 0 if none of them has a weight."""
    squares = [_times(columns[name] * columns[name], weight) for name, weight in terms.items() if name in columns]
    return sum(squares[1:], squares[0]).cast("decimal(38, 0)") if squares else whole(0)


def _times(square: ir.Value, weight: int) -> ir.Value:
    return square if weight == 1 else square * whole(weight)


def _halved(even: ir.Value) -> ir.Value:
    return half_of(even).cast("decimal(38, 0)")


def half_of(even: ir.Value) -> ir.Value:
    """Half of an even number, as a whole one."""
    return (even.cast("int64") // 2).cast("int64")


def whole(number: int) -> ir.Value:
    """A number that may need more than 64 bits."""
    import ibis

    return ibis.literal(Decimal(number), type="decimal(38, 0)")


def share_of(limit: int, number: ir.Value) -> ir.Value:
    """min(2^20, ⌊L·2^20/number⌋)"""
    import ibis

    share = quotient(ibis.literal(limit * PERSON_GRID, type="int64"), number)
    return ibis.least(share, ibis.literal(PERSON_GRID, type="int64"))


def quotient(dividend: ir.Value, divisor: ir.Value) -> ir.Value:
    """The whole part of dividend/divisor, which are not negative."""
    # ⌊a / b⌋ in double precision is exact below 2^53, as L·2^20 is (privacy.py). Engines divide integers differently.
    return (dividend.cast("float64") / divisor.cast("float64")).floor().cast("int64")


def with_pair(rows: ir.Table) -> ir.Table:
    """The rows with `low` and `high`, the positions of their two items on the list, so that a pair has one name."""
    import ibis

    # A view ends the chain of joins: otherwise Ibis would merge a further join into it and mix up the keys.
    return rows.mutate(low=ibis.least(rows.a, rows.b), high=ibis.greatest(rows.a, rows.b)).view()
