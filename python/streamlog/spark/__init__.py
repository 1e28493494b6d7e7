"""Topics as tables and streams of Spark, ``format("streamlog")``, and the steps of pipelines.

Functions take and return DataFrames; ``load`` copies topics into Parquet files.
"""

# Type checkers know this name; importing `typing` would slow down the start of every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from streamlog.spark.audit import (
        compare_tiers,
        count_windows,
        missing_counts,
        published_counts,
    )
    from streamlog.spark.functions import (
        dead_letters,
        decode_avro,
        decode_csv,
        decode_json,
        decoded,
        deduplicate,
        encode_json,
        join_streams,
        join_table,
        strictly_decoded,
        window_aggregate,
        with_date,
    )
    from streamlog.spark.java import provide_java
    from streamlog.spark.offline import Load, Loss, load, loaded
    from streamlog.spark.sink.exactly.publisher import BatchPublisher
    from streamlog.spark.source import StreamlogDataSource
    from streamlog.spark.streaming.listener import (
        PartitionProgress,
        ProgressListener,
        partition_progress,
    )

__all__ = [
    "BatchPublisher",
    "Load",
    "Loss",
    "PartitionProgress",
    "ProgressListener",
    "StreamlogDataSource",
    "compare_tiers",
    "count_windows",
    "dead_letters",
    "decode_avro",
    "decode_csv",
    "decode_json",
    "decoded",
    "deduplicate",
    "encode_json",
    "join_streams",
    "join_table",
    "load",
    "loaded",
    "missing_counts",
    "partition_progress",
    "provide_java",
    "published_counts",
    "strictly_decoded",
    "window_aggregate",
    "with_date",
]

if not TYPE_CHECKING:
    _HOMES = {
        "BatchPublisher": "sink.exactly.publisher",
        "StreamlogDataSource": "source",
        "provide_java": "java",
        **dict.fromkeys(("Load", "Loss", "load", "loaded"), "offline"),
        **dict.fromkeys(
            ("PartitionProgress", "ProgressListener", "partition_progress"), "streaming.listener"
        ),
        **dict.fromkeys(
            ("compare_tiers", "count_windows", "missing_counts", "published_counts"), "audit"
        ),
    }

    def __getattr__(name: str) -> object:
        """Imports a name on first use: Spark's workers need the source only."""
        if name not in __all__:
            raise AttributeError(f"module 'streamlog.spark' has no attribute {name!r}")
        home = _HOMES.get(name, "functions")
        value = getattr(__import__(f"streamlog.spark.{home}", fromlist=[name]), name)
        globals()[name] = value
        return value
