//! Numbers that identify brokers, producers and their epochs.

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
    /// The number of a broker within its cluster.
    BrokerId(i32)
}

id! {
    /// The epoch of a partition's leader: it rises with every new leader and every restart of the
    /// leader.
    LeaderEpoch(i32)
}

id! {
    /// The number that `InitProducerId` assigns to an idempotent producer.
    ProducerId(i64)
}

id! {
    /// The epoch of a producer id; a higher epoch fences a lower one.
    ProducerEpoch(i16)
}

impl LeaderEpoch {
    /// The protocol's −1: the leader epoch is unknown.
    pub const NONE: Self = Self(-1);
}

impl ProducerId {
    /// The protocol's −1: the producer is not idempotent.
    pub const NONE: Self = Self(-1);
}
