"""The options of a write, validated."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import StructType

from streamlog.errors import ConfigError
from streamlog.spark.options import Connection, Options
from streamlog.spark.sink.schema import columns_of

__all__ = ["Settings", "check_options_of_function"]

_OF_BOTH = ("topic", "acks", "compression", "partitioner", "includeHeaders")
_OPTIONS = (*_OF_BOTH, "exactlyOnce", "checkpointLocation", "queryName")
_ELSEWHERE = {
    "path": "name the topic by 'topic'",
    "subscribe": "that is for reading; name the topic by 'topic'",
    "kafka.enable.idempotence": "it is always on, but with acks 0 and 1",
    "kafka.transactional.id": "use 'exactlyOnce'",
}
_OF_THE_QUERY = {
    "checkpointLocation": "it is an option of the query",
    "exactlyOnce": "it is always on",
    "queryName": "it is an option of the query",
}
_ACKS = ("all", "1", "0")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_PARTITIONERS = ("keyed", "sticky", "random", "roundrobin")


@dataclass(frozen=True)
class Settings:
    """The options and the columns of a write. It can be pickled."""

    connection: Connection
    topic: str | None
    """The topic of all rows; None to use the topic column."""
    columns: dict[str, int]
    """The position of each column in the table."""
    acks: str
    compression: str
    partitioner: str
    is_exactly_once: bool
    checkpoint: str | None
    """The location of the query's checkpoint."""

    @classmethod
    def of(
        cls,
        given: Mapping[str, str],
        schema: StructType,
        overwrite: bool,
        *,
        is_stream: bool = True,
    ) -> "Settings":
        """Validates the options and the columns passed by Spark.

        Raises:
            ConfigError: An option or a column is invalid.
        """
        options = Options(given, _OPTIONS, _ELSEWHERE)
        if not is_stream and options.truth("exactlyOnce", False):
            raise ConfigError("option 'exactlyOnce': for streams only, a table is written once")
        columns = columns_of(schema)
        if not options.truth("includeHeaders", True):
            columns.pop("headers", None)
        topic = options.text("topic")
        if topic is not None:
            columns.pop("topic", None)
        elif "topic" not in columns:
            raise ConfigError("option 'topic': missing, and the table has no column 'topic'")
        if overwrite:
            raise ConfigError(
                'mode("overwrite") and outputMode("complete"): a topic is only ever appended to; '
                'use mode("append"), or outputMode("update")'
            )
        settings = cls(
            connection=options.connection(),
            topic=topic,
            columns=columns,
            acks="all" if options.text("acks") == "-1" else options.word("acks", _ACKS, "all"),
            compression=options.word("compression", _CODECS, "none"),
            partitioner=options.word("partitioner", _PARTITIONERS, "keyed"),
            is_exactly_once=options.truth("exactlyOnce", False),
            checkpoint=options.text("checkpointLocation"),
        )
        if settings.is_exactly_once:
            settings._check_exactly_once(options)
        return settings

    @classmethod
    def of_function(cls, given: Mapping[str, str], schema: StructType) -> "Settings":
        """Validates the options of a function for ``foreachBatch``, and the columns of a batch.

        Raises:
            ConfigError: An option or a column is invalid.
        """
        check_options_of_function(given)
        # Such a function does not see the checkpoint of its query.
        query = {"exactlyOnce": "true", "checkpointLocation": "of the query"}
        return cls.of({**given, **query}, schema, overwrite=False)

    def _check_exactly_once(self, options: Options) -> None:
        if self.acks != "all":
            raise ConfigError(f"option 'acks': invalid value {self.acks}: exactlyOnce needs all")
        if options.text("checkpointLocation") is None:
            raise ConfigError(
                "option 'checkpointLocation': missing, exactlyOnce is once per query and batch, "
                "which only a checkpoint remembers"
            )


def check_options_of_function(given: Mapping[str, str]) -> None:
    """Checks the names of the options of a function for ``foreachBatch``.

    Raises:
        ConfigError: An option is unknown, or the query's own.
    """
    Options(given, _OF_BOTH, _ELSEWHERE | _OF_THE_QUERY)
