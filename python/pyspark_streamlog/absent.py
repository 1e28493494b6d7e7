"""What stands in for the data source where PySpark or pyarrow is missing or too old for it."""

import sys
from importlib import import_module

from pyspark.sql.datasource import DataSource

__all__ = ["AbsentSource"]


class AbsentSource(DataSource):
    """Has the name of the source, and says what it lacks to whoever uses it."""

    @classmethod
    def name(cls) -> str:
        """The word for ``format``."""
        return "streamlog"

    def __init__(self, options: dict[str, str]) -> None:
        """Says what is missing.

        Raises:
            MissingExtra: Always: there is no source.
        """
        from streamlog.errors import MissingExtra

        needed = "format('streamlog') needs PySpark 4.2 or later and pyarrow 18 or later"
        has = f"PySpark {_version('pyspark')} and {_told('pyarrow')}"
        try:
            import_module("streamlog.spark.source")
        except (ImportError, AttributeError) as error:
            message = f"{needed}, but {sys.executable} has {has} ({error})"
            raise MissingExtra(f"{message}: pip install 'pyspark>=4.2,<5' 'pyarrow>=18'") from error
        # Spark looks for sources once, and remembers what it found.
        raise MissingExtra(f"{needed}, and had not when Spark looked for them: start Spark anew")


def _told(name: str) -> str:
    version = _version(name)
    return f"{name} {version}" if version else f"no {name}"


def _version(name: str) -> str | None:
    try:
        return str(import_module(name).__version__)
    except ImportError:
        return None
