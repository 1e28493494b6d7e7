"""The writing side of ``format("streamlog")``: rows become records of topics.

```text
settings, schema      what was asked for, looked at once, at planning
rows, columns         a task's rows, as Arrow brings them, to a producer
delivery              at least once: to the topics themselves
exactly               exactly once: staged, committed in one record, then published
```
"""

from streamlog.spark.sink.writer import StreamWriter, Writer

__all__ = ["StreamWriter", "Writer"]
