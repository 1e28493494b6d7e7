"""The options of a read, validated without a broker."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import StructType

from streamlog.errors import ConfigError
from streamlog.spark.options import Connection, Options
from streamlog.spark.reading import subscription
from streamlog.spark.reading.columns import schema_of, wanted
from streamlog.spark.reading.positions import ENDING, STARTING, AtTimes, Point, ending, starting
from streamlog.spark.reading.subscription import Subscription

__all__ = ["Admission", "Reading", "Split", "default_schema"]

_SPLIT = ("minPartitions", "maxRecordsPerPartition", "maxBytesPerPartition")
_ADMISSION = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
    "group",
)
_BOTH = (
    *subscription.NAMES,
    *STARTING,
    *_SPLIT,
    "columns",
    "failOnDataLoss",
    "includeHeaders",
    "isolation",
)
_MAX_TRIGGER_DELAY = "15m"


@dataclass(frozen=True)
class Split:
    """Limits for the division of ranges into tasks; None is no limit."""

    min_partitions: int | None = None
    max_records: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True)
class Admission:
    """Limits of a trigger; None is no limit."""

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay: float = 900.0
    """Seconds after which a trigger does not wait for the minimum any longer."""
    max_bytes: int | None = None


@dataclass(frozen=True)
class Reading:
    """The definition of a read: its topics, range, columns and limits. It can be pickled."""

    connection: Connection
    subscription: Subscription
    columns: tuple[str, ...]
    start: Point
    end: Point | None
    """None for a stream, which has no end."""
    split: Split
    admission: Admission
    group: str | None
    """The group to which a stream's progress is committed."""
    fails_on_loss: bool
    isolation: str

    @classmethod
    def of_batch(cls, given: Mapping[str, str], schema: StructType) -> "Reading":
        """Returns the definition of a batch read.

        Raises:
            ConfigError: An option or the schema is invalid.
        """
        why = "it is of streams: a batch read takes all there is"
        options = Options(given, (*_BOTH, *ENDING), dict.fromkeys(_ADMISSION, why))
        start, end = starting(options, is_stream=False), ending(options)
        _check_order(start, end)
        return cls._of(options, schema, start, end)

    @classmethod
    def of_stream(cls, given: Mapping[str, str], schema: StructType) -> "Reading":
        """Returns the definition of a streaming read.

        Raises:
            ConfigError: An option or the schema is invalid.
        """
        why = "a stream has no end; Trigger.AvailableNow ends with what there is now"
        elsewhere = dict.fromkeys(ENDING, why)
        options = Options(given, (*_BOTH, *_ADMISSION), elsewhere)
        return cls._of(options, schema, starting(options, is_stream=True), None)

    @classmethod
    def _of(
        cls, options: Options, schema: StructType, start: Point, end: Point | None
    ) -> "Reading":
        return cls(
            connection=options.connection(),
            subscription=Subscription.of(options),
            columns=wanted(schema, options),
            start=start,
            end=end,
            split=Split(
                min_partitions=options.integer("minPartitions"),
                max_records=options.integer("maxRecordsPerPartition"),
                max_bytes=options.size("maxBytesPerPartition"),
            ),
            admission=_admission(options),
            group=options.text("group") or None,
            fails_on_loss=options.truth("failOnDataLoss", True),
            isolation=options.word(
                "isolation", ("read_committed", "read_uncommitted"), "read_committed"
            ),
        )


def default_schema(given: Mapping[str, str]) -> StructType:
    """Returns the columns of a read without a given schema.

    Raises:
        ConfigError: An option is unknown or invalid.
    """
    options = Options(given, (*_BOTH, *ENDING, *_ADMISSION))
    options.connection()
    Subscription.of(options)
    return schema_of(options)


def _admission(options: Options) -> Admission:
    admission = Admission(
        max_offsets=options.integer("maxOffsetsPerTrigger"),
        min_offsets=options.integer("minOffsetsPerTrigger"),
        max_delay=options.seconds("maxTriggerDelay", _MAX_TRIGGER_DELAY),
        max_bytes=options.size("maxBytesPerTrigger"),
    )
    most, least = admission.max_offsets, admission.min_offsets
    if most is not None and least is not None and least > most:
        words = f"option 'minOffsetsPerTrigger': {least} is more than maxOffsetsPerTrigger"
        raise ConfigError(f"{words}, which is {most}")
    return admission


def _check_order(start: Point, end: Point) -> None:
    if not (isinstance(start, AtTimes) and isinstance(end, AtTimes)):
        return
    begin, stop = start.time_ms, end.time_ms
    if begin is not None and stop is not None and begin > stop:
        words = f"option '{start.option}': {begin} is after {end.option}, which is {stop}"
        raise ConfigError(f"{words} (in milliseconds since 1970)")
