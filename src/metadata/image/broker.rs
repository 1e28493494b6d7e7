//! Who is there.

use crate::types::BrokerId;

/// One life of a broker: the transaction that created its registration. It rises with every
/// registration, so that what an earlier life knew can be told from what this one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub i64);

impl Incarnation {
    /// No life of any broker: the protocol's −1.
    pub const UNKNOWN: Self = Self(-1);
}

/// A live broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its number.
    pub id: BrokerId,
    /// Its life.
    pub incarnation: Incarnation,
    /// What it said of itself.
    pub registration: Registration,
}

/// What a broker says of itself when it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Where it is reached. May be empty for a broker that answers each client with the address
    /// that client came by.
    pub listeners: Vec<Listener>,
    /// Where it stands, for assignments that spread over racks.
    pub rack: Option<String>,
    /// Identity of its data directory.
    pub directory_id: Option<String>,
    /// Whether it had stopped in order, so that its log lacks nothing it wrote.
    pub clean_shutdown: bool,
}

/// One address of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Name of the listener, by which clients and brokers are kept apart.
    pub name: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// `PLAINTEXT`, `SSL`, ...
    pub security_protocol: String,
}
