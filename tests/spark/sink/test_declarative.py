"""The example of Spark Declarative Pipelines, run by Spark's own command."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

import streamlog
from py.support.broker import BrokerProcess
from spark.sink.query import counted

EXAMPLE = Path(__file__).parents[3] / "examples" / "declarative"
PROGRAMS = Path(sys.executable).parent


def test_a_topic_becomes_a_table_and_a_view_and_what_is_large_goes_to_a_topic(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "declarative"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "spark-pipeline.yml"
    shown = spec.read_text()
    spec.write_text(shown.replace("/tmp/orders-storage", str(tmp_path / "storage")))
    assert spec.read_text() != shown
    with BrokerProcess(tmp_path / "data") as broker, streamlog.connect(broker.address) as client:
        for name in ("orders", "large-orders"):
            client.admin.create_topic(name, partitions=2)
        with client.producer() as producer:
            for number in range(150):
                producer.send("orders", b'{"amount": %d}' % number, key=b"c%d" % (number % 3))
        done = subprocess.run(
            [PROGRAMS / "spark-pipelines", "run"],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
                "PYSPARK_PYTHON": sys.executable,
                "STREAMLOG_BOOTSTRAP": broker.address,
            },
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        large = Counter(b'{"amount":%d}' % number for number in range(100, 150))
        assert counted(client, "large-orders") == large
    totals = pq.read_table(folder / "spark-warehouse" / "totals").to_pylist()
    expected = {f"c{key}": sum(range(key, 150, 3)) for key in range(3)}
    assert {row["customer"]: row["amount"] for row in totals} == expected
