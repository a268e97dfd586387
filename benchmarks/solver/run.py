"""Integer vote arrays of four shapes in; a table of solver times and errors, ours and four peers', out.

    pip install -e '.[bench]'
    python benchmarks/solver/run.py [--shapes abcd] [--solvers ours,evalica,...] [--repeat 3]

Every (solver, shape) runs in a process of its own, under a limit of 120 s and 8 GB of resident memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SECONDS, GIGABYTES = 120, 8
WRONG = 1e-3  # a score this far from the minimiser of the solver's own objective is a wrong answer
SHAPES = {"a": (200, 2_000_000), "b": (10_000, 1_000_000), "c": (100_000, 5_000_000), "d": (2_000, 1_000_000)}
SOLVERS = ("ours", "ours-mle", "evalica", "choix", "arena-rank", "scikit-learn")
RIDGE = {"ours": 1.0, "scikit-learn": 1.0}  # the others maximise the plain likelihood: ridge 0
Votes = tuple[np.ndarray, np.ndarray, int]


def votes(shape: str) -> Votes:
    """Winners, losers and the number of items; on (d) an item only meets the five above and below it."""
    n, m = SHAPES[shape]
    rng = np.random.default_rng(ord(shape))
    strength = rng.normal(0, 0.7, n)
    i = rng.integers(0, n, m) if shape != "d" else rng.integers(0, n - 5, m)
    j = (i + rng.integers(1, n, m)) % n if shape != "d" else i + rng.integers(1, 6, m)
    first = rng.random(m) < 1 / (1 + np.exp(strength[j] - strength[i]))
    return np.where(first, i, j), np.where(first, j, i), n


def ours(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    from quietrank.estimators import fit_arrays

    return fit_arrays(winner, loser, n, ridge=1.0).scores


def ours_mle(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    from quietrank.estimators import fit_arrays

    return fit_arrays(winner, loser, n, ridge=0.0).scores


def evalica(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    import evalica as peer
    import pandas as pd

    index = pd.RangeIndex(n)  # spares it finding out the items
    scores = peer.bradley_terry(winner, loser, [peer.Winner.X] * len(winner), index=index).scores
    return np.log(scores.loc[np.arange(n)].to_numpy())


def choix(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    import choix as peer

    wins = np.bincount(winner * n + loser, minlength=n * n).reshape(n, n).astype(float)
    return np.asarray(peer.ilsr_pairwise_dense(wins))


def arena_rank(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    frame = pd.DataFrame({"model_a": winner, "model_b": loser, "winner": np.ones(len(winner))})
    data = PairDataset.from_pandas(frame, outcome_map=float)
    model = BradleyTerry(n_competitors=len(data.competitors))
    model.fit(data)
    return np.asarray(model.params["ratings"])


def scikit_learn(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    """On pairs aggregated by us, which is the kindest: one row per pair and outcome, weighted by its count."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    from quietrank.estimators.pairs import aggregate

    pairs = aggregate(winner, loser, n)
    m = len(pairs.i)
    columns = np.tile(np.column_stack([pairs.i, pairs.j]).ravel(), 2)
    rows = csr_matrix((np.tile([1.0, -1.0], 2 * m), columns, np.arange(0, 4 * m + 1, 2)), shape=(2 * m, n))
    outcome, weight = np.repeat([1, 0], m), np.concatenate([pairs.wins_i, pairs.wins_j])
    keep = np.flatnonzero(weight)
    model = LogisticRegression(C=1.0, fit_intercept=False, solver="newton-cg", tol=1e-12, max_iter=1000)
    return model.fit(rows[keep], outcome[keep], sample_weight=weight[keep]).coef_[0]


RUN: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "ours": ours,
    "ours-mle": ours_mle,
    "evalica": evalica,
    "choix": choix,
    "arena-rank": arena_rank,
    "scikit-learn": scikit_learn,
}


def child(solver: str, shape: str, repeat: int, out: Path) -> None:
    """Time one solver on one shape: the best of `repeat` or of 3 s, whichever is more; a tiny fit comes before."""
    winner, loser, n = votes(shape)
    small = np.array([0, 1, 2, 1, 2, 0]), np.array([1, 2, 0, 0, 1, 2])
    RUN[solver](*small, 3)
    times, said = [], ""
    while (len(times) < repeat or sum(times) < 3) and sum(times) < 20:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            scores = RUN[solver](winner, loser, n)
            times.append(time.perf_counter() - start)
        said = "; ".join(sorted({str(w.message)[:60] for w in caught if "onverg" in str(w.message)}))
    np.save(out, scores - scores.mean())
    print(json.dumps({"seconds": min(times), "said": said}))


def resident(pid: int) -> float:
    """Gigabytes of resident memory."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 2**20


def limited(solver: str, shape: str, repeat: int, out: Path) -> dict[str, object]:
    """Run a child; its answer, or why it was stopped."""
    command = [sys.executable, __file__, "--child", solver, shape, "--repeat", str(repeat), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    start, peak = time.perf_counter(), 0.0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        late = time.perf_counter() - start > SECONDS
        if late or peak > GIGABYTES:
            process.kill()
            process.communicate()
            return {"stopped": f"more than {SECONDS} s" if late else f"more than {GIGABYTES} GB", "peak": peak}
        time.sleep(0.02)
    output, errors = process.communicate()
    if process.returncode != 0:
        return {"stopped": (errors.strip().splitlines() or ["killed"])[-1][:70], "peak": peak}
    return {**json.loads(output.splitlines()[-1]), "peak": peak}


def truth(shape: str) -> dict[float, tuple[np.ndarray, float]]:
    """For ridge 1 and 0: the minimiser and the bound of its error."""
    from quietrank.estimators import fit_arrays

    fits = {ridge: fit_arrays(*votes(shape), ridge=ridge) for ridge in (1.0, 0.0)}
    return {ridge: (fit.scores, fit.solution.error_bound) for ridge, fit in fits.items()}


def interval_times(repeat: int = 5) -> tuple[float, float]:
    """Shape (a): seconds for the fit from votes, and for the standard errors after it."""
    from quietrank.estimators import fit_arrays

    fits, errors = [], []
    data = votes("a")
    for _ in range(repeat):
        start = time.perf_counter()
        fit = fit_arrays(*data, ridge=1.0)
        middle = time.perf_counter()
        _ = fit.standard_errors
        fits.append(middle - start)
        errors.append(time.perf_counter() - middle)
    return min(fits), min(errors)


def describe(row: dict[str, object]) -> str:
    if "stopped" in row:
        return f"stopped: {row['stopped']}"
    if row["said"]:
        return f"warned: {row['said']}"
    return "WRONG, without saying so" if float(str(row["error"])) > WRONG else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="abcd")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    args = parser.parse_args()
    if args.child:
        return child(*args.child, args.repeat, args.out)
    rows = []
    print(f"{'shape':5} {'solver':13} {'seconds':>9} {'ratio':>7} {'GB':>5} {'error':>8}  remark")
    for shape in args.shapes:
        exact = truth(shape)
        base: dict[float, float] = {}
        for solver in args.solvers.split(","):
            ridge = RIDGE.get(solver, 0.0)
            with tempfile.TemporaryDirectory() as folder:
                row = limited(solver, shape, args.repeat, Path(folder) / "scores.npy")
                if "stopped" not in row:
                    scores = np.load(Path(folder) / "scores.npy")
                    if len(scores) == len(exact[ridge][0]):
                        gap = float(np.abs(scores - exact[ridge][0]).max())
                    else:
                        gap = np.inf  # items are missing
                    row["error"] = max(gap, exact[ridge][1]) if solver.startswith("ours") else gap
                    if solver.startswith("ours"):
                        base[ridge] = float(str(row["seconds"]))
            row |= {"shape": shape, "solver": solver, "remark": describe(row)}
            if "seconds" in row and ridge in base:
                row["ratio"] = float(str(row["seconds"])) / base[ridge]
            rows.append(row)
            show = [f"{float(str(row[k])):.{d}g}" if k in row else "-" for k, d in
                    (("seconds", 3), ("ratio", 3), ("peak", 2), ("error", 2))]  # fmt: skip
            print(
                f"{shape:5} {solver:13} {show[0]:>9} {show[1]:>7} {show[2]:>5} {show[3]:>8}  {row['remark']}",
                flush=True,
            )
    fit, errors = interval_times()
    print(f"standard errors on (a): {errors:.4f} s after a fit of {fit:.4f} s, ratio {errors / fit:.2f}")
    rows.append({"shape": "a", "solver": "standard errors", "seconds": errors, "ratio": errors / fit})
    names = ["shape", "solver", "seconds", "ratio", "peak", "error", "remark"]
    with args.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
