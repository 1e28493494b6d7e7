"""Topics as Parquet files: an incremental load of each record once, even if the load is killed."""

from streamlog.spark.offline.loading import Load, load
from streamlog.spark.offline.plan import Loss
from streamlog.spark.offline.reading import loaded

__all__ = ["Load", "Loss", "load", "loaded"]
