//! The registered brokers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::io::Inode;
use crate::metadata::image::{KeyHash, ReplicaKey};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};

/// A broker's registration, identified by the transaction that created it. The number rises with
/// every registration, so that state of an earlier incarnation can be told from current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub i64);

impl Incarnation {
    /// The protocol's −1: no incarnation of any broker.
    pub const UNKNOWN: Self = Self(-1);
}

/// A live broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// The broker id.
    pub id: BrokerId,
    /// The incarnation.
    pub incarnation: Incarnation,
    /// The contents of the registration.
    pub registration: Registration,
}

/// The facts that a broker announces when it registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// The addresses of the broker. Empty for a broker that answers each client with the address
    /// that the client connected to.
    pub listeners: Vec<Listener>,
    /// The rack, for assignments that spread replicas over racks.
    pub rack: Option<String>,
    /// The id of its data directory.
    pub directory_id: Option<String>,
    /// The token of this registration, which the data directory has too. It is kept in the broker's
    /// node below `/streamlog/brokers`; set when it registers.
    pub token: Option<String>,
    /// The boot of its machine.
    pub boot_id: Option<String>,
    /// The place of its data directory on the machine.
    pub place: Option<DirectoryPlace>,
    /// True if the broker had been shut down cleanly, so that its log lacks nothing that it wrote.
    pub clean_shutdown: bool,
    /// The hash of the key by which other brokers recognize the requests of this incarnation; set
    /// when it registers.
    pub key_hash: Option<KeyHash>,
    /// The time-out of the session with the store, after which this registration ends if the broker
    /// has ended; set when it registers.
    pub session_timeout: Option<Duration>,
    /// True once the broker has begun to stop: it must not take over a partition any more.
    pub is_stopping: bool,
    /// The partitions of which its disk has lost records that were flushed.
    pub lost: BTreeSet<(TopicId, PartitionIndex)>,
    /// The logs of its replicas whose partitions have no leader.
    pub reports: LogReports,
}

/// The reports of a broker, by partition.
pub type LogReports = BTreeMap<(TopicId, PartitionIndex), LogReport>;

/// The log of a replica whose partition has no leader, by which the controller compares it with
/// those of other replicas (rule R21 in docs/replication.md). Nothing is appended to the log or
/// truncated before a leader is elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogReport {
    /// The leader epoch in which nobody leads.
    pub epoch: LeaderEpoch,
    /// The leader epoch of the last record.
    pub last_epoch: LeaderEpoch,
    /// The log end offset, below which all records are flushed.
    pub end: Offset,
    /// The offset below which all records were committed, as this disk knows it. It is above the
    /// end of a log that has lost records.
    pub floor: Offset,
}

/// The place of a data directory on its machine. It distinguishes the directory from its copies,
/// which carry the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryPlace {
    /// The number of the file system, which may change with each boot of the machine.
    pub device: u64,
    /// The number of the directory on the file system.
    pub inode: u64,
}

/// The end of a log, in the order in which elections compare logs: of two, the one with the later
/// last epoch has what the other has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogExtent {
    /// The leader epoch of the last record.
    pub last_epoch: LeaderEpoch,
    /// The log end offset.
    pub end: Offset,
}

impl LogReport {
    /// The extent of the log.
    pub(in crate::metadata) fn extent(&self) -> LogExtent {
        LogExtent { last_epoch: self.last_epoch, end: self.end }
    }
}

impl From<Inode> for DirectoryPlace {
    fn from(Inode { device, number, .. }: Inode) -> Self {
        Self { device, inode: number }
    }
}

impl Registration {
    /// Returns true if a process with this registration locks the same data directory as one with
    /// the registration `other`: both are in the same boot of the same machine, with the directory
    /// at the same place. Only one of them can have the lock, so the other one has ended.
    pub(in crate::metadata) fn locks_directory_of(&self, other: &Self) -> bool {
        self.has_directory_id_of(other)
            && self.is_in_boot_of(other)
            && self.place.is_some()
            && self.place == other.place
    }

    /// Returns true if the data directories of two registrations certainly differ: their ids do, or
    /// one is a copy of the other at another place of the same machine.
    pub(in crate::metadata) fn has_other_directory_than(&self, other: &Self) -> bool {
        let is_copy = self.is_in_boot_of(other)
            && self.place.is_some()
            && other.place.is_some()
            && self.place != other.place;
        !self.has_directory_id_of(other) || is_copy
    }

    fn has_directory_id_of(&self, other: &Self) -> bool {
        self.directory_id.is_some() && self.directory_id == other.directory_id
    }

    fn is_in_boot_of(&self, other: &Self) -> bool {
        self.boot_id.is_some() && self.boot_id == other.boot_id
    }
}

/// A broker's own registration in its current session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The incarnation.
    pub incarnation: Incarnation,
    /// The key by which other brokers recognize the requests of this incarnation.
    pub key: ReplicaKey,
}

/// A broker that has registered before, whether it is alive or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBroker {
    /// The rack of its last registration.
    pub rack: Option<String>,
    /// The data directory of its last registration.
    pub directory_id: Option<String>,
    /// The token of the last registration with each of its data directories, by directory id.
    pub tokens: BTreeMap<String, String>,
    /// True if it had been shut down cleanly before its last registration.
    pub clean_shutdown: bool,
    /// The last incarnation of the broker whose process is known to have ended. The end of a
    /// session does not prove the end of the process.
    pub ended: Option<Incarnation>,
}

impl KnownBroker {
    /// Rule R26 in docs/replication.md: returns true if the data directory of this id, with these
    /// tokens, is not the one that has registered last under its id. It is an older copy then,
    /// which may lack records that the broker has acknowledged since.
    ///
    /// A directory without any token has not registered yet, nor has a broker without any.
    pub fn is_another_disk(&self, directory_id: &str, tokens: &[String]) -> bool {
        match self.tokens.get(directory_id) {
            Some(last) => !tokens.contains(last),
            None => !self.tokens.is_empty() && !tokens.is_empty(),
        }
    }
}

impl Broker {
    /// Returns true if this incarnation has registered with `key`, which only it knows.
    pub fn has_key(&self, key: &[u8]) -> bool {
        self.registration.key_hash.is_some() && self.registration.key_hash == KeyHash::of(key)
    }

    /// The listener with this name, compared without case; the first if no name is given.
    pub fn listener(&self, name: Option<&str>) -> Option<&Listener> {
        let mut listeners = self.registration.listeners.iter();
        listeners.find(|listener| name.is_none_or(|name| listener.name.eq_ignore_ascii_case(name)))
    }
}

/// One address of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The name of the listener, which separates clients from brokers.
    pub name: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// `PLAINTEXT`, `SSL`, ...
    pub security_protocol: String,
}
