//! The faults and changes that each search allows.

use crate::leadership;
use crate::replication::Bounds;

const BASE: Bounds = Bounds { epochs: 2, ..Bounds::NONE };
pub(super) const EXPIRY: Bounds = Bounds { expiries: 1, ..BASE };
pub(super) const STOP: Bounds = Bounds { stops: 1, ..BASE };
pub(super) const WIPE: Bounds = Bounds { wipes: 1, ..BASE };
pub(super) const WIPE_OF_ONE: Bounds = Bounds { epochs: 3, wipes: 1, minimum: 1, ..answered(BASE) };
pub(super) const MINIMUM: Bounds = Bounds { minimums: 1, ..STOP };
pub(super) const MINIMUM_AND_EXPIRY: Bounds = Bounds { minimums: 1, ..EXPIRY };
pub(super) const WIPE_AND_EXPIRY: Bounds = Bounds { wipes: 1, ..EXPIRY };
pub(super) const STOP_AND_EXPIRY: Bounds = Bounds { stops: 1, ..EXPIRY };
pub(super) const STOP_TWO_RECORDS: Bounds = Bounds { records: 2, ..STOP };
pub(super) const TWO_RECORDS: Bounds = Bounds { records: 2, ..EXPIRY };
pub(super) const SLOW_FLUSH: Bounds = Bounds { slow_flush: true, ..TWO_RECORDS };
pub(super) const EXPIRY_THREE_EPOCHS: Bounds = Bounds { epochs: 3, ..EXPIRY };
pub(super) const THREE_EPOCHS: Bounds = Bounds { slow_flush: true, ..EXPIRY_THREE_EPOCHS };
/// For the deep search.
pub(super) const EVERY_FAULT: Bounds = Bounds {
    records: 2,
    epochs: 3,
    stops: 1,
    expiries: 1,
    wipes: 1,
    minimums: 1,
    slow_flush: true,
    ..Bounds::NONE
};

/// All brokers end at once, and return in any order.
pub(super) const OUTAGE: Bounds = Bounds { epochs: 3, outages: 1, ..answered(Bounds::NONE) };
pub(super) const DELETION: Bounds = Bounds { deletion: true, ..OUTAGE };
pub(super) const DAMAGE: Bounds = Bounds { damages: 1, stale_floors: true, ..OUTAGE };
pub(super) const MINIMUM_AND_OUTAGE: Bounds = Bounds { minimums: 1, ..DAMAGE };
pub(super) const DAMAGE_AND_EXPIRY: Bounds = Bounds { expiries: 1, lossy: true, ..DAMAGE };
pub(super) const DAMAGE_AND_WIPE: Bounds = Bounds { epochs: 4, wipes: 1, ..DAMAGE };
pub(super) const DAMAGE_AND_STOP: Bounds = Bounds { epochs: 4, stops: 1, waits: 1, ..DAMAGE };
pub(super) const DAMAGE_AND_MINIMUM: Bounds = Bounds { epochs: 4, waits: 1, minimums: 1, ..DAMAGE };
pub(super) const DAMAGE_AND_WAIT: Bounds = Bounds { records: 2, epochs: 4, waits: 1, ..DAMAGE };
pub(super) const ACCEPTED_LOSS: Bounds = Bounds { records: 2, epochs: 4, acceptances: 1, ..DAMAGE };
pub(super) const OLDER_COPY: Bounds = Bounds { records: 2, epochs: 4, copies: true, ..DAMAGE };
pub(super) const TWO_OUTAGES: Bounds = Bounds { epochs: 5, outages: 2, ..DAMAGE };
pub(super) const TWO_OUTAGES_AND_WAIT: Bounds = Bounds { epochs: 5, outages: 2, ..DAMAGE_AND_WAIT };
pub(super) const MINIMUM_OF_ONE: Bounds = Bounds { minimum: 1, stops: 1, ..DAMAGE };
pub(super) const MINIMUM_OF_ONE_AND_WAIT: Bounds = Bounds { minimum: 1, ..DAMAGE_AND_WAIT };
pub(super) const TWO_DAMAGES: Bounds = Bounds { damages: 2, ..MINIMUM_OF_ONE_AND_WAIT };
pub(super) const MINIMUM_OF_THREE: Bounds = Bounds { minimum: 3, ..DAMAGE_AND_WAIT };
/// The partition caches at the beginning, or may do so once the setting is switched on.
pub(super) const CACHING: Bounds = Bounds { caches: true, switches: 1, ..OUTAGE };
pub(super) const CACHING_BEGINS: Bounds = Bounds { switches: 2, ..OUTAGE };
pub(super) const CACHING_AND_STOP: Bounds = Bounds { caches: true, ..answered(STOP) };
pub(super) const CACHING_AND_LOSSES: Bounds = Bounds { lossy: true, ..CACHING };
pub(super) const CACHING_AND_MINIMUM: Bounds = Bounds { minimums: 1, ..CACHING };
pub(super) const CACHING_AND_DAMAGE: Bounds = Bounds { caches: true, switches: 1, ..DAMAGE };
pub(super) const CACHING_AND_WAIT: Bounds = Bounds { epochs: 4, waits: 1, ..CACHING_AND_DAMAGE };
pub(super) const CACHING_AND_OUTAGE: Bounds =
    Bounds { epochs: 4, expiries: 1, switches: 0, ..CACHING };
/// For the deep search, and a rule that needs an earlier leader beside a loss of power.
pub(super) const CACHING_AND_EXPIRY: Bounds =
    Bounds { epochs: 3, expiries: 1, waits: 1, minimum: 1, ..CACHING_AND_STOP };
/// For the deep search.
pub(super) const CACHING_TWO_RECORDS: Bounds = Bounds { records: 2, switches: 2, ..CACHING };
/// For the deep search.
pub(super) const LOST_DISKS: Bounds = Bounds {
    epochs: 5,
    outages: 1,
    damages: 1,
    stale_floors: true,
    copies: true,
    waits: 1,
    acceptances: 1,
    ..EVERY_FAULT
};

pub(super) const ALL_ALIVE: leadership::Bounds =
    leadership::Bounds { epochs: 3, kills: 0, expiries: 1 };
pub(super) const KILLED: leadership::Bounds = leadership::Bounds { kills: 1, ..ALL_ALIVE };
pub(super) const KILLED_TWICE: leadership::Bounds =
    leadership::Bounds { epochs: 4, kills: 2, expiries: 2 };

/// The same without lost messages.
pub(super) const fn answered(bounds: Bounds) -> Bounds {
    Bounds { lossy: false, ..bounds }
}
