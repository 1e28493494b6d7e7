"""Exactly once per query and batch.

```text
task     rows -> staging topic of the query and the target, by a producer of its own
driver   one record to the query's commit log: which staged batches belong to the batch   <- decides
driver   staged batches -> target, under numbers that the record fixes
driver   the records before in the commit log are deleted: all of the batch is published
driver   staged batches are deleted, once they are many
```

Why each reader sees each record once, whatever is killed and whenever: docs/decisions/0011.
"""
