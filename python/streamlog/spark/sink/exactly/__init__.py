"""Exactly once per query and batch.

```text
task     rows -> staging topic of the query and the target, by a producer of its own
driver   one record to the query's commit log: the staged batches of the batch   <- decides
driver   staged batches -> target, with sequence numbers fixed by the record; or the executors
driver   deletes the preceding records of the commit log: the batch is published completely
driver   deletes staged batches, once there are many
```

docs/decisions/0011 explains why each reader sees each record once, whatever is killed and when.
"""
