//! Numbers that name brokers, producers and their incarnations.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Number of a broker within its cluster.
    BrokerId(i32)
}

id! {
    /// Reign of a partition's leader: it rises with every new leader and with every restart of one.
    LeaderEpoch(i32)
}

id! {
    /// Number handed to an idempotent producer by `InitProducerId`.
    ProducerId(i64)
}

id! {
    /// Incarnation of a producer id; a lower one is fenced by a higher.
    ProducerEpoch(i16)
}

impl LeaderEpoch {
    /// "Unknown": the protocol's −1.
    pub const NONE: Self = Self(-1);
}

impl ProducerId {
    /// "Not idempotent": the protocol's −1.
    pub const NONE: Self = Self(-1);
}
