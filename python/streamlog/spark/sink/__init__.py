"""The writing side of ``format("streamlog")``: rows become records of topics."""

from streamlog.spark.sink.writer import StreamWriter, Writer

__all__ = ["StreamWriter", "Writer"]
