"""Apache Spark of the tests' own, where pyspark and Java are there: a session in this process, or a cluster.

The session has two threads and no network. The cluster is a master and two workers, processes of their own on loopback,
of which one can be killed. A process has one Spark context at a time: a driver of the cluster is a process of its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.needed import die_with_parent, free_port, missing

HOST = "127.0.0.1"
PATIENCE = 120
"""seconds for a process to start; five to ten on a quiet machine"""


@contextmanager
def spark_session(folder: Path) -> Iterator[Any]:
    """A session in local mode, which keeps all its files below `folder`; its Java process ends with it."""
    _require_spark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("quietrank's tests")
    for name, value in (_quiet(folder) | {"spark.sql.shuffle.partitions": "2"}).items():
        builder = builder.config(name, value)
    with _environment(SPARK_LOCAL_IP=HOST):
        session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("OFF")
        yield session
    finally:
        session.stop()
        _end_java()


def _quiet(folder: Path) -> dict[str, str]:
    """Settings of every driver: no pages, nothing beyond loopback, no files outside the folder. Whether arithmetic is
    checked (ANSI) is left to the library, which must not rely on a setting of ours."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -Dderby.system.home={folder}",
    }


def _end_java() -> None:
    """Stopping a session leaves its Java process waiting for another one."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        process.wait(timeout=PATIENCE)
    SparkContext._gateway = SparkContext._jvm = None


def _require_spark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing("pyspark is not installed: it is in the extra spark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        missing("there is no Java on this machine (Debian's package openjdk-17-jre-headless)")


# ---- a cluster ------------------------------------------------------------------------------------------------------


@dataclass
class SparkCluster:
    """A master and its workers."""

    url: str
    """of the master: spark://…"""
    folder: Path
    """where all of its files are"""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self, number: int = 0) -> None:
        """As if its machine had gone: the worker and whatever it runs, at once."""
        _kill(self.workers[number])

    @property
    def settings(self) -> dict[str, str]:
        """For a driver: one core and little memory on each worker."""
        return _quiet(self.folder) | {
            "spark.master": self.url,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "spark.sql.shuffle.partitions": "4",
        }

    def drive(self, script: str, *words: str) -> subprocess.Popen[str]:
        """Start Python code as a driver; it finds a session of this cluster under the name `session`."""
        prologue = (
            "from pyspark.sql import SparkSession\n"
            f"session = SparkSession.builder.config(map={self.settings!r}).getOrCreate()\n"
            "session.sparkContext.setLogLevel('OFF')\n"
        )
        errors = (self.folder / "driver.log").open("wb")
        environment = {**os.environ, "SPARK_LOCAL_IP": HOST, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            [sys.executable, "-c", prologue + script, *words], stdout=subprocess.PIPE, stderr=errors, text=True,
            env=environment, cwd=self.folder, start_new_session=True, preexec_fn=die_with_parent,
        )  # fmt: skip

    def finish(self, driver: subprocess.Popen[str], seconds: float = 300) -> str:
        """What the driver printed, once it has ended; its complaint, if it failed."""
        try:
            printed, _ = driver.communicate(timeout=seconds)
        finally:
            _kill(driver)
        if driver.returncode:
            raise AssertionError(f"the driver failed:\n{(self.folder / 'driver.log').read_text()[-4000:]}")
        return printed

    def read_line(self, driver: subprocess.Popen[str]) -> str:
        """The next line that the driver prints; it fails if the driver ends before."""
        assert driver.stdout is not None
        if line := driver.stdout.readline():
            return line
        raise AssertionError(f"the driver has ended: {self.finish(driver)}")

    def wait_for(self, driver: subprocess.Popen[str], line: str) -> None:
        """Until the driver prints this line; it fails if the driver ends before."""
        while self.read_line(driver).strip() != line:
            pass


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A standalone cluster on loopback, one core and little memory for each worker; all of it ends afterwards."""
    _require_spark()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        port = free_port()
        cluster = SparkCluster(f"spark://{HOST}:{port}", folder)
        words = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
        processes.append(_start("master.Master", words, folder, "master"))
        _wait(lambda: _listens(port), "Spark's master does not start", folder / "master.log")
        for number in range(workers):
            words = ["--host", HOST, "--cores", "1", "--memory", "640m", "--webui-port", "0"]
            words += ["--work-dir", str(folder / f"worker-{number}"), cluster.url]
            cluster.workers.append(_start("worker.Worker", words, folder, f"worker-{number}"))
            processes.append(cluster.workers[-1])
        log = folder / "master.log"
        _wait(lambda: log.read_text().count("Registering worker") >= workers, "Spark's workers do not start", log)
        yield cluster
    finally:
        for process in reversed(processes):
            _kill(process)


def _start(name: str, words: list[str], folder: Path, log: str) -> subprocess.Popen[bytes]:
    """A process of Spark in a group of its own. pip's pyspark has no start scripts, but the class that they run."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_JAVA_OPTS": f"-Djava.io.tmpdir={folder}",
    }  # fmt: skip
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words]
    with (folder / f"{log}.log").open("wb") as output:
        return subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=environment, start_new_session=True,
            preexec_fn=die_with_parent,
        )  # fmt: skip


def _kill(process: subprocess.Popen[Any]) -> None:
    """The process and its group, which it leads."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _wait(ready: Callable[[], bool], complaint: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > until:
            raise AssertionError(f"{complaint}:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.1)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Variables that are set for a moment."""
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
