"""Nothing in; how well the top k is found by selection and by noisy tallies, as tables, out.

.venv/bin/python -m benchmarks.top.run first|compare|clip|kappa|rule|fresh|loss [--repetitions N] [--items N] [--out F]
.venv/bin/python -m benchmarks.top.run judge rows.csv …
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.top import ranges, selection
from benchmarks.top.people import Survey, Tallies, left, tallies
from benchmarks.top.ranges import Reach
from benchmarks.top.rule import GUMBEL, prefers_selection
from quietrank.mechanisms.choose import choose, expected_noise
from quietrank.promise.accounting import rho_for
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.simulation import item_names
from quietrank.statistics.method import Method

Floats = NDArray[np.float64]
ITEMS = (6, 10, 20, 40, 100)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
SEED = 15
AGAIN = 3
"""how many draws of noise each tally gets"""
CLIPPED = 0.9
"""what the library expects clipping to leave of a count, in `expected_noise`"""


@dataclass(frozen=True, eq=False)
class Tally:
    """A noisy tally: its scores, its noise at ε = 1, and the standard deviation over what clipping leaves."""

    name: str
    scores: Floats
    noise: Floats
    sd: float


def list_lengths(n: int) -> list[int]:
    return sorted({k for k in (1, 2, 3, 5, n // 4, n // 2) if k <= n // 2})


def repeated(scores: Floats) -> Floats:
    return np.tile(scores, (AGAIN, 1))


# ---- noisy tallies --------------------------------------------------------------------------------------------------


@cache
def noise_of_auto(n: int, votes: int, one_per_pair: bool, delta: float, rows: int) -> tuple[str, Floats, float, float]:
    """Name, draws at ε = 1, expected standard deviation and clip of the noise that `auto` takes today for net wins."""
    privacy = Privacy(1.0, "person", delta=delta, max_per_person=votes, one_per_pair=one_per_pair)
    noise = choose(Promise(privacy, Items(tuple(item_names(n)))), Method.NET_WINS).noise
    draws = noise.law.sample(np.random.default_rng([SEED, n, votes]), rows)[:, :n]
    return noise.mechanism.name, draws, expected_noise(noise), float(noise.clip.norm) if noise.clip else 0.0


def tally_of_auto(survey: Survey, data: Tallies, votes: int, one: bool, delta: float = 0.0) -> Tally:
    rows = AGAIN * len(data.net_wins)
    name, draws, sd, clip = noise_of_auto(survey.n, votes, one, delta, rows)
    if clip:  # the same noise per norm that is left, at this survey's C
        factor = survey.norm / clip
        return Tally(name, data.by_norm, draws * factor, sd * CLIPPED * factor / left(survey)[0])
    return Tally(name, data.net_wins, draws, sd)


def ball(survey: Survey, data: Tallies) -> Tally:
    """A uniform direction of sum zero times Gamma(n − 1, 2C/ε)."""
    rows, n = AGAIN * len(data.net_wins), survey.n
    rng = np.random.default_rng([SEED, n, 7])
    direction = rng.normal(size=(rows, n))
    direction -= direction.mean(axis=1, keepdims=True)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    noise = direction * rng.gamma(n - 1, 2 * survey.norm, (rows, 1))
    sd = 2 * survey.norm * np.sqrt(n - 1) / left(survey)[0]
    return Tally("ball", data.by_norm, noise, float(sd))


# ---- the first few of small surveys ---------------------------------------------------------------------------------


def shares(truth: Floats, chosen: NDArray[np.int64]) -> str:
    found, _, _ = selection.agreement(truth, chosen)
    return f"{found.mean():.3f} ± {found.std() / np.sqrt(len(found) / AGAIN):.3f}"


def first(repetitions: int) -> None:
    print("| items, people, spread | k | ε | exact tally | noisy tally: exact top | noisy tally: true top |"
          " selection: exact top | selection: true top |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for survey, cases in (
        (Survey(20, 300, 0.3), ((1, 1.0), (1, 0.5), (3, 1.0), (5, 1.0))), (Survey(40, 500, 0.6), ((1, 0.5),))
    ):  # fmt: skip
        data, rng = tallies(survey, repetitions, SEED), np.random.default_rng(SEED)
        scores, truth = repeated(data.net_wins), repeated(data.strengths)
        noisy = tally_of_auto(survey, data, survey.pairs, True)
        for k, epsilon in cases:
            exact = shares(truth, selection.best(scores, k))
            by_tally = selection.best(scores + noisy.noise / epsilon, k)
            scale = Reach(survey.n, survey.pairs, True).rounds(k) / epsilon
            chosen = selection.permute_and_flip(scores, k, scale, rng)
            cells = [shares(scores, by_tally), shares(truth, by_tally), shares(scores, chosen), shares(truth, chosen)]
            print(f"| {survey.n}, {survey.people}, {survey.spread} | {k} | {epsilon} | {exact} | {' | '.join(cells)} |")


# ---- which selector -------------------------------------------------------------------------------------------------


def compare(repetitions: int, items: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Every selector with the best constant known for it, on full questionnaires and on 15 random pairs a person."""
    for n in items:
        votes = min(15, n * (n - 1) // 2)
        for survey, one in ((Survey(n, 300 if n <= 20 else 500, 0.3), True), (Survey(n, 500, 0.6, votes), False)):
            data, rng = tallies(survey, repetitions, SEED), np.random.default_rng([SEED, n])
            reach = Reach(n, survey.votes or survey.pairs, one)
            scores, noisy = repeated(data.net_wins), tally_of_auto(survey, data, reach.votes, one)
            for k in list_lengths(n):
                for epsilon in EPSILONS[:4]:
                    lists = {
                        name: in_parts(selector, scores, k, ranges.of(name, reach, k) / epsilon, rng)
                        for name, selector in selection.PURE.items()
                    }
                    lists["em, δ"] = selection.gumbel(scores, k, reach.rounds(1) * gumbel_unit(k, epsilon), rng)
                    lists["tally"] = selection.best(scores + noisy.noise / epsilon, k)
                    for name, chosen in lists.items():
                        found, sets, ordered = (part.mean() for part in selection.agreement(scores, chosen))
                        yield {
                            "survey": "questionnaires" if one else "pairs", "n": n, "k": k, "epsilon": epsilon,
                            "mechanism": name, "share": round(found, 4), "set": round(sets, 4),
                            "list": round(ordered, 4),
                        }  # fmt: skip


def in_parts(
    selector: selection.Selector, scores: Floats, k: int, scale: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A few hundred repetitions at a time: the joint mechanism needs n·k numbers for each."""
    return np.concatenate([selector(scores[i : i + 300], k, scale, rng) for i in range(0, len(scores), 300)])


def gumbel_unit(k: int, epsilon: float) -> float:
    """Scale of Gumbel noise over R with δ: k·ε₀²/8 ≤ ρ(ε, δ)."""
    return float(np.sqrt(k / (8 * rho_for(epsilon, DELTA))))


# ---- people with many votes -----------------------------------------------------------------------------------------


def clip(repetitions: int) -> None:
    """What scaling people down to a range does, next to noisy tallies: share of the exact top k."""
    print("| items | votes per person | k | ε | Laplace | ball | selection, weight L | one per pair | clipped range |"
          "\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for n, votes, spread in ((10, 15, 0.3), (20, 5, 0.3), (20, 15, 0.3), (20, 50, 0.3), (40, 15, 0.6), (100, 50, 0.6)):
        survey = Survey(n, 500, spread, votes)
        data, rng = tallies(survey, repetitions, SEED), np.random.default_rng(SEED)
        exact, by_range = repeated(data.net_wins), repeated(data.by_range)
        noisy = tally_of_auto(survey, data, votes, False), ball(survey, data)
        reaches = Reach(n, votes), Reach(n, votes, True), Reach(n, votes, clip=survey.range_clip)
        for k, epsilon in ((1, 0.5), (1, 1.0), (3, 0.5), (3, 1.0)):
            lists = [selection.best(repeated(tally.scores) + tally.noise / epsilon, k) for tally in noisy]
            lists += [
                selection.permute_and_flip(scores, k, reach.rounds(k) / epsilon, rng)
                for scores, reach in zip((exact, exact, by_range), reaches, strict=True)
            ]
            found = " | ".join(shares(exact, chosen) for chosen in lists)
            print(f"| {n} | {votes} | {k} | {epsilon} | {found} |", flush=True)


# ---- selection or tally ---------------------------------------------------------------------------------------------


def surveys(n: int) -> Iterator[Survey]:
    people = 300 if n <= 20 else 500
    for spread in (0.0, 0.3, 0.6):
        yield Survey(n, people, spread)
        for votes in (1, 5, 15, 50):
            if votes <= n * (n - 1) // 2:
                yield Survey(n, 3000 if votes == 1 else 500, spread, votes)


def fresh_surveys(n: int) -> Iterator[Survey]:
    """Others, to judge the rule by what its constants were not chosen on."""
    for spread in (0.2, 0.45, 0.9):
        yield Survey(n, 400, spread)
        for votes in (1, 3, 10, 30):
            if votes <= n * (n - 1) // 2:
                yield Survey(n, 2000 if votes == 1 else 700, spread, votes)


def rule(repetitions: int, items: tuple[int, ...], fresh: bool = False) -> Iterator[dict[str, Any]]:
    for n in items:
        for survey in fresh_surveys(n) if fresh else surveys(n):
            data = tallies(survey, repetitions, SEED + fresh)
            for one in (True,) if survey.votes is None else (False, True):
                yield from of_promise(survey, data, one)


def of_promise(survey: Survey, data: Tallies, one: bool) -> Iterator[dict[str, Any]]:
    """Both ways, for every length and ε, without and with clipping, and with δ."""
    n, votes = survey.n, survey.votes or survey.pairs
    auto, ball_noise, gaussian = (
        tally_of_auto(survey, data, votes, one), ball(survey, data), tally_of_auto(survey, data, votes, one, DELTA)
    )  # fmt: skip
    least = min(auto, ball_noise, key=lambda tally: tally.sd)
    plain, clipped = Reach(n, votes, one), Reach(n, votes, one, survey.range_clip)
    exact, rng = repeated(data.net_wins), np.random.default_rng([SEED, n, votes])
    for name, reach, scores, weight, tally, delta in (
        ("plain", plain, data.net_wins, 1.0, auto, 0.0), ("ball", plain, data.net_wins, 1.0, ball_noise, 0.0),
        ("clip", clipped, data.by_range, left(survey)[1], least, 0.0),
        ("delta", clipped, data.by_range, left(survey)[1], gaussian, DELTA),
    ):  # fmt: skip
        if name in ("ball", "clip") and votes == 1:
            continue
        for k in list_lengths(n):
            for epsilon in EPSILONS:
                scale, sd, selector = selector_for(reach, k, epsilon, delta)
                chosen = selector(repeated(scores), k, scale, rng)
                by_tally = selection.best(repeated(tally.scores) + tally.noise / epsilon, k)
                yield {
                    "case": name, "n": n, "votes": votes, "one_per_pair": one, "spread": survey.spread, "k": k,
                    "epsilon": epsilon, "selector": selector.__name__, "tally": tally.name,
                    "ratio": round(sd / weight / (tally.sd / epsilon), 4), **both(exact, chosen, by_tally),
                }  # fmt: skip


def selector_for(reach: Reach, k: int, epsilon: float, delta: float) -> tuple[float, float, selection.Selector]:
    """The selector with the least noise, Gumbel noise counted as exponential noise that is as good."""
    flip = reach.rounds(k) / epsilon
    if delta and GUMBEL * reach.rounds(1) * gumbel_unit(k, epsilon) < flip:
        scale = reach.rounds(1) * gumbel_unit(k, epsilon)
        return scale, GUMBEL * scale, selection.gumbel
    return flip, flip, selection.permute_and_flip


def both(exact: Floats, chosen: NDArray[np.int64], by_tally: NDArray[np.int64]) -> dict[str, float]:
    """Means of share and list for selection and tally, and the standard error of their difference at one draw each."""
    a, b = selection.agreement(exact, chosen), selection.agreement(exact, by_tally)
    once = len(exact) / AGAIN
    return {
        f"{name}_{what}": round(float(value), 4)
        for name, i in (("share", 0), ("list", 2))
        for what, value in (
            ("selection", a[i].mean()), ("tally", b[i].mean()), ("se", np.sqrt((a[i].var() + b[i].var()) / once))
        )
    }  # fmt: skip


SPREADS = np.exp(np.arange(np.log(0.05), np.log(1500), 0.33))
"""of the items, in units of the noise: from nothing found to all found"""


def kappa(items: tuple[int, ...]) -> None:
    """Where R_k/ε = κσ makes both ways alike, averaged over spreads: ln κ = ∫ (agreement − agreement) d ln(spread) over
    the rise of the agreement, each with noise of standard deviation 1."""
    print("| n | k | Laplace | Gaussian, ball, zonotope |\n|---|---|---|---|")
    rng = np.random.default_rng(5)
    for n, k in [(size, k) for size in items for k in list_lengths(size) if size * k <= 500]:
        items_of = rng.normal(size=(2000 if n * k <= 60 else 400, n))
        curves = np.array([agreements(items_of * spread, k, rng) for spread in SPREADS]).sum(axis=0) * 0.33
        values = np.exp((curves[0] - curves[1:]) / (1 - k / n, 1))
        print(
            f"| {n} | {k} | " + " | ".join(f"{share:.2f} / {right:.2f}" for share, right in values) + " |", flush=True
        )


def agreements(scores: Floats, k: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Share and list, of permute-and-flip, of Laplace and of Gaussian noise."""
    lists = (
        selection.permute_and_flip(scores, k, 1.0, rng),
        selection.best(scores + rng.laplace(0, 0.5**0.5, scores.shape), k),
        selection.best(scores + rng.normal(size=scores.shape), k),
    )
    parts = [selection.agreement(scores, chosen) for chosen in lists]
    return [(float(share.mean()), float(ordered.mean())) for share, _, ordered in parts]


CASES = ("plain", "ball", "clip", "delta")


def judge(paths: list[str]) -> None:
    """How often, and by how much, the rule is below the better of the two, beyond two standard errors."""
    rows = [row for path in paths for row in csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines())]
    print("| case | settings | selection | judged by | below by > 2 SE | largest shortfall | in SE | mean |"
          "\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for case in CASES:
        of_case = [row for row in rows if row["case"] == case]
        taken = sum(takes_selection(row) for row in of_case)
        for what in ("share", "list"):
            short = [shortfall(row, what) for row in of_case]
            beyond = sum(errors > 2 for _, errors in short)
            by, errors = np.array(short).T
            sizes = f"{by.max():.3f} | {errors.max():.1f} | {by.mean():.4f}"
            print(f"| {case} | {len(of_case)} | {taken} | {what} | {beyond} | {sizes} |")


def takes_selection(row: dict[str, str]) -> bool:
    return prefers_selection(int(row["n"]), float(row["ratio"]), 1.0)


def shortfall(row: dict[str, str], what: str) -> tuple[float, float]:
    """By how much the way that the rule takes is below the other one, and that in standard errors of 600 draws."""
    here, there = (float(row[f"{what}_{way}"]) for way in ("selection", "tally"))
    by = max(0.0, there - here if takes_selection(row) else here - there)
    return by, by / max(float(row[f"{what}_se"]), 1e-3)


# ---- exact losses ---------------------------------------------------------------------------------------------------


def flip_probabilities(scores: Floats, scale: float) -> Floats:
    """Exact chances of permute-and-flip, a row for each row of scores: p_i·∫₀¹ Π_{j ≠ i} (1 − x·p_j) dx."""
    p = np.exp((scores - scores.max(axis=1, keepdims=True)) / scale)
    rows, n = scores.shape
    chances = np.empty((rows, n))
    for i in range(n):
        powers = np.ones((rows, 1))
        for j in (j for j in range(n) if j != i):
            none = np.zeros((rows, 1))
            powers = np.hstack([powers, none]) - p[:, j : j + 1] * np.hstack([none, powers])
        chances[:, i] = p[:, i] * (powers / np.arange(1, n + 1)).sum(axis=1)
    return chances


def list_probabilities(scores: Floats, k: int, scale: float) -> Floats:
    """Exact chances of every ordered list of k rounds."""
    n, columns = scores.shape[1], []
    for order in permutations(range(n), k):
        left, chance = list(range(n)), np.ones(len(scores))
        for item in order:
            chance = chance * flip_probabilities(scores[:, left], scale)[:, left.index(item)]
            left.remove(item)
        columns.append(chance)
    return np.stack(columns, axis=1)


def changes(reach: Reach, rng: np.random.Generator, tries: int = 1000) -> Floats:
    """Changes of net wins between neighbours under `replace`: those farthest in random directions, and mixtures."""
    pairs, moves = list(combinations(range(reach.n), 2)), []
    for _ in range(tries):
        towards = rng.integers(-reach.n, 3, reach.n) * rng.integers(0, 2, reach.n) + rng.normal(size=reach.n) / 100
        by_gain = sorted(pairs, key=lambda pair: -abs(towards[pair[0]] - towards[pair[1]]))
        move = np.zeros(reach.n)
        for i, j in by_gain[: reach.votes] if reach.one_per_pair else by_gain[:1] * reach.votes:
            step = np.sign(towards[i] - towards[j])
            move[[i, j]] += step, -step
        moves.append(move)
    ends = np.unique(moves, axis=0)
    mixed = (ends[rng.integers(0, len(ends), 300)] + ends[rng.integers(0, len(ends), 300)]) / 2
    return np.unique(np.vstack([ends, mixed]), axis=0)


def loss() -> None:
    """The exact loss of k rounds, over ε, with R_k and with k·R; and ranges of what the others maximise, over R."""
    rng = np.random.default_rng(SEED)
    print("| n | L | one per pair | k | R | R_k | R_k by search | loss with R_k | with k·R | joint | sets by loss |"
          "\n|---|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    cases = ((4, 1, False), (4, 3, False), (4, 6, True), (4, 3, True), (5, 1, False), (5, 10, True), (5, 4, True))
    for n, votes, one in cases:
        reach = Reach(n, votes, one)
        moves = changes(reach, rng)
        for k in (1, 2, 3):
            most = -np.sort(-moves, axis=1)[:, :k].sum(axis=1) - k * moves.min(axis=1)
            far = moves[np.argsort(-most)[:40]]
            base = rng.normal(size=(200, n)) * reach.rounds(1) * rng.choice([0.5, 2, 6, 20], (200, 1))
            before, after = np.repeat(base, len(far), axis=0), (base[:, None] + far[None]).reshape(-1, n)
            measured = [worst_loss(before, after, k, scale) for scale in (reach.rounds(k), k * reach.rounds(1))]
            wide = [range_over_r(utility, moves, k, reach.rounds(1), rng) for utility in (joint_utility, set_utility)]
            print(f"| {n} | {votes} | {one} | {k} | {reach.rounds(1):g} | {reach.rounds(k):g} | {most.max():g} | "
                  f"{measured[0]:.4f} | {measured[1]:.4f} | {wide[0]:.3f} | {wide[1]:.3f} |", flush=True)  # fmt: skip


def worst_loss(before: Floats, after: Floats, k: int, scale: float) -> float:
    a, b = list_probabilities(before, k, scale), list_probabilities(after, k, scale)
    return float(np.abs(np.log(a) - np.log(b)).max())


def joint_utility(scores: Floats, k: int) -> Floats:
    lists = np.array(list(permutations(range(scores.shape[1]), k)))
    top = -np.sort(-scores, axis=1)[:, :k]
    return np.asarray(-(top[:, None, :] - scores[:, lists]).max(axis=2))


def set_utility(scores: Floats, k: int) -> Floats:
    items = set(range(scores.shape[1]))
    return np.stack([
        -np.maximum(0, scores[:, sorted(items - set(chosen))].max(axis=1) - scores[:, list(chosen)].min(axis=1))
        for chosen in combinations(sorted(items), k)
    ], axis=1)  # fmt: skip


def range_over_r(utility: Any, moves: Floats, k: int, r: float, rng: np.random.Generator) -> float:
    rows, n = 30_000, moves.shape[1]
    base = np.where(rng.random((rows, 1)) < 0.5, rng.normal(size=(rows, n)) * r, rng.integers(-3, 4, (rows, n)) * r)
    change = utility(base + moves[rng.integers(0, len(moves), rows)], k) - utility(base, k)
    return float(np.ptp(change, axis=1).max() / r)


def write(rows: Iterator[dict[str, Any]], path: str | None) -> None:
    with open(path, "w", newline="", encoding="utf-8") if path else sys.stdout as out:
        writer = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(out, row)
                writer.writeheader()
            writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("first", "compare", "clip", "kappa", "rule", "fresh", "judge", "loss"))
    parser.add_argument("files", nargs="*", help="what rule and fresh have written, for judge")
    parser.add_argument("--repetitions", type=int, default=600)
    parser.add_argument("--items", type=int, nargs="*", default=ITEMS)
    parser.add_argument("--out", help="a CSV file, for compare, rule and fresh")
    given = parser.parse_args()
    items = tuple(given.items)
    rows: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "compare": lambda: compare(given.repetitions, items), "rule": lambda: rule(given.repetitions, items),
        "fresh": lambda: rule(given.repetitions, items, fresh=True),
    }  # fmt: skip
    tables: dict[str, Callable[[], None]] = {
        "first": lambda: first(given.repetitions), "clip": lambda: clip(given.repetitions), "loss": loss,
        "judge": lambda: judge(given.files), "kappa": lambda: kappa(items),
    }  # fmt: skip
    if given.what in rows:
        write(rows[given.what](), given.out)
    else:
        tables[given.what]()


if __name__ == "__main__":
    main()
