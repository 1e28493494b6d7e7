"""A durable, partitioned log that speaks Apache Kafka's wire protocol.

The classes are written in Rust and re-exported here as they are; their documentation is the stub
``_core.pyi``. Python is written only where it adds something.
"""

from streamlog._core import __version__

__all__ = ["__version__"]
