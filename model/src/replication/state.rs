//! The state of three replicas, of the store's state node, and of the answers to clients.

use super::log::{Log, OFFSETS, Record};
use crate::brokers::{BrokerId, BrokerSet, PerBroker, Renaming};

/// A follower's last fetch in this epoch, as its leader saw it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Progress {
    /// The end offset that the follower reported.
    pub reported: u8,
    /// The incarnation that fetched; 0 before the first fetch.
    pub incarnation: u8,
}

/// A leader's view of its partition; it ends with the epoch.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Leadership {
    /// The log end at the beginning of the epoch.
    pub epoch_start: u8,
    /// The in-sync set as it was last read from the store.
    pub in_sync: BrokerSet,
    /// Members of sets that were asked for and may be in force already.
    pub pending: BrokerSet,
    /// The `min.insync.replicas` as it was last read from the store.
    pub minimum: u8,
    /// True if the state node still has the version that was read.
    pub current: bool,
    /// True while the outcome of the last write is unknown.
    pub unknown: bool,
    /// The followers' last fetches.
    pub progress: PerBroker<Progress>,
}

/// One broker: its process, its disk, and its part in the partition.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    /// True if the process runs. A paused process runs, and takes no step.
    pub running: bool,
    /// The number of the session that it opened last.
    pub incarnation: u8,
    /// The id of the data directory, which changes when the disk is emptied.
    pub directory: u8,
    /// The log.
    pub log: Log,
    /// The high watermark as this broker knows it.
    pub watermark: u8,
    /// The leader epoch that it read last; 0 before it read any.
    pub epoch: u8,
    /// The leader of that epoch.
    pub leader: Option<BrokerId>,
    /// The view of the leader, if it is this broker.
    pub leading: Leadership,
}

/// A write to the state node on its way to the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Write {
    /// The session that sends it.
    pub session: u8,
    /// The leader epoch it was computed in.
    pub epoch: u8,
    /// True if the state node still has the version that it names.
    pub current: bool,
    /// The change asked for.
    pub change: Change,
    /// The in-sync set that it makes of the one that was read.
    pub in_sync: BrokerSet,
}

/// A change of the in-sync set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The member leaves.
    Remove(BrokerId),
    /// The broker joins, as the incarnation whose fetch the leader saw.
    Add(BrokerId, u8),
}

/// The partition's state node in the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateNode {
    /// The leader that was elected last, alive or not.
    pub leader: BrokerId,
    /// The incarnation that was elected.
    pub incarnation: u8,
    /// The leader epoch.
    pub epoch: u8,
    /// The in-sync set.
    pub in_sync: BrokerSet,
    /// The replicas that left the in-sync set while it was below the minimum.
    pub eligible: BrokerSet,
    /// The directory that an in-sync or eligible replica had as a member.
    pub directory: PerBroker<u8>,
    /// The current `min.insync.replicas`.
    pub minimum: u8,
}

/// A broker's registration: an ephemeral node.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The session that owns it; 0 when there is none.
    pub incarnation: u8,
    /// The data directory that it names.
    pub directory: u8,
}

/// The faults and changes that happened, each of which is bounded.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Spent {
    /// Processes that ended, with or without the power.
    pub stops: u8,
    /// Sessions that expired while their broker lived.
    pub expiries: u8,
    /// Disks that were emptied.
    pub wipes: u8,
    /// Changes of the minimum.
    pub minimums: u8,
    /// Records that producers sent.
    pub records: u8,
}

/// The answers that clients received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Told {
    /// The records that consumers could read, by offset.
    pub exposed: [Record; OFFSETS],
    /// Their number, which is the highest watermark that was shown.
    pub end: u8,
    /// The offsets at which a record was acknowledged with `acks=all`, as bits.
    pub acknowledged: u8,
    /// True if a leader showed a different record at an offset that had been shown.
    pub withdrawn: bool,
}

/// A state of the model.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The brokers.
    pub replicas: PerBroker<Replica>,
    /// The registrations of the brokers.
    pub registered: PerBroker<Registration>,
    /// The writes on their way, at most one of each broker.
    pub writes: PerBroker<Option<Write>>,
    /// The state node.
    pub node: StateNode,
    /// The answers that clients received.
    pub told: Told,
    /// The faults that happened.
    pub spent: Spent,
}

impl State {
    /// A new partition: A leads epoch 1, and every replica is in sync.
    pub fn new(minimum: u8) -> Self {
        let node = StateNode {
            leader: BrokerId::A,
            incarnation: 1,
            epoch: 1,
            in_sync: BrokerSet::all(),
            eligible: BrokerSet::EMPTY,
            directory: PerBroker([1; 3]),
            minimum,
        };
        let follower = Replica {
            running: true,
            incarnation: 1,
            directory: 1,
            epoch: 1,
            leader: Some(BrokerId::A),
            ..Replica::default()
        };
        let mut state = Self {
            replicas: PerBroker([follower; 3]),
            registered: PerBroker([Registration { incarnation: 1, directory: 1 }; 3]),
            writes: PerBroker::default(),
            node,
            told: Told::default(),
            spent: Spent::default(),
        };
        state.replicas[BrokerId::A].leading = Leadership::of(&node, 0);
        state
    }

    /// Returns whether the broker runs and leads in its own view, which may be outdated.
    pub fn leads(&self, id: BrokerId) -> bool {
        self.replicas[id].running && self.replicas[id].leader == Some(id)
    }

    /// Returns whether the broker leads the epoch that the store has.
    pub fn is_leader(&self, id: BrokerId) -> bool {
        self.leads(id) && self.node.leader == id && self.node.epoch == self.replicas[id].epoch
    }

    /// Returns whether the session that the broker opened last is alive.
    pub fn has_session(&self, id: BrokerId) -> bool {
        let incarnation = self.replicas[id].incarnation;
        self.replicas[id].running && self.registered[id].incarnation == incarnation
    }

    /// Marks every version that was read as outdated: the state node has changed.
    pub fn node_changed(&mut self) {
        for id in BrokerId::ALL {
            self.replicas[id].leading.current = false;
            if let Some(write) = &mut self.writes[id] {
                write.current = false;
            }
        }
    }

    /// A number that depends on a broker's part, but not on its name.
    pub fn rank(&self, id: BrokerId) -> u64 {
        let (replica, node) = (&self.replicas[id], &self.node);
        let named = u8::from(node.leader == id) << 3
            | u8::from(node.in_sync.contains(id)) << 2
            | u8::from(node.eligible.contains(id)) << 1
            | u8::from(replica.running);
        u64::from_le_bytes([
            named,
            replica.incarnation,
            replica.epoch,
            replica.log.end,
            replica.log.flushed,
            replica.log.last_epoch(),
            replica.watermark,
            self.registered[id].incarnation,
        ])
    }

    /// The state under other names.
    #[must_use]
    pub fn renamed(&self, renaming: &Renaming) -> Self {
        Self {
            replicas: renaming.table(&self.replicas, |replica| replica.renamed(renaming)),
            registered: renaming.table(&self.registered, |registration| *registration),
            writes: renaming.table(&self.writes, |write| {
                write.map(|write| Write {
                    change: write.change.renamed(renaming),
                    in_sync: renaming.set(write.in_sync),
                    ..write
                })
            }),
            node: self.node.renamed(renaming),
            ..*self
        }
    }
}

impl Leadership {
    /// The view of a leader whose log has this end at the start of its epoch.
    pub fn of(node: &StateNode, epoch_start: u8) -> Self {
        Self {
            epoch_start,
            in_sync: node.in_sync,
            minimum: node.minimum,
            current: true,
            ..Self::default()
        }
    }
}

impl Replica {
    fn renamed(&self, renaming: &Renaming) -> Self {
        Self {
            leader: renaming.option(self.leader),
            leading: Leadership {
                in_sync: renaming.set(self.leading.in_sync),
                pending: renaming.set(self.leading.pending),
                progress: renaming.table(&self.leading.progress, |progress| *progress),
                ..self.leading
            },
            ..*self
        }
    }
}

impl Change {
    fn renamed(self, renaming: &Renaming) -> Self {
        match self {
            Self::Remove(id) => Self::Remove(renaming.id(id)),
            Self::Add(id, incarnation) => Self::Add(renaming.id(id), incarnation),
        }
    }
}

impl StateNode {
    fn renamed(&self, renaming: &Renaming) -> Self {
        Self {
            leader: renaming.id(self.leader),
            in_sync: renaming.set(self.in_sync),
            eligible: renaming.set(self.eligible),
            directory: renaming.table(&self.directory, |directory| *directory),
            ..*self
        }
    }
}
