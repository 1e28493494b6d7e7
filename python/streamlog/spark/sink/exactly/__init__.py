"""Exactly once per query and batch.

```text
task     rows -> staging topic of the query and the target, by a producer of its own
driver   positions of the staged rows -> one record in the query's commit log: it decides
driver   staged rows -> target (or the executors), with sequence numbers fixed by that record
driver   deletes the preceding records of the commit log: the batch is published completely
driver   deletes staged rows, once there are many
```

docs/decisions/0011 explains why each reader sees each record once, whatever is killed and when.
"""
