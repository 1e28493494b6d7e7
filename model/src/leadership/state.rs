//! The state of three brokers that may lead, and of the fetches that each remembers.

use crate::brokers::{BrokerId, BrokerSet, PerBroker, Renaming};

/// A broker's memory of its fetches from another.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Asked {
    /// It sent none in the last 2 s.
    #[default]
    No,
    /// It sent one to this incarnation less than 2 s ago.
    Incarnation(u8),
    /// It started less than 2 s ago, and does not know what it sent before.
    Unknown,
}

/// A broker.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Broker {
    /// True if the process runs.
    pub running: bool,
    /// The number of the session that it opened last.
    pub incarnation: u8,
    /// True if the store answered it less than 2/3 of the session timeout ago.
    pub lease: bool,
    /// The leader epoch that it read last.
    pub epoch: u8,
    /// The leader of that epoch.
    pub leader: Option<BrokerId>,
    /// The fetches that it remembers.
    pub asked: PerBroker<Asked>,
    /// The view of a leader, if it is this broker.
    pub leading: Leadership,
}

/// A leader's view of its partition; it ends with the epoch.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Leadership {
    /// The in-sync set as it was last read.
    pub in_sync: BrokerSet,
    /// That set and all sets that were asked for and may be in force.
    pub maximal: BrokerSet,
    /// True if an eligible replica is recorded in a state that may hold.
    pub eligible: bool,
    /// True if the state node still has the version that was read.
    pub current: bool,
    /// True if the leader does not answer, because it has asked the store to hand over.
    pub silent: bool,
    /// The way in which this leader followed the one before.
    pub succession: Succession,
    /// The followers whose fetch, sent after an answer less than 1.5 s old, has arrived.
    pub proof: BrokerSet,
    /// The followers with such a fetch on its way.
    pub fetching: BrokerSet,
}

/// The way in which a leader followed the one before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Succession {
    /// There was none before.
    #[default]
    First,
    /// The controller elected it after the given leader.
    After(BrokerId),
    /// The given leader handed over to it.
    HandedOverBy(BrokerId),
}

impl Succession {
    /// The leader before.
    pub fn predecessor(self) -> Option<BrokerId> {
        match self {
            Self::First => None,
            Self::After(id) | Self::HandedOverBy(id) => Some(id),
        }
    }

    fn renamed(self, renaming: &Renaming) -> Self {
        match self {
            Self::First => Self::First,
            Self::After(id) => Self::After(renaming.id(id)),
            Self::HandedOverBy(id) => Self::HandedOverBy(renaming.id(id)),
        }
    }
}

/// A change of the state node that a leader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The broker joins the in-sync set.
    Add(BrokerId),
    /// The broker leaves the in-sync set.
    Remove(BrokerId),
    /// The broker is the next leader.
    HandOver(BrokerId),
}

/// A write on its way to the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Write {
    /// The session that sends it.
    pub session: u8,
    /// The epoch that it was computed in.
    pub epoch: u8,
    /// True if the state node still has the version that it names.
    pub current: bool,
    /// The change asked for.
    pub change: Change,
}

/// The partition's state node in the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateNode {
    /// The leader that was elected last.
    pub leader: BrokerId,
    /// The incarnation that was elected.
    pub incarnation: u8,
    /// The leader epoch.
    pub epoch: u8,
    /// The in-sync set.
    pub in_sync: BrokerSet,
    /// The eligible replicas.
    pub eligible: BrokerSet,
    /// The way in which this leader followed the one before.
    pub succession: Succession,
}

/// A state of the model.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The brokers.
    pub brokers: PerBroker<Broker>,
    /// The incarnation that is registered; 0 for none.
    pub registered: PerBroker<u8>,
    /// The last incarnation that is proved to have ended.
    pub ended: PerBroker<u8>,
    /// The writes on their way, at most one of each broker.
    pub writes: PerBroker<Option<Write>>,
    /// The state node.
    pub node: StateNode,
    /// Processes that were killed.
    pub kills: u8,
    /// Sessions that expired, of running and of stopped brokers.
    pub expiries: u8,
}

impl State {
    /// A partition that A leads in epoch 1, with this in-sync set.
    pub fn new(in_sync: BrokerSet) -> Self {
        let follower = Broker {
            running: true,
            incarnation: 1,
            lease: true,
            epoch: 1,
            leader: Some(BrokerId::A),
            ..Broker::default()
        };
        let node = StateNode {
            leader: BrokerId::A,
            incarnation: 1,
            epoch: 1,
            in_sync,
            eligible: BrokerSet::EMPTY,
            succession: Succession::First,
        };
        let mut state = Self {
            brokers: PerBroker([follower; 3]),
            registered: PerBroker([1; 3]),
            ended: PerBroker::default(),
            writes: PerBroker::default(),
            node,
            kills: 0,
            expiries: 0,
        };
        state.brokers[BrokerId::A].leading = Leadership::of(&node);
        state
    }

    /// Returns whether the broker runs and leads in its own view, which may be outdated.
    pub fn leads(&self, id: BrokerId) -> bool {
        self.brokers[id].running && self.brokers[id].leader == Some(id)
    }

    /// Returns whether the session that the broker opened last is alive.
    pub fn has_session(&self, id: BrokerId) -> bool {
        self.brokers[id].running && self.registered[id] == self.brokers[id].incarnation
    }

    /// Returns whether the state node names the broker in the epoch that the broker leads.
    pub fn is_leader(&self, id: BrokerId) -> bool {
        self.leads(id) && self.node.leader == id && self.node.epoch == self.brokers[id].epoch
    }

    /// Marks every version that was read as outdated.
    pub fn node_changed(&mut self) {
        for id in BrokerId::ALL {
            self.brokers[id].leading.current = false;
            if let Some(write) = &mut self.writes[id] {
                write.current = false;
            }
        }
    }

    /// A number that depends on a broker's part, but not on its name.
    pub fn rank(&self, id: BrokerId) -> u64 {
        let (broker, node) = (&self.brokers[id], &self.node);
        let asked = BrokerId::ALL.into_iter().filter(|&of| broker.asked[of] != Asked::No).count();
        u64::from_le_bytes([
            u8::from(node.leader == id),
            u8::from(node.in_sync.contains(id)) << 1 | u8::from(node.eligible.contains(id)),
            u8::from(broker.running) << 1 | u8::from(broker.lease),
            broker.incarnation,
            broker.epoch,
            broker.leading.proof.len(),
            u8::try_from(asked).unwrap_or(u8::MAX),
            self.registered[id],
        ])
    }

    /// The state under other names.
    #[must_use]
    pub fn renamed(&self, renaming: &Renaming) -> Self {
        let renamed_write = |write: &Option<Write>| {
            write.map(|write| Write { change: write.change.renamed(renaming), ..write })
        };
        Self {
            brokers: renaming.table(&self.brokers, |broker| broker.renamed(renaming)),
            registered: renaming.table(&self.registered, |incarnation| *incarnation),
            ended: renaming.table(&self.ended, |incarnation| *incarnation),
            writes: renaming.table(&self.writes, renamed_write),
            node: StateNode {
                leader: renaming.id(self.node.leader),
                in_sync: renaming.set(self.node.in_sync),
                eligible: renaming.set(self.node.eligible),
                succession: self.node.succession.renamed(renaming),
                ..self.node
            },
            ..*self
        }
    }
}

impl Broker {
    /// Clears the process's memory of the partition.
    pub fn forget_role(&mut self) {
        self.leader = None;
        self.leading = Leadership::default();
    }

    fn renamed(&self, renaming: &Renaming) -> Self {
        Self {
            leader: renaming.option(self.leader),
            asked: renaming.table(&self.asked, |asked| *asked),
            leading: Leadership {
                in_sync: renaming.set(self.leading.in_sync),
                maximal: renaming.set(self.leading.maximal),
                succession: self.leading.succession.renamed(renaming),
                proof: renaming.set(self.leading.proof),
                fetching: renaming.set(self.leading.fetching),
                ..self.leading
            },
            ..*self
        }
    }
}

impl Leadership {
    /// The view of a leader that has read the state node.
    pub fn of(node: &StateNode) -> Self {
        let mut leading = Self { succession: node.succession, ..Self::default() };
        leading.read(node);
        leading
    }

    /// Takes over the current state node.
    pub fn read(&mut self, node: &StateNode) {
        self.in_sync = node.in_sync;
        self.maximal = node.in_sync;
        self.eligible = !node.eligible.is_empty();
        self.current = true;
    }
}

impl Change {
    /// The broker that is added, removed or handed over to.
    pub fn subject(self) -> BrokerId {
        match self {
            Self::Add(id) | Self::Remove(id) | Self::HandOver(id) => id,
        }
    }

    fn renamed(self, renaming: &Renaming) -> Self {
        match self {
            Self::Add(id) => Self::Add(renaming.id(id)),
            Self::Remove(id) => Self::Remove(renaming.id(id)),
            Self::HandOver(id) => Self::HandOver(renaming.id(id)),
        }
    }
}
