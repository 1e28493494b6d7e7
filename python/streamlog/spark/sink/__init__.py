"""The writing side of ``format("streamlog")``: rows become records of topics.

```text
settings, schema      the options and columns of a write, validated once at planning
rows, columns         from a task's Arrow batches to a producer
delivery              at least once: directly to the topics
exactly               exactly once: staged, committed by one record, then published
```
"""

from streamlog.spark.sink.writer import StreamWriter, Writer

__all__ = ["StreamWriter", "Writer"]
