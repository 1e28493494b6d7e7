"""A cluster of nodes in the tests' own process."""

from collections.abc import Iterator
from contextlib import contextmanager

from streamlog import Broker


@contextmanager
def replicated(cluster: Broker, topic: str) -> Iterator[Broker]:
    """Runs three nodes during the block, each with an in-sync replica of the topic."""
    with cluster, cluster.connect() as client:
        client.admin.create_topic(topic, replicas=3)
        cluster.wait_in_sync()
        yield cluster
