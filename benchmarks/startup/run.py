"""`quietrank --help` as a ratio to `python -c "import typer, rich"`, best of several runs each, interleaved."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

REPEAT, ALLOWED = 15, 4.0
COMMANDS = {
    "import typer, rich": [sys.executable, "-c", "import typer, rich"],
    "quietrank --help": [str(Path(sys.executable).parent / "quietrank"), "--help"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEAT):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    imports, help_ = (min(found) for found in times.values())
    print(f"import typer, rich {imports:.3f} s, quietrank --help {help_:.3f} s: ratio {help_ / imports:.2f}", end=" ")
    print(f"(allowed {ALLOWED:g})")


if __name__ == "__main__":
    main()
