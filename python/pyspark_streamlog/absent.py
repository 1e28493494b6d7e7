"""A placeholder for the data source if PySpark or pyarrow is missing or too old."""

import sys
from importlib import import_module

from pyspark.sql.datasource import DataSource

__all__ = ["AbsentSource"]


class AbsentSource(DataSource):
    """A data source named ``streamlog`` that raises an error about its missing requirements."""

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "streamlog"

    def __init__(self, options: dict[str, str]) -> None:
        """Raises an error that names the missing requirements.

        Raises:
            MissingExtra: Always.
        """
        from streamlog.errors import MissingExtra

        needed = "format('streamlog') needs PySpark 4.2 or later and pyarrow 18 or later"
        has = f"PySpark {_version('pyspark')} and {_described('pyarrow')}"
        try:
            import_module("streamlog.spark.source")
        except (ImportError, AttributeError) as error:
            message = f"{needed}, but {sys.executable} has {has} ({error})"
            raise MissingExtra(f"{message}: pip install 'pyspark>=4.2,<5' 'pyarrow>=18'") from error
        # Spark looks for data sources once per process, and caches the result.
        raise MissingExtra(f"{needed}, which were missing when Spark started: restart Spark")


def _described(name: str) -> str:
    version = _version(name)
    return f"{name} {version}" if version else f"no {name}"


def _version(name: str) -> str | None:
    try:
        return str(import_module(name).__version__)
    except ImportError:
        return None
