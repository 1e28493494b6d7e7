"""Spark finds the source by its Python; where packages are missing, the source says which."""

import subprocess
import sys
from pathlib import Path

import pytest

LOOKED_UP = """
import io, sys
{blocked}
from pyspark.serializers import CloudPickleSerializer, read_int
from pyspark.sql.worker.lookup_data_sources import _main
found = io.BytesIO()
_main(io.BytesIO(), found)
found.seek(0)
names = {{}}
for _ in range(read_int(found)):
    name = found.read(read_int(found)).decode()
    names[name] = CloudPickleSerializer()._read_with_length(found)
print(sorted(names))
try:
    names["streamlog"](options={{"subscribe": "orders"}})
except Exception as error:
    print(type(error).__name__, error)
else:
    print("made")
"""

PROGRAM = """
from pyspark.sql import SparkSession
from streamlog.spark import provide_java

provide_java()
spark = SparkSession.Builder().master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
options = {"bootstrap": "127.0.0.1:1", "subscribe": "orders"}
print(spark.read.format("streamlog").options(**options).load().columns[:2])
"""

NO_PYARROW = "sys.modules['pyarrow'] = None"
OLD_PYSPARK = """
import pyspark, pyspark.sql.datasource
pyspark.__version__ = "4.1.1"
del pyspark.sql.datasource.DataSourceStreamArrowWriter
"""


def looked_up(folder: str, blocked: str) -> list[str]:
    """Returns the sources that Spark finds in an interpreter without some package."""
    code = f"import sys; sys.path.insert(0, {folder!r})\n" + LOOKED_UP.format(blocked=blocked)
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a data source of another package."""
    found = tmp_path_factory.mktemp("packages")
    (found / "pyspark_other.py").write_text(
        "from pyspark.sql.datasource import DataSource\n"
        "class DefaultSource(DataSource):\n"
        "    @classmethod\n"
        "    def name(cls):\n"
        "        return 'other'\n"
    )
    return str(found)


@pytest.mark.parametrize(
    ("blocked", "has"),
    [(NO_PYARROW, " and no pyarrow"), (OLD_PYSPARK, " has PySpark 4.1.1 and pyarrow ")],
)
def test_other_sources_are_found_and_streamlog_says_what_is_missing(
    folder: str, blocked: str, has: str
) -> None:
    names, told = looked_up(folder, blocked)
    assert names == "['other', 'streamlog']"
    assert told.startswith("MissingExtra format('streamlog') needs PySpark 4.2 or later and pyarro")
    assert has in told
    assert told.endswith("pip install 'pyspark>=4.2,<5' 'pyarrow>=18'")


def test_the_source_is_found_with_all_requirements(folder: str) -> None:
    assert looked_up(folder, "") == ["['other', 'streamlog']", "made"]


def test_a_program_in_an_environment_that_is_not_activated_finds_the_source_by_its_python(
    tmp_path: Path,
) -> None:
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=290,
    )
    assert program.stdout == "['key', 'value']\n", program.stderr
