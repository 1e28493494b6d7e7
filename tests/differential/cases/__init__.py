"""The scenarios, by subject. Importing this package registers them all."""

from differential.cases import (
    cluster,
    groups,
    members,
    producing,
    reading,
    replicas,
    rights,
    settings,
    topics,
)

__all__ = [
    "cluster",
    "groups",
    "members",
    "producing",
    "reading",
    "replicas",
    "rights",
    "settings",
    "topics",
]
