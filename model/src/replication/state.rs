//! The state of three replicas, of the store's state node, and of the answers to clients.

use super::log::{Log, OFFSETS, Record};
use crate::brokers::{BrokerId, BrokerSet, PerBroker, Renaming};

/// A follower's last fetch in this epoch, as its leader saw it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Progress {
    /// The end that the follower reported as flushed.
    pub reported: u8,
    /// The end of its log that it reported; 0 if no topic caches.
    pub end: u8,
    /// The incarnation that fetched; 0 before the first fetch.
    pub incarnation: u8,
}

/// A leader's view of its partition; it ends with the epoch.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
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
    /// The greatest watermark that had to be flushed on all members, or may have been.
    pub promised: u8,
    /// The setting `write.caching` as it was last seen.
    pub setting: bool,
    /// True from the request to clear the flag of caching until its outcome is known.
    pub clearing: bool,
    /// The followers' last fetches.
    pub progress: PerBroker<Progress>,
}

/// A high watermark that a replica has recorded on its disk.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Floor {
    /// The watermark.
    pub end: u8,
    /// The loss generation in which it was recorded.
    pub generation: u8,
}

/// A copy of a disk, taken while its broker ran.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiskCopy {
    /// The log.
    pub log: Log,
    /// The recorded watermark.
    pub floor: Floor,
}

/// One broker: its process, its disk, and its part in the partition.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
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
    /// The greatest watermark that is recorded on this disk.
    pub floor: Floor,
    /// True if this disk is known to have lost records: it neither leads nor counts as a member.
    pub lost: bool,
    /// True if the disk was damaged since it was last known to have all records. No rule reads it.
    pub damaged: bool,
    /// A copy of this disk that can still be put back unnoticed.
    pub copy: Option<DiskCopy>,
    /// The leader epoch that it read last; 0 before it read any.
    pub epoch: u8,
    /// The loss generation that it read with that epoch.
    pub generation: u8,
    /// The leader of that epoch.
    pub leader: Option<BrokerId>,
    /// True if it read with that epoch that the leader is unvouched, and itself eligible.
    pub keeps: bool,
    /// The flag of caching as it was last read.
    pub caches: bool,
    /// The epoch in which the flag was last cleared, as it was last read.
    pub cleared: u8,
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
    /// The flag of caching is cleared.
    Clear,
}

/// The partition's state node in the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateNode {
    /// False once somebody has deleted the node.
    pub exists: bool,
    /// The leader that was elected last, alive or not; none while replicas report their logs.
    pub leader: Option<BrokerId>,
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
    /// The incarnation as which an in-sync or eligible replica became a member.
    pub joined: PerBroker<u8>,
    /// The current `min.insync.replicas`.
    pub minimum: u8,
    /// The loss generation: the number of times that a person has accepted the loss of records.
    pub generation: u8,
    /// True if the leader was elected when the wait was over, by too few reports.
    pub unvouched: bool,
    /// True if records may count before they are flushed: the flag of caching.
    pub caches: bool,
    /// The leader epoch in which the flag was last cleared; 0 if it never was.
    pub cleared: u8,
}

/// A broker's registration: an ephemeral node.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The session that owns it; 0 when there is none.
    pub incarnation: u8,
    /// The data directory that it names.
    pub directory: u8,
    /// True if it says that its disk has lost records of the partition.
    pub lost: bool,
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
    /// Times that all brokers ended at once.
    pub outages: u8,
    /// Disks of which records were removed, or that were replaced by an older copy.
    pub damages: u8,
    /// Waits for reports that were over too early.
    pub waits: u8,
    /// Losses of records that a person accepted.
    pub acceptances: u8,
    /// Switches of the setting `write.caching`.
    pub switches: u8,
}

/// The answers that clients received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a violation of its own")]
pub struct Told {
    /// The records that consumers could read, by offset.
    pub exposed: [Record; OFFSETS],
    /// Their number, which is the highest watermark that was shown.
    pub end: u8,
    /// The end of those that a loss of power may not take: shown when only flushed records counted,
    /// or without the flag of caching, or before it was cleared.
    pub promised: u8,
    /// True if power was lost: with the flag of caching set, nothing more is promised then.
    pub powerless: bool,
    /// The offsets at which a record was acknowledged with `acks=all`, as bits.
    pub acknowledged: u8,
    /// True if a leader showed a different record at an offset that had been shown.
    pub withdrawn: bool,
    /// True if a replica removed a record below a watermark that it had recorded.
    pub destroyed: bool,
    /// True if a leader was taken for one that lost records, and had all that were shown.
    pub accused: bool,
    /// True if a leader went on although it was told of records that it has lost.
    pub defied: bool,
    /// True while the leader is excused for what it lacks: the wait for reports was over, and
    /// nobody had told that more records exist.
    pub excused: bool,
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
    /// The topic's setting `write.caching`.
    pub setting: bool,
    /// The answers that clients received.
    pub told: Told,
    /// The faults that happened.
    pub spent: Spent,
}

impl State {
    /// A new partition: A leads epoch 1, and every replica is in sync.
    pub fn new(minimum: u8) -> Self {
        let node = StateNode {
            exists: true,
            leader: Some(BrokerId::A),
            incarnation: 1,
            epoch: 1,
            in_sync: BrokerSet::all(),
            eligible: BrokerSet::EMPTY,
            directory: PerBroker([1; 3]),
            joined: PerBroker([1; 3]),
            minimum,
            generation: 0,
            unvouched: false,
            caches: false,
            cleared: 0,
        };
        let follower = Replica {
            running: true,
            incarnation: 1,
            directory: 1,
            epoch: 1,
            leader: Some(BrokerId::A),
            ..Replica::default()
        };
        let registration = Registration { incarnation: 1, directory: 1, lost: false };
        let mut state = Self {
            replicas: PerBroker([follower; 3]),
            registered: PerBroker([registration; 3]),
            writes: PerBroker::default(),
            node,
            setting: false,
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
        let elected = self.node.exists && self.node.leader == Some(id);
        self.leads(id) && elected && self.node.epoch == self.replicas[id].epoch
    }

    /// Returns whether the session that the broker opened last is alive.
    pub fn has_session(&self, id: BrokerId) -> bool {
        let incarnation = self.replicas[id].incarnation;
        self.replicas[id].running && self.registered[id].incarnation == incarnation
    }

    /// Returns whether a log has every record that was shown, and those that are promised flushed.
    pub fn holds_all_shown(&self, id: BrokerId) -> bool {
        let (log, told) = (&self.replicas[id].log, &self.told);
        let shown = &told.exposed[..usize::from(told.end)];
        log.durable >= told.promised && log.up_to(told.end) == shown
    }

    /// Returns whether a replica is the only one that has the record that was shown at an offset.
    pub fn is_last_copy(&self, id: BrokerId, offset: u8) -> bool {
        let shown = self.told.exposed[usize::from(offset)];
        let has = |id: BrokerId| self.replicas[id].log.record(offset) == shown;
        has(id) && !id.others().any(has)
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
        let named = u8::from(replica.floor.end > 0) << 5
            | u8::from(replica.lost) << 4
            | u8::from(node.leader == Some(id)) << 3
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

impl Told {
    /// Gives up all that was shown but is not in a log: a person, or a setting, accepts the loss.
    pub fn give_up(&mut self, log: &Log) {
        let kept = (0..self.end).zip(&self.exposed);
        let kept = kept.take_while(|(offset, shown)| log.record(*offset) == **shown).count();
        self.forget_from(u8::try_from(kept).unwrap_or(u8::MAX));
    }

    /// Forgets what was shown from an offset on.
    pub fn forget_from(&mut self, end: u8) {
        self.end = self.end.min(end);
        self.promised = self.promised.min(end);
        self.exposed[usize::from(self.end)..].fill(Record::NONE);
        self.acknowledged &= (1 << self.end) - 1;
    }
}

impl Leadership {
    /// The view of a leader whose log has this end at the start of its epoch.
    pub fn of(node: &StateNode, epoch_start: u8) -> Self {
        Self {
            epoch_start,
            in_sync: node.in_sync,
            minimum: node.minimum,
            promised: epoch_start,
            current: true,
            ..Self::default()
        }
    }
}

impl Replica {
    /// Records the watermark on the disk, as far as the log counts as stored. What an earlier loss
    /// generation recorded is void.
    pub fn record_floor(&mut self, stored: u8) {
        let end = self.watermark.min(stored);
        if self.floor.generation < self.generation {
            self.floor = Floor { end, generation: self.generation };
        } else {
            self.floor.end = self.floor.end.max(end);
        }
    }

    /// The epoch of the last record and the end of the log, by which replicas are compared.
    pub fn position(&self) -> (u8, u8) {
        (self.log.last_epoch(), self.log.end)
    }

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
            Self::Clear => Self::Clear,
        }
    }
}

impl StateNode {
    fn renamed(&self, renaming: &Renaming) -> Self {
        Self {
            leader: renaming.option(self.leader),
            in_sync: renaming.set(self.in_sync),
            eligible: renaming.set(self.eligible),
            directory: renaming.table(&self.directory, |directory| *directory),
            joined: renaming.table(&self.joined, |incarnation| *incarnation),
            ..*self
        }
    }
}
