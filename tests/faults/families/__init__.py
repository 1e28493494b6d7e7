"""All faults, by their names."""

from faults.families import (
    clocks,
    cuts,
    disks,
    edits,
    flushes,
    kills,
    outages,
    pauses,
    power,
    sessions,
    store_cuts,
    stores,
    twins,
)
from faults.stage import Fault

_FAMILIES = (
    kills.FAULTS,
    pauses.FAULTS,
    cuts.FAULTS,
    store_cuts.FAULTS,
    clocks.FAULTS,
    flushes.FAULTS,
    power.FAULTS,
    disks.FAULTS,
    twins.FAULTS,
    sessions.FAULTS,
    stores.FAULTS,
    edits.FAULTS,
    outages.FAULTS,
)
FAULTS: dict[str, Fault] = {fault.name: fault for family in _FAMILIES for fault in family}
