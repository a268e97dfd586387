"""The scatter of a sample of people: the same bound, the same noise, and both multiplied afterwards; and what remains
of a release when it cannot be measured.

docs/proofs/scatter.md names these tests.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank.auditing import bounds
from quietrank.auditing.case_lists import GROUPS
from quietrank.auditing.cases import make_case
from quietrank.errors import ReleaseError, VotesError
from quietrank.estimate import sample
from quietrank.estimate.methods import Expected
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms import scatter
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.scatter import STEPS, Around, ScatterNoise
from quietrank.promise.items import Items
from quietrank.promise.promise import Bounded, Promise
from quietrank.publish import tally_file
from quietrank.statistics.method import Method
from quietrank.votes import sample as ids
from quietrank.votes.shapes import expand
from quietrank.votes.tally import Counting, counting
from tests.effort import effort
from tests.helpers import ITEMS, Vote, from_arrow

ONE_PER_PAIR = qr.Privacy(1, "person", one_per_pair=True)
LIMITED = qr.Privacy(1, "person", max_per_person=3)
ADDED = qr.Privacy(1, "person", neighbours="add-remove", max_per_person=2)
EXPECTED = {
    Around.ZERO: np.zeros(4), Around.VOTES: np.array([0.5, -0.5, 0.5, -0.5]),
    Around.EXPOSURES: np.array([0.0, 1.0, 0.0, 1.0]), Around.PAIRS: np.array([16.0, -16.0, 16.0, -16.0]),
}  # fmt: skip


def lot(person: str) -> int:
    """The number of zero bits at the start of the id's MD5."""
    return 128 - int(hashlib.md5(person.encode()).hexdigest(), 16).bit_length()


def crowd(people: int, seed: int = 1, votes: int = 4) -> list[Vote]:
    """Votes of so many people with ids of all kinds."""
    rng = np.random.default_rng(seed)
    names = [f"pé {k}" if k % 3 else str(k) for k in range(people)]
    return [
        (name, *rng.permutation(ITEMS)[:2].tolist(), str(rng.choice(["a", "a", "b", "tie"])))
        for name in names
        for _ in range(votes)
    ]


def steps(votes: Sequence[Vote], privacy: qr.Privacy, around: Around, bits: int) -> int:
    promise = Promise(privacy, Items(ITEMS))
    most = float(scatter.largest_square(promise, None))
    with counting(from_arrow(list(votes)), Bounded.by(promise.privacy, None), again=True) as counted:
        (value,) = counted.scatter([Expected(around, EXPECTED[around])], most, bits)
    return value


# ---- the sample and the bound ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("privacy", [ONE_PER_PAIR, LIMITED], ids=["one-per-pair", "L = 3"])
@pytest.mark.parametrize("around", Around)
@pytest.mark.few(1)
def test_it_is_the_scatter_of_those_whose_ids_say_so(around: Around, privacy: qr.Privacy) -> None:
    """Sampling before weighing, in the engine, is the same as leaving the others out of the file."""
    votes = crowd(90)
    for bits in range(1, 6):
        chosen = [vote for vote in votes if lot(vote[0]) >= bits]
        assert 0 < len(chosen) < len(votes)
        assert steps(votes, privacy, around, bits) == steps(chosen, privacy, around, 0)


@pytest.mark.parametrize("around", Around)
@settings(max_examples=effort(3, 25), deadline=None)
@given(data=st.data())
@pytest.mark.few(1)
def test_one_person_moves_the_scatter_of_a_sample_no_further(around: Around, data: st.DataObject) -> None:
    """Whoever is replaced by whomever, in the sample or not: by C² at most, although a sampled person may leave it and
    nobody take their place."""
    others, bits = crowd(6), data.draw(st.integers(1, 2))
    names = data.draw(st.lists(st.sampled_from(["q", "u", "v 2", "ß", "7"]), min_size=2, max_size=2))
    seeds = data.draw(st.lists(st.integers(0, 99), min_size=2, max_size=2))
    one, other = ([(name, *vote[1:]) for vote in crowd(1, seed, 5)] for name, seed in zip(names, seeds, strict=True))
    sides = [steps([*others, *more], LIMITED, around, bits) for more in (one, other, [])]
    assert max(sides) - min(sides) <= STEPS


@pytest.mark.parametrize(("neighbours", "groups"), [("replace", None), ("replace", GROUPS), ("add-remove", None)])
@pytest.mark.few(1)
def test_the_audit_measures_samples(neighbours: Any, groups: Any) -> None:
    """On neighbouring files, in one of which the unit is sampled and in the other perhaps not."""
    case = make_case(LAPLACE, "person", neighbours, method=Method.NET_WINS, max_per_person=3, groups=groups)
    assert lot("u") >= 1 > lot("v 2")  # the unit of these files, and who replaces it
    moves = bounds.check(case, effort(2, 4))
    assert 0.2 < moves.scatter <= 1
    assert not moves.complaints


def test_the_audit_finds_a_sample_that_is_multiplied_before_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: 2^k·Q + noise, whose noise would have to be 2^k times as large."""
    case = make_case(LAPLACE, "person", "replace", method=Method.NET_WINS, max_per_person=3)
    honest = Counting.scatter

    def multiplied(self: Counting, expected: Sequence[Expected], most: float, bits: int = 0) -> list[int]:
        return [value << 3 * bits for value in honest(self, expected, most, bits)]

    monkeypatch.setattr(Counting, "scatter", multiplied)
    assert any("scatter" in complaint for complaint in bounds.check(case, 2).complaints)


def _wide(people: Sequence[str], *, named: bool = True) -> qr.Votes:
    """Those who would be in a sample by their numbers vote all alike, and count in full; all others tie, and count
    nothing. In groups, so that a row is made for each vote."""
    said = ["1" if lot(str(int(name[1:]))) else "tie" for name in people]
    cells: dict[str, Any] = {f"{a}:{b}": said for a, b in itertools.combinations(ITEMS, 2)}
    names = {"person": list(people)} if named else {}
    homes = ["north" if k % 2 else "south" for k in range(len(people))]
    options: dict[str, Any] = {"by": "home", "groups": ["north", "south"], "by_person": True}
    return qr.read_votes(pa.table({**names, "home": homes, **cells}), ITEMS, **options)


def _moved_by_the_first(people: Sequence[str]) -> int:
    """How far the scatter of half of the people moves when the first of them is removed."""
    privacy = qr.Privacy(1, "person", neighbours="add-remove", one_per_pair=True)
    sides = []
    for some in (people, people[1:]):
        votes = _wide(some)
        promise = Promise(privacy, votes.items, votes.groups, votes.group_of, votes.leaves_out)
        most = float(scatter.largest_square(promise, None))
        with counting(votes, promise.bounded(None), may_be_empty=True, again=True) as counted:
            sides.append(counted.scatter([Expected(Around.ZERO, np.zeros(4))] * 2, most, 1))
    # Who is removed changes the places, and so the groups, of all others in this file: only the sum is compared.
    return abs(sum(sides[0]) - sum(sides[1]))


PEOPLE = [f"p{k:02}" for k in range(60)]


def test_people_with_codes_are_sampled_by_their_ids() -> None:
    """Wide tables in our own engine number people; nobody's number decides whether they are in the sample."""
    assert _moved_by_the_first(PEOPLE) <= STEPS


def test_a_sample_by_numbers_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the MD5 of the number that somebody has among all people, which changes with one of them."""
    monkeypatch.setattr(expand, "lot", lambda person: ids.lot(expand.codes(person)))
    assert _moved_by_the_first(PEOPLE) > STEPS


def test_rows_that_name_nobody_are_never_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have nothing but their place in the file; who asks for a sample all the same is refused."""
    monkeypatch.setattr(scatter, "SAMPLE", 1)
    monkeypatch.setattr(sample, "LOUDEST", 1e9)
    cells = {f"{a}:{b}": ["1"] * 40 for a, b in itertools.combinations(ITEMS, 2)}
    for named in (True, False):
        names = {"person": PEOPLE[:40]} if named else {}
        release = qr.rank(qr.read_votes(pa.table({**names, **cells}), ITEMS), ONE_PER_PAIR)
        assert release.scatter is not None
        assert release.scatter.part == (1 / 32 if named else 1)
    votes = _wide(PEOPLE, named=False)
    promise = Promise(ONE_PER_PAIR, votes.items, votes.groups, votes.group_of, votes.leaves_out)
    with (
        counting(votes, promise.bounded(None), may_be_empty=True, again=True) as counted,
        pytest.raises(AssertionError, match="without ids"),
    ):
        counted.scatter([Expected(Around.ZERO, np.zeros(4))] * 2, 1.0, 1)


# ---- k, and what is released ----------------------------------------------------------------------------------------


def test_few_people_are_all_measured() -> None:
    """Below 100,000 nothing changes."""
    known = {-5.0: 0, 0: 0, 99_999: 0, 100_000: 1, 199_999: 1, 200_000: 2, 1e6: 4, 5e6: 6, 1e300: 30}
    assert {people: scatter.sample_bits(max(0, people)) for people in known} == known


def _noise(privacy: qr.Privacy = LIMITED) -> ScatterNoise:
    promise = Promise(privacy, Items(ITEMS))
    counts = choose(promise.changed(epsilon=scatter.rest_of(1.0, 0.05)), Method.NET_WINS, LAPLACE).noise
    return scatter.scatter_noise(counts, 1.0, 0.05)


def test_value_and_scale_are_multiplied_together() -> None:
    """Whatever k is, the noise is drawn in the same steps; the release says both times 2^k."""
    noise = _noise()
    whole, part = noise.released(Around.ZERO, 1000), noise.released(Around.ZERO, 1000, 4)
    assert (part.value, part.scale, part.part) == (16 * whole.value, 16 * whole.scale, 1 / 16)
    assert (part.most, part.epsilon, part.bits) == (whole.most, whole.epsilon, 4)


def test_k_comes_from_public_numbers() -> None:
    """The number of people where that is public; else the noisy total over L; nothing where neither is known, or where
    a clip bounds no weight."""
    tally = qr.noisy_tally(from_arrow(crowd(20)), LIMITED, method="net-wins")
    many = replace(tally, people=400_000)
    assert sample.bits_of([many], _noise()) == sample.most_bits([many]) == 3
    unknown = replace(tally, people=None, public_total=None)
    assert unknown.counted_total is None
    assert sample.bits_of([unknown], _noise()) == 0
    weighed = replace(unknown, public_total=1_200_000.0)
    assert sample.bits_of([weighed], _noise()) == 3  # at least 400,000 people with L = 3
    assert sample.bits_of([replace(weighed, privacy=weighed.privacy.changed(clip=1.0))], _noise()) == 0
    apart = [replace(weighed, public_total=total) for total in (900_000.0, 400_000.0, -100_000.0)]
    assert sample.most_bits(apart) == 3  # over all groups together
    assert sample.most_bits([*apart, unknown]) == 0


def test_noise_that_would_be_heard_keeps_the_sample_larger() -> None:
    """2^k times the noise stays below 5 % of the variance of all net wins; with little ε for it everybody is asked."""
    people = 10_000_000
    tally = replace(qr.noisy_tally(from_arrow(crowd(20)), LIMITED, method="net-wins"), people=people)
    found = {}
    for part in (0.05, 1e-3, 1e-5):
        noise = scatter.scatter_noise(choose(Promise(LIMITED, Items(ITEMS)), Method.NET_WINS, LAPLACE).noise, 1.0, part)
        bits = found[part] = sample.bits_of([tally], noise)
        loud = np.sqrt(2) * noise.released(Around.ZERO, 0, bits).scale
        assert bits == 0 or loud <= 0.05 * (people / 2 + 4 * tally.law.spread.net_wins**2)
    assert found[0.05] == 7 > found[1e-3] > found[1e-5] == 0


def _parts(people: Sequence[Vote], releases: int) -> set[float]:
    """The parts of the people that the scatters of so many releases of these votes were measured on."""
    found = [qr.noisy_tally(from_arrow(people), ADDED, mechanism="laplace").scatter for _ in range(releases)]
    return {one.part for one in found if one is not None}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few people are enough for a sample, and its noise may be heard."""
    monkeypatch.setattr(scatter, "SAMPLE", 8)
    monkeypatch.setattr(sample, "LOUDEST", 1e9)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_whether_people_are_sampled_tells_nothing_of_their_number() -> None:
    """Where it is secret how many there are, the noise on the total decides: 15 people and 16 look alike."""
    assert all(len(_parts(crowd(people), 30)) > 1 for people in (15, 16))  # fails less than once in a million runs


@pytest.mark.usefixtures("tiny")
def test_a_sample_by_the_exact_number_of_people_would_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault, a k from the exact number, tells 15 people from 16 every time."""
    found = []
    for one in (crowd(people) for people in (15, 16)):
        exact = scatter.sample_bits(len({vote[0] for vote in one}))
        monkeypatch.setattr("quietrank.pipeline.counts.bits_of", lambda tallies, noise, exact=exact: exact)
        found.append(_parts(one, 3))
    assert found == [{1.0}, {0.5}]


@pytest.mark.usefixtures("tiny")
def test_a_release_says_what_it_was_measured_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does a saved tally, which comes back exactly; with fewer people nobody would have drawn such a sample."""
    path = tmp_path / "tally.json"
    tally = qr.noisy_tally(from_arrow(crowd(40)), ONE_PER_PAIR)
    assert tally.scatter is not None
    assert (tally.people, tally.scatter.part) == (40, 0.25)
    tally.to_json(path)
    assert qr.NoisyTally.from_json(path).scatter == tally.scatter
    release = qr.rerank(tally)
    assert json.loads(release.to_json())["scatter"]["part"] == 0.25
    release.to_json(tmp_path / "release.json")
    assert qr.Release.from_json(tmp_path / "release.json").scatter == tally.scatter

    values = json.loads(path.read_text())
    scale = values["scatter"]["scale"]
    for part, times in ((0.25, 0.5), (0.125, 2), (0.3, 1), (0, 1), (2, 0.125), (-0.25, 1), ("0.25", 1), (1e-320, 1)):
        edited = values | {"scatter": values["scatter"] | {"part": part, "scale": scale * times}}
        with pytest.raises(ReleaseError, match="damaged"):
            tally_file.from_dict(edited)
    monkeypatch.setattr(scatter, "SAMPLE", 50_000)
    with pytest.raises(ReleaseError, match="part of the people"):
        tally_file.from_dict(values)


@pytest.mark.usefixtures("tiny")
def test_groups_share_one_sample(tmp_path: Path) -> None:
    """One k for all of them, and a file in which they differ is refused."""
    votes = crowd(160)
    table = pa.table(
        {name: [vote[k] for vote in votes] for k, name in enumerate(("person", "item_a", "item_b", "outcome"))}
        | {"home": ["north" if len(vote[0]) % 2 else "south" for vote in votes]}
    )
    read = qr.read_votes(table, ITEMS, by="home", groups=["north", "south"], by_person=True)
    privacy = qr.Privacy(50, "person", max_per_person=4)
    tally = qr.noisy_tally_by_group(read, privacy, method="win-rate", mechanism="laplace")
    assert {one.scatter.part for _, one in tally.tallies if one.scatter is not None} == {1 / 16}
    path = tmp_path / "tally.json"
    tally.to_json(path)
    assert qr.GroupedTally.from_json(path).tallies[1][1].scatter == tally.tallies[1][1].scatter
    assert qr.rerank(tally, overall=True).overall is not None
    values = json.loads(path.read_text())
    one = values["groups"]["north"]["scatter"]
    one["part"], one["scale"] = 2 * one["part"], one["scale"] / 2
    with pytest.raises(ReleaseError, match="part of the people"):
        tally_file.from_dict(values)


def test_files_without_it_are_about_everybody() -> None:
    """Those of earlier versions, and all that are written where everybody is measured."""
    tally = qr.noisy_tally(from_arrow(crowd(9)), ONE_PER_PAIR)
    values = tally_file.to_dict(tally)
    assert "part" not in values["scatter"]
    read = tally_file.from_dict(values)
    assert isinstance(read, qr.NoisyTally)
    assert read.scatter is not None
    assert read.scatter.part == 1


# ---- an engine that fails after it was paid for ----------------------------------------------------------------------


def _fails(*arguments: object, **options: object) -> None:
    raise VotesError("the connection to the database was lost")


@pytest.mark.parametrize("privacy", [ONE_PER_PAIR, LIMITED, ADDED], ids=["one-per-pair", "L = 3", "add-remove"])
def test_counts_survive_a_scatter_that_cannot_be_measured(
    privacy: qr.Privacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are paid for and drawn; the release says what is missing, not why; and the tally can be saved and read."""
    ledger = BudgetLedger.create(tmp_path / "budget.db", data="drinks", unit="person", epsilon=3)
    monkeypatch.setattr("quietrank.votes.tally.scatter_sums", _fails)
    tally = qr.noisy_tally(from_arrow(crowd(20)), privacy, method="win-rate", ledger=ledger)
    assert [entry.promise["epsilon"] for entry in ledger.entries()] == [1]
    assert (tally.scatter, tally.unmeasured, tally.privacy.epsilon) == (None, 0.05, 1)
    tally.to_json(tmp_path / "tally.json")
    again = qr.NoisyTally.from_json(tmp_path / "tally.json")
    assert again.unmeasured == 0.05
    for one in (tally, again):
        notes = qr.rerank(one).assumptions
        assert any("0.05 was spent on" in note and "stays spent" in note for note in notes)
        assert any("what was bought could not be measured" in note for note in notes)
        assert not any("connection" in note or "nothing was spent" in note for note in notes)
    values = json.loads((tmp_path / "tally.json").read_text())
    for wrong in (0.04, -0.05, "0.05", None, 1.0, True):
        with pytest.raises(ReleaseError, match="damaged"):
            tally_file.from_dict(values | {"unmeasured": wrong})


def test_it_is_the_noise_of_counts_beside_a_scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was spent on the scatter is not given back to the counts."""
    whole = qr.noisy_tally(from_arrow(crowd(20)), LIMITED)
    monkeypatch.setattr("quietrank.votes.tally.scatter_sums", _fails)
    assert qr.noisy_tally(from_arrow(crowd(20)), LIMITED).law == whole.law
    assert qr.noisy_tally(from_arrow(crowd(20)), LIMITED, sampling_share=0).law != whole.law


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_only_the_engine_is_forgiven(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever interrupts a release gets none, and a fault of ours is not hidden."""

    def stopped(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("quietrank.votes.tally.scatter_sums", stopped)
    with pytest.raises(error):
        qr.rank(from_arrow(crowd(20)), LIMITED)


def test_groups_lose_it_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quietrank.votes.tally.scatter_sums", _fails)
    votes = crowd(20)
    columns = {name: [vote[k] for vote in votes] for k, name in enumerate(("person", "item_a", "item_b", "outcome"))}
    table = pa.table(columns | {"home": ["north", "south"] * 40})
    read = qr.read_votes(table, ITEMS, by="home", groups=["north", "south"])
    releases = qr.rank_by_group(read, LIMITED, overall=True, method="win-rate")
    assert releases.overall is not None
    for release in (*(one for _, one in releases), releases.overall):
        assert any("could not be measured afterwards" in note for note in release.assumptions)
