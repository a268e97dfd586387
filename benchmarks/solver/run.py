"""Integer vote arrays of four shapes in; a table of solver times and errors, ours and four peers', out.

    make peers
    build/peers/bin/python -m benchmarks.solver.run [--shapes abcd] [--solvers ours,evalica,...] [--repeat 3]

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
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SECONDS, GIGABYTES = 120, 8
WRONG = 1e-3  # a score this far from the minimiser of the solver's own objective is a wrong answer
SHAPES = {"a": (200, 2_000_000), "b": (10_000, 1_000_000), "c": (100_000, 5_000_000), "d": (2_000, 1_000_000)}
SOLVERS = ("ours", "ours-mle", "evalica", "choix", "arena-rank", "scikit-learn", "scikit-learn*")
RIDGE = {"ours": 1.0, "scikit-learn": 1.0, "scikit-learn*": 1.0}  # the others maximise the plain likelihood: ridge 0
NUMBERS = ("seconds", "seconds ratio", "cpu", "cpu ratio", "GB", "error")
QUICK = 5  # seconds
Votes = tuple[np.ndarray, np.ndarray, int]
Row = dict[str, Any]
Truth = dict[float, tuple[np.ndarray, float]]


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
    """One row per pair and outcome, weighted by its count, aggregated with NumPy."""
    key, count = np.unique(winner * n + loser, return_counts=True)
    won, lost = key // n, key % n
    return logistic_regression(np.minimum(won, lost), np.maximum(won, lost), won < lost, count, n)


def scikit_learn_kindly(winner: np.ndarray, loser: np.ndarray, n: int) -> np.ndarray:
    """The same on pairs aggregated by us, which a user of scikit-learn does not have."""
    from quietrank.maths.pairs import aggregate

    p = aggregate(winner, loser, n)
    weight, i, j = np.concatenate([p.wins_i, p.wins_j]), np.tile(p.i, 2), np.tile(p.j, 2)
    keep = np.flatnonzero(weight)
    return logistic_regression(i[keep], j[keep], keep < len(p.i), weight[keep], n)


def logistic_regression(i: np.ndarray, j: np.ndarray, first: np.ndarray, weight: np.ndarray, n: int) -> np.ndarray:
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    columns, m = np.column_stack([i, j]).ravel(), len(i)
    rows = csr_matrix((np.tile([1.0, -1.0], m), columns, np.arange(0, 2 * m + 1, 2)), shape=(m, n))
    model = LogisticRegression(C=1.0, fit_intercept=False, solver="newton-cg", tol=1e-12, max_iter=1000)
    return np.asarray(model.fit(rows, first.astype(int), sample_weight=weight).coef_[0])


RUN: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "ours": ours,
    "ours-mle": ours_mle,
    "evalica": evalica,
    "choix": choix,
    "arena-rank": arena_rank,
    "scikit-learn": scikit_learn,
    "scikit-learn*": scikit_learn_kindly,
}


def child(solver: str, shape: str, repeat: int, out: Path) -> None:
    """Time one solver on one shape: the best of `repeat` or of 3 s, whichever is more; a tiny fit comes before."""
    winner, loser, n = votes(shape)
    small = np.array([0, 1, 2, 1, 2, 0]), np.array([1, 2, 0, 0, 1, 2])
    RUN[solver](*small, 3)
    times, used, said = [], [], ""
    while (len(times) < repeat or sum(times) < 3) and sum(times) < 20:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start, cpu = time.perf_counter(), time.process_time()
            scores = RUN[solver](winner, loser, n)
            times.append(time.perf_counter() - start)
            used.append(time.process_time() - cpu)
        said = "; ".join(sorted({str(w.message)[:60] for w in caught if "onverg" in str(w.message)}))
    np.save(out, scores - scores.mean())
    print(json.dumps({"seconds": min(times), "cpu": min(used), "said": said}))


def resident(pid: int) -> float:
    """Gigabytes of resident memory."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 2**20


def limited(solver: str, shape: str, repeat: int, out: Path) -> Row:
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
            return {"stopped": f"more than {SECONDS} s" if late else f"more than {GIGABYTES} GB", "GB": peak}
        time.sleep(0.02)
    output, errors = process.communicate()
    if process.returncode != 0:
        return {"stopped": reason(errors), "GB": peak}
    return {**json.loads(output.splitlines()[-1]), "GB": peak}


def reason(errors: str) -> str:
    """The line of a traceback that tells most."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()] or ["killed"]
    telling = [line for line in lines if "emory" in line or "alloc" in line or "capacity" in line]
    return (telling or lines)[-1][:80]


def truth(shape: str) -> Truth:
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


def remark(row: Row) -> str:
    if "stopped" in row:
        return f"stopped: {row['stopped']}"
    if row["said"]:
        return f"warned: {row['said']}"
    return "WRONG, without saying so" if row["error"] > WRONG else ""


def measure(solver: str, shape: str, repeat: int, exact: Truth) -> Row:
    """One child, with the distance of its scores from the minimiser of its own objective."""
    scores, bound = exact[RIDGE.get(solver, 0.0)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.npy"
        row: Row = {"shape": shape, "solver": solver, **limited(solver, shape, repeat, out)}
        if "stopped" not in row:
            found = np.load(out)
            row["error"] = float(np.abs(found - scores).max()) if len(found) == len(scores) else np.inf
            if solver.startswith("ours"):
                row["error"] = max(row["error"], bound)
    return {**row, "remark": remark(row)}


def shape_rows(shape: str, solvers: list[str], repeat: int, rounds: int) -> list[Row]:
    """All solvers on one shape; the quick ones in several rounds, so that a busy moment hits none of them alone."""
    exact = truth(shape)
    rows = {solver: measure(solver, shape, repeat, exact) for solver in solvers}
    for _ in range(rounds - 1):
        for solver in solvers:
            if rows[solver].get("seconds", SECONDS) < QUICK:
                again = measure(solver, shape, repeat, exact)
                for key in ("seconds", "cpu"):
                    rows[solver][key] = min(rows[solver][key], again.get(key, np.inf))
    for solver, row in rows.items():
        base = rows.get("ours" if RIDGE.get(solver) else "ours-mle", {})
        for key in ("seconds", "cpu"):
            if key in row and key in base:
                row[f"{key} ratio"] = row[key] / base[key]
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="abcd")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    args = parser.parse_args()
    if args.child:
        return child(*args.child, args.repeat, args.out)
    rows: list[Row] = []
    print("shape solver          " + "".join(f"{name:>14}" for name in NUMBERS) + "  remark")
    for shape in args.shapes:
        for row in shape_rows(shape, args.solvers.split(","), args.repeat, args.rounds):
            numbers = "".join(f"{row[name]:>14.3g}" if name in row else f"{'-':>14}" for name in NUMBERS)
            print(f"{shape:5} {row['solver']:16}{numbers}  {row['remark']}", flush=True)
            rows.append(row)
    fit, errors = interval_times()
    print(f"standard errors on (a): {errors:.4f} s after a fit of {fit:.4f} s, ratio {errors / fit:.2f}")
    rows.append({"shape": "a", "solver": "standard errors", "seconds": errors, "seconds ratio": errors / fit})
    with args.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["shape", "solver", *NUMBERS, "remark"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
