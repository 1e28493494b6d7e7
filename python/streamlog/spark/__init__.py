"""Topics as tables and streams of Spark: ``format("streamlog")``."""

from streamlog.spark.source import StreamlogDataSource

__all__ = ["StreamlogDataSource"]
