"""Topics, settings, groups and the cluster."""

from streamlog._core import admin
from streamlog.aio.forwarding import awaited

__all__ = ["Admin", "Group"]


class Admin:
    """Administration of a cluster: the methods of ``streamlog.Admin``, to be awaited.

    Example:
        >>> await client.admin.create_topic("events", partitions=6)
        >>> sorted(await client.admin.topics())
        ['events', 'orders']
    """

    def __init__(self, core: admin.Admin) -> None:
        """Created by ``Client.admin``."""
        self._core = core

    create_topic = awaited(admin.Admin.create_topic)
    delete_topic = awaited(admin.Admin.delete_topic)
    topics = awaited(admin.Admin.topics)
    topic = awaited(admin.Admin.topic)
    set_partitions = awaited(admin.Admin.set_partitions)
    begin_offsets = awaited(admin.Admin.begin_offsets)
    end_offsets = awaited(admin.Admin.end_offsets)
    offsets_at = awaited(admin.Admin.offsets_at)
    delete_records = awaited(admin.Admin.delete_records)
    settings = awaited(admin.Admin.settings)
    set_settings = awaited(admin.Admin.set_settings)
    groups = awaited(admin.Admin.groups)
    cluster = awaited(admin.Admin.cluster)

    def group(self, name: str) -> "Group":
        """Returns the group of this name, without contacting a broker."""
        return Group(self._core.group(name))

    def _native(self) -> admin.Admin:
        return self._core


class Group:
    """Administration of a consumer group: the methods of ``streamlog.Group``, to be awaited."""

    def __init__(self, core: admin.Group) -> None:
        """Created by ``Admin.group``."""
        self._core = core

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    describe = awaited(admin.Group.describe)
    committed = awaited(admin.Group.committed)
    lag = awaited(admin.Group.lag)
    commit = awaited(admin.Group.commit)
    reset = awaited(admin.Group.reset)
    delete = awaited(admin.Group.delete)

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Group({self.name!r})"

    def _native(self) -> admin.Group:
        return self._core
