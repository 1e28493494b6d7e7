"""Garbage collection in Spark's Python workers."""

import gc
from functools import cache

__all__ = ["spare_modules"]


@cache
def spare_modules() -> None:
    """Excludes the objects of imported modules from garbage collection, in a worker of Spark.

    PySpark runs a collection after each task and after each step of planning, over 77,000 objects
    of its own modules, pandas and pyarrow. This takes 20 to 40 ms of processor time, while a small
    task reads for 4 ms.
    """
    gc.freeze()
