"""A Spark session of the tests' own, on this machine, where Spark and Java are installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def session() -> Iterator[Any]:
    """An Ibis connection to a new session on two cores, in ANSI mode."""
    ibis = pytest.importorskip("ibis")
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java on this machine, which Spark runs on (Debian's package openjdk-17-jre-headless)")
    settings = {
        "spark.sql.ansi.enabled": "true", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
    }  # fmt: skip
    builder = pyspark.sql.SparkSession.builder.master("local[2]").appName("quietrank")
    spark = builder.config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield ibis.pyspark.connect(spark)
    finally:
        spark.stop()
