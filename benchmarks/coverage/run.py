"""Surveys and simulated people in; how often intervals, rank sets and probabilities hold out, as tables.

    real       the respondents of two surveys are the population: samples of them, released again and again
    simulated  people who answer by a model, with every mechanism, unit and method
    equal      all items are equal: how often items are told apart nevertheless
    first      how often items come first that were said to be first with a given probability

Usage: .venv/bin/python -m benchmarks.coverage.run [--parts real,simulated,equal,first] [--processes 2]
           [--repetitions R] [--items 6,20,100] [--resume] [--tables-only]

It writes results.csv beside it and the tables of docs/uncertainty.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers are as many as the cores

import numpy as np

from quietrank.arrays import Floats
from quietrank.promise.privacy import Privacy, Unit
from quietrank.statistics.method import Method
from tests.people import (
    Coverage,
    Known,
    Population,
    Setting,
    certainty,
    coverage,
    false_separations,
    interval_coverage,
    respondents,
    simulated,
)

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS, PAGE = HERE / "results.csv", ROOT / "docs" / "uncertainty.md"

SURVEYS = {
    "CEMS": (ROOT / "src" / "quietrank" / "data" / "cems.csv", "person"),
    "immigration": (ROOT.parent / "shared" / "data" / "immigration.csv", "user"),
}
SIZES = {6: (300, 10), 20: (500, 20), 100: (1000, 40)}
"""items: people in a sample, votes of each"""
POPULATION = 4000
EPSILONS, SPREADS = (0.5, 1.0, 4.0), (0.6, 1.5)
METHODS = (Method.NET_WINS, Method.WIN_RATE, Method.BRADLEY_TERRY)
INDEPENDENT, TASTES, UNEQUAL = "independent", "own tastes", "unequal"
FEW, MANY, LIMIT = 3, 100, 10
"""votes of four people in five and of the fifth, where these are unequal; and L"""

REPETITIONS = {"real": 300, "simulated": 400, "equal": 600, "first": 600}
BINS = 10
LEAST_ENTRIES = 200
"""bins with fewer are not shown"""


@dataclass(frozen=True)
class Cell:
    """One setting, to be measured."""

    part: str
    data: str
    items: int
    people: int
    unit: str
    mechanism: str
    method: str
    design: str
    epsilon: float
    spread: float
    """the standard deviation of true scores; 0 where it does not matter"""
    repetitions: int

    @property
    def name(self) -> tuple[str, ...]:
        return tuple(str(value) for value in astuple(self)[:-1])

    @property
    def seed(self) -> int:
        """Its own, so that what is high or low by chance is so in one cell only."""
        return zlib.crc32(" ".join(self.name).encode())

    def privacy(self) -> Privacy:
        options: dict[str, object] = {"design": self.design, "unit": self.unit}
        if self.design == "public":
            options["neighbours"] = "outcome"
        if self.unit == Unit.PERSON:
            pairs_once = self.part == "real" or self.mechanism == "zonotope"
            limit = LIMIT if self.data == UNEQUAL else SIZES.get(self.items, (0, 0))[1]
            options |= {"one_per_pair": True} if pairs_once else {"max_per_person": limit}
        if self.mechanism == "gaussian":
            options["delta"] = 1e-6
        return Privacy(self.epsilon, **options)  # type: ignore[arg-type]

    def setting(self, population: Population) -> Setting:
        return Setting(population, self.people, self.privacy(), Method(self.method), self.mechanism)


Measures = dict[str, float]


# ---- the cells ------------------------------------------------------------------------------------------------------


def cells(part: str, repetitions: int, items: tuple[int, ...]) -> list[Cell]:
    """Every setting of a part."""
    listed = {"real": _real, "simulated": _simulated, "equal": _equal, "first": _first}[part]
    return [replace(cell, part=part, repetitions=repetitions) for cell in listed() if cell.items in (0, *items)]


def _cell(data: str, items: int, method: Method, design: str, epsilon: float, **others: object) -> Cell:
    people = SIZES[items][0] if items else 0
    usual = Cell("", data, items, people, "person", "laplace", method.value, design, epsilon, 0.0, 0)
    return replace(usual, **others)  # type: ignore[arg-type]


def _real() -> Iterator[Cell]:
    for survey, (path, _) in SURVEYS.items():
        if not path.exists():
            print(f"{survey} is left out: there is no {path}")
            continue
        for people in (100, 300):
            for epsilon in EPSILONS:
                for method in METHODS:
                    # Net wins are the same under either design.
                    for design in ("uniform",) if method is Method.NET_WINS else ("uniform", "private"):
                        yield _cell(survey, 0, method, design, epsilon, people=people, mechanism="auto")


def _simulated() -> Iterator[Cell]:
    for items in SIZES:
        for data in (INDEPENDENT, TASTES, UNEQUAL):
            for spread in SPREADS:
                for unit, mechanism, method, design in _kinds(items, data, public=spread == SPREADS[0]):
                    for epsilon in EPSILONS:
                        yield _cell(data, items, method, design, epsilon, unit=unit, mechanism=mechanism, spread=spread)


def _kinds(items: int, data: str, *, public: bool) -> Iterator[tuple[str, str, Method, str]]:
    """Unit, mechanism, method and design; public designs only where asked for, because they take long."""
    for unit in ("person", "comparison") if data == INDEPENDENT else ("person",):
        designs = ("uniform", "private", *(("public",) if public and unit == "person" else ()))
        yield unit, "laplace", Method.NET_WINS, "uniform"
        yield from ((unit, "laplace", method, design) for method in METHODS[1:] for design in designs)
        if items <= 20:
            yield unit, "perturbed-mle", Method.BRADLEY_TERRY, "private"
    if items <= 20:
        yield "person", "zonotope", Method.NET_WINS, "uniform"
        yield from (("person", "zonotope", method, design) for method in METHODS[1:] for design in designs[:2])
    yield from (("person", "gaussian", method, design) for method in METHODS[1:] for design in ("uniform", "private"))


def _equal() -> Iterator[Cell]:
    for items in (6, 20):
        for epsilon in (1.0, 4.0):
            for method in METHODS:
                yield _cell(TASTES, items, method, "uniform", epsilon)


def _first() -> Iterator[Cell]:
    for items in (6, 20):
        for epsilon in (1.0, 4.0):
            for spread in (0.15, 0.5):
                for method in (Method.NET_WINS, Method.BRADLEY_TERRY):
                    yield _cell(TASTES, items, method, "uniform", epsilon, spread=spread)


# ---- measuring ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def survey(name: str) -> Population:
    path, person = SURVEYS[name]
    return respondents(path, person)


@lru_cache(maxsize=2)
def people_like(data: str, items: int, spread: float) -> Population:
    """A population of this kind, the same one for every mechanism and method."""
    rng = np.random.default_rng((items, int(10 * spread)))
    theta = rng.normal(size=items)
    theta = (theta - theta.mean()) / theta.std() * spread
    return simulated(rng, theta, _votes(data, items), 0.0 if data == INDEPENDENT else 1.0)


def _votes(data: str, items: int) -> list[int]:
    if data == UNEQUAL:
        return [MANY if k % 5 == 0 else FEW for k in range(POPULATION)]
    return [SIZES[items][1]] * POPULATION


def measure(cell: Cell) -> Measures:
    """Named figures of a cell."""
    measured_by: dict[str, Callable[[Cell], Measures]] = {
        "real": measure_real, "simulated": measure_simulated, "equal": measure_equal, "first": measure_first
    }  # fmt: skip
    return measured_by[cell.part](cell)


def measure_real(cell: Cell) -> Measures:
    figures: Measures = {}
    ways = list(Known) if cell.epsilon == max(EPSILONS) else [Known.BOUGHT]
    setting = cell.setting(survey(cell.data))
    for way, held in zip(ways, coverage(setting, cell.repetitions, cell.seed, ways), strict=True):
        figures |= {f"{way}: {name}": value for name, value in _figures(held).items()}
    return figures


def _figures(held: Coverage) -> Measures:
    error = float(held.held.mean(axis=1).std() / np.sqrt(len(held.held)))
    figures = {"mean": held.mean, "error": error, "worst": held.worst}
    others = {"rank width": held.rank_width, "rank held": held.rank_held, "factor": held.factor}
    return figures | {name: value for name, value in others.items() if not np.isnan(value)}


def measure_simulated(cell: Cell) -> Measures:
    setting = cell.setting(people_like(cell.data, cell.items, cell.spread))
    (held,) = interval_coverage(setting.with_usual_gamma(np.random.default_rng(0)), cell.repetitions, cell.seed)
    return _figures(held)


def measure_equal(cell: Cell) -> Measures:
    population = people_like(cell.data, cell.items, 0.0).with_mirror_images()
    setting = cell.setting(population).with_usual_gamma(np.random.default_rng(0))
    one_item, any_item, wider = false_separations(setting, cell.repetitions, cell.seed)
    return {"one item": one_item, "any item": any_item, "wider": wider}


def measure_first(cell: Cell) -> Measures:
    """By bins of the stated probability: how many entries, their mean, and the share that is first in truth."""
    stated, true = _firsts(cell)
    figures: Measures = {}
    place = np.minimum((stated * BINS).astype(int), BINS - 1)
    for k in range(BINS):
        within = place == k
        figures[f"{k}: entries"] = float(within.sum())
        if within.any():
            figures |= {f"{k}: stated": float(stated[within].mean()), f"{k}: true": float(true[within].mean())}
    return figures


def _firsts(cell: Cell) -> tuple[Floats, Floats]:
    """For every item of every release the probability of being first, and whether it is; scores and people are new
    each time."""
    rng = np.random.default_rng(cell.seed)
    stated, true, (m, votes) = [], [], SIZES[cell.items]
    setting = cell.setting(people_like(cell.data, cell.items, cell.spread)).with_usual_gamma(rng)
    for _ in range(cell.repetitions):
        theta = rng.normal(0, cell.spread, cell.items)
        fresh = replace(setting, population=simulated(rng, theta, [votes] * m, tastes=1.0))
        stated.append(certainty(*fresh.release_of(np.ones(m), rng)).first)
        true.append(theta == theta.max())
    return np.concatenate(stated), np.concatenate(true).astype(float)


# ---- running --------------------------------------------------------------------------------------------------------

Row = tuple[str, ...]
COLUMNS = (*(field.name for field in fields(Cell)), "measure", "value")


def rows_of(cell: Cell, figures: Measures) -> list[Row]:
    return [(*cell.name, str(cell.repetitions), name, f"{value:.4f}") for name, value in figures.items()]


def run(todo: list[Cell], processes: int) -> None:
    """Measure the cells and append what comes out, as it comes."""
    started, fresh = time.monotonic(), not RESULTS.exists()
    with RESULTS.open("a", encoding="utf-8", newline="") as stream, ProcessPoolExecutor(processes) as pool:
        writer = csv.writer(stream, lineterminator="\n")
        if fresh:
            writer.writerow(COLUMNS)
        jobs = {pool.submit(measure, cell): cell for cell in todo}
        for done, job in enumerate(as_completed(jobs), 1):
            cell, figures = jobs[job], job.result()
            writer.writerows(rows_of(cell, figures))
            stream.flush()
            shown = ", ".join(f"{name} {value:.3f}" for name, value in list(figures.items())[:3])
            print(f"{done}/{len(jobs)}, {time.monotonic() - started:.0f} s: {' '.join(cell.name)}: {shown}", flush=True)


def results() -> dict[Cell, Measures]:
    """All that was measured, in the order of the cells."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    measured: dict[Cell, Measures] = {}
    kinds = {"items": int, "people": int, "repetitions": int, "epsilon": float, "spread": float}
    for row in rows:
        cell = Cell(**{field.name: kinds.get(field.name, str)(row[field.name]) for field in fields(Cell)})
        measured.setdefault(cell, {})[row["measure"]] = float(row["value"])
    place = {cell.name: k for k, cell in enumerate(c for part in REPETITIONS for c in cells(part, 0, tuple(SIZES)))}
    return dict(sorted(measured.items(), key=lambda pair: place.get(pair[0].name, len(place))))


def write_results(measured: dict[Cell, Measures]) -> None:
    with RESULTS.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for cell, figures in measured.items():
            writer.writerows(rows_of(cell, figures))


# ---- tables ---------------------------------------------------------------------------------------------------------


def table(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    header = list(header)
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def percent(value: float) -> str:
    return f"{100 * value:.0f}"


def _part(measured: dict[Cell, Measures], part: str) -> dict[Cell, Measures]:
    return {cell: figures for cell, figures in measured.items() if cell.part == part}


def _groups(measured: dict[Cell, Measures], *names: str) -> dict[tuple[str, ...], dict[Cell, Measures]]:
    """Cells that agree in these fields, together."""
    groups: dict[tuple[str, ...], dict[Cell, Measures]] = {}
    for cell, figures in measured.items():
        groups.setdefault(tuple(str(getattr(cell, name)) for name in names), {})[cell] = figures
    return groups


def repetitions(measured: dict[Cell, Measures]) -> str:
    numbers = sorted({cell.repetitions for cell in measured})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def real_table(measured: dict[Cell, Measures]) -> str:
    """Mean coverage (worst place), and the mean width of rank sets, by ε."""
    lines = []
    for names, group in _groups(_part(measured, "real"), "data", "people", "method", "design").items():
        by_epsilon = {cell.epsilon: figures for cell, figures in group.items()}
        lines.append([*names, *(_held(by_epsilon.get(epsilon, {}), Known.BOUGHT) for epsilon in EPSILONS)])
    return table(["survey", "people", "method", "design", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)], lines)


def _held(figures: Measures, way: Known) -> str:
    if not figures:
        return "–"
    mean, worst, width = (figures[f"{way}: {name}"] for name in ("mean", "worst", "rank width"))
    return f"{percent(mean)} ({percent(worst)}), {width:.1f}"


def ways_table(measured: dict[Cell, Measures]) -> str:
    """What knowing the scatter is worth, where there is little noise."""
    of_interest = {cell: figures for cell, figures in _part(measured, "real").items() if cell.epsilon == max(EPSILONS)}
    lines = [
        [cell.data, str(cell.people), cell.method, cell.design, *(_held(figures, way) for way in Known)]
        for cell, figures in of_interest.items()
    ]
    return table(["survey", "people", "method", "design", *Known], lines)


def simulated_table(measured: dict[Cell, Measures]) -> str:
    """By mechanism: mean coverage from the lowest to the highest of its cells, and the lowest at any place."""
    lines = []
    for names, group in _groups(_part(measured, "simulated"), "items", "data", "unit", "mechanism").items():
        by_method = _groups(group, "method")
        lines.append([*names, repetitions(group), *(_range(by_method.get((method.value,), {})) for method in METHODS)])
    return table(["items", "people", "unit", "mechanism", "repetitions", *(method.value for method in METHODS)], lines)


def _range(group: dict[Cell, Measures]) -> str:
    if not group:
        return "–"
    means, worst = [figures["mean"] for figures in group.values()], min(figures["worst"] for figures in group.values())
    return f"{percent(min(means))} to {percent(max(means))} ({percent(worst)})"


def equal_table(measured: dict[Cell, Measures]) -> str:
    lines = [
        [str(cell.items), f"{cell.epsilon:g}", cell.method, *(f"{100 * figures[name]:.1f}" for name in SEPARATIONS)]
        for cell, figures in _part(measured, "equal").items()
    ]
    return table(
        ["items", "ε", "method", "a given item, %", "any item, all sets together, %", "stepwise wider, %"], lines
    )


SEPARATIONS = ("one item", "any item", "wider")


def first_table(measured: dict[Cell, Measures]) -> str:
    """All settings together: entries, the mean stated probability and the share that is first."""
    lines = []
    for k in range(BINS):
        entries, stated, true = _pooled(_part(measured, "first").values(), k)
        if entries >= LEAST_ENTRIES:
            lines.append([f"{k / BINS:g} to {(k + 1) / BINS:g}", f"{entries:.0f}", f"{stated:.3f}", f"{true:.3f}"])
    return table(["stated", "entries", "mean stated", "first in truth"], lines)


def _pooled(figures: Iterable[Measures], k: int) -> tuple[float, float, float]:
    known = [one for one in figures if one.get(f"{k}: entries")]
    weights = np.array([one[f"{k}: entries"] for one in known])
    if not known:
        return 0.0, 0.0, 0.0
    stated, true = (np.array([one[f"{k}: {name}"] for one in known]) for name in ("stated", "true"))
    return float(weights.sum()), float(weights @ stated / weights.sum()), float(weights @ true / weights.sum())


TABLES = {
    "real": real_table, "ways": ways_table, "simulated": simulated_table, "equal": equal_table, "first": first_table
}  # fmt: skip


def with_tables(page: str, measured: dict[Cell, Measures]) -> str:
    """The page, with what stands between its markers written anew."""
    for name, made in TABLES.items():
        before, rest = page.split(f"<!-- table: {name} -->\n")
        _, after = rest.split("<!-- end -->", 1)
        page = f"{before}<!-- table: {name} -->\n{made(measured)}\n<!-- end -->{after}"
    return page


def doubtful(measured: dict[Cell, Measures]) -> Iterator[str]:
    """Cells whose coverage is out of range by more than chance: two standard errors, three at the worst place."""
    for cell, figures in measured.items():
        prefix = f"{Known.BOUGHT}: " if cell.part == "real" else ""
        if f"{prefix}mean" not in figures:
            continue
        mean, error, worst = (figures[f"{prefix}{name}"] for name in ("mean", "error", "worst"))
        by_chance = 3 * np.sqrt(0.78 * 0.22 / cell.repetitions)
        if not 0.86 - 2 * error <= mean <= 0.96 + 2 * error or worst < 0.78 - by_chance:
            yield f"{' '.join(cell.name)}: mean {mean:.3f} ± {error:.3f}, worst {worst:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(REPETITIONS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repetitions", type=int, help="instead of those of each part")
    parser.add_argument("--items", default="6,20,100")
    parser.add_argument("--resume", action="store_true", help="keep what results.csv has")
    parser.add_argument("--tables-only", action="store_true")
    options = parser.parse_args()
    if not (options.resume or options.tables_only):
        RESULTS.unlink(missing_ok=True)
    done = {cell.name for cell in results()}
    items = tuple(int(word) for word in options.items.split(","))
    todo = [
        cell
        for part in options.parts.split(",")
        for cell in cells(part, options.repetitions or REPETITIONS[part], items)
    ]
    if not options.tables_only:
        run([cell for cell in todo if cell.name not in done], options.processes)
    measured = results()
    write_results(measured)
    if PAGE.exists():
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
    for line in doubtful(measured):
        print("out of range:", line)


if __name__ == "__main__":
    main()
