//! The layout of the tree: Kafka's paths, and a few of streamlog's own.
//!
//! | path | value | streamlog's own |
//! |---|---|---|
//! | `/streamlog` | format of the tree; if missing, existing nodes are another system's | yes |
//! | `/streamlog/brokers/<id>` | a broker that has registered, alive or not | yes |
//! | `/streamlog/sessions/<id>` | exists while the session of a registered broker does; ephemeral | yes |
//! | `/streamlog/unclean_elections/<…>` | an election that gave up records, for people to read | yes |
//! | `/cluster/id` | id of the cluster | |
//! | `/brokers/ids/<id>` | registration of a live broker; ephemeral | |
//! | `/brokers/topics/<topic>` | id and replica assignment of a topic | |
//! | `/brokers/topics/<topic>/partitions` | the first new partition without a state, if any | |
//! | `/brokers/topics/<topic>/partitions/<p>/state` | leader, epoch, in-sync replicas | |
//! | `/config/topics/<topic>` | settings of a topic that differ from the broker's | |
//! | `/config/brokers` | the names of its children | yes |
//! | `/config/brokers/<id>` | settings of a broker changed while it ran | |
//! | `/config/brokers/<default>` | settings of all brokers changed while they ran | |
//! | `/controller` | the broker that is the controller; ephemeral | |
//! | `/controller_epoch` | the number of controllers so far | |
//! | `/latest_producer_id_block` | the last block of producer ids handed out | |
//! | `/admin/deleted_topics/<topic id>` | tombstone: the brokers that have data to remove | yes |
//!
//! The value of `/streamlog/brokers/<id>` tells, as of the last registration: rack, data directory,
//! and whether the broker had been shut down cleanly before. It also tells the last registrations
//! that are known to have ended and to have stopped in order, and the token of the last
//! registration with each of the broker's data directories.

use std::fmt;

use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName};

/// The empty nodes that exist from the start, parents first.
pub(super) const DIRECTORIES: &[&str] = &[
    "/cluster",
    "/brokers",
    BROKERS,
    "/brokers/topics",
    "/config",
    "/config/topics",
    BROKER_CONFIGS,
    "/admin",
    "/admin/deleted_topics",
];

/// The parent of the registrations of live brokers.
pub(super) const BROKERS: &str = "/brokers/ids";

/// The parent of the nodes with settings of brokers.
pub(super) const BROKER_CONFIGS: &str = "/config/brokers";

/// The parent of all topics' nodes. It and its ancestors have no values.
pub(super) const TOPICS: &str = "/brokers/topics";

/// The subtrees that every broker follows. Other nodes, such as the offsets of consumers that
/// coordinate by the store, change often and concern no broker.
pub(super) const FOLLOWED: &[&str] = &[
    "/cluster",
    "/brokers",
    "/config",
    "/controller",
    "/controller_epoch",
    "/admin",
    KNOWN_BROKERS,
    SESSIONS,
];

/// The parent of the nodes of known brokers, created with the first of them.
pub(super) const KNOWN_BROKERS: &str = "/streamlog/brokers";

/// The parent of the nodes that show which sessions go on, created with the first of them.
pub(super) const SESSIONS: &str = "/streamlog/sessions";

/// The parent of the nodes that document unclean elections, created with the first of them. No
/// broker follows these nodes.
pub(super) const UNCLEAN_ELECTIONS: &str = "/streamlog/unclean_elections";

/// A node of the tree; its text form is the path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NodePath {
    Marker,
    ClusterId,
    Broker(BrokerId),
    KnownBroker(BrokerId),
    Session(BrokerId),
    Topic(TopicName),
    Partitions(TopicName),
    Partition(TopicName, PartitionIndex),
    PartitionState(TopicName, PartitionIndex),
    TopicConfig(TopicName),
    BrokerConfigs,
    /// `None` stands for the defaults of all brokers.
    BrokerConfig(Option<BrokerId>),
    Controller,
    ControllerEpoch,
    ProducerIds,
    DeletedTopic(TopicId),
}

const DEFAULT_BROKER: &str = "<default>";

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marker => f.write_str("/streamlog"),
            Self::ClusterId => f.write_str("/cluster/id"),
            Self::Broker(id) => write!(f, "{BROKERS}/{id}"),
            Self::KnownBroker(id) => write!(f, "{KNOWN_BROKERS}/{id}"),
            Self::Session(id) => write!(f, "{SESSIONS}/{id}"),
            Self::Topic(topic) => write!(f, "/brokers/topics/{topic}"),
            Self::Partitions(topic) => write!(f, "/brokers/topics/{topic}/partitions"),
            Self::Partition(topic, p) => write!(f, "/brokers/topics/{topic}/partitions/{p}"),
            Self::PartitionState(topic, p) => {
                write!(f, "/brokers/topics/{topic}/partitions/{p}/state")
            }
            Self::TopicConfig(topic) => write!(f, "/config/topics/{topic}"),
            Self::BrokerConfigs => f.write_str(BROKER_CONFIGS),
            Self::BrokerConfig(id) => write!(f, "{BROKER_CONFIGS}/{}", broker_config_name(*id)),
            Self::Controller => f.write_str("/controller"),
            Self::ControllerEpoch => f.write_str("/controller_epoch"),
            Self::ProducerIds => f.write_str("/latest_producer_id_block"),
            Self::DeletedTopic(id) => write!(f, "/admin/deleted_topics/{id}"),
        }
    }
}

impl NodePath {
    /// True if the node ends with the session of a broker.
    pub(super) fn is_ephemeral(&self) -> bool {
        matches!(self, Self::Broker(_) | Self::Session(_) | Self::Controller)
    }

    /// Parses a path; `None` if it is not one of these nodes.
    pub(super) fn of(path: &str) -> Option<Self> {
        let names: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let node_path = match names.as_slice() {
            ["streamlog"] => Self::Marker,
            ["streamlog", "brokers", id] => Self::KnownBroker(broker(id)?),
            ["streamlog", "sessions", id] => Self::Session(broker(id)?),
            ["cluster", "id"] => Self::ClusterId,
            ["brokers", "ids", id] => Self::Broker(broker(id)?),
            ["brokers", "topics", topic] => Self::Topic(topic.parse().ok()?),
            ["brokers", "topics", topic, "partitions"] => Self::Partitions(topic.parse().ok()?),
            ["brokers", "topics", topic, "partitions", p] => {
                Self::Partition(topic.parse().ok()?, partition(p)?)
            }
            ["brokers", "topics", topic, "partitions", p, "state"] => {
                Self::PartitionState(topic.parse().ok()?, partition(p)?)
            }
            ["config", "topics", topic] => Self::TopicConfig(topic.parse().ok()?),
            ["config", "brokers"] => Self::BrokerConfigs,
            ["config", "brokers", id] if *id == DEFAULT_BROKER => Self::BrokerConfig(None),
            ["config", "brokers", id] => Self::BrokerConfig(Some(broker(id)?)),
            ["controller"] => Self::Controller,
            ["controller_epoch"] => Self::ControllerEpoch,
            ["latest_producer_id_block"] => Self::ProducerIds,
            ["admin", "deleted_topics", id] => Self::DeletedTopic(id.parse().ok()?),
            _ => return None,
        };
        // `007` and `+7` are other nodes than `7`.
        Some(node_path).filter(|node_path| node_path.to_string() == path)
    }
}

/// The name of the node with the settings of a broker, or with `None` of all brokers.
pub(super) fn broker_config_name(broker: Option<BrokerId>) -> String {
    broker.map_or_else(|| DEFAULT_BROKER.to_owned(), |id| id.to_string())
}

fn broker(text: &str) -> Option<BrokerId> {
    text.parse().ok().map(BrokerId)
}

fn partition(text: &str) -> Option<PartitionIndex> {
    text.parse().ok().filter(|index| *index >= 0).map(PartitionIndex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_path_parses_its_own_text() {
        let topic: TopicName = "web.clicks".parse().unwrap();
        for node_path in [
            NodePath::Marker,
            NodePath::ClusterId,
            NodePath::Broker(BrokerId(7)),
            NodePath::KnownBroker(BrokerId(7)),
            NodePath::Session(BrokerId(7)),
            NodePath::Topic(topic.clone()),
            NodePath::Partitions(topic.clone()),
            NodePath::Partition(topic.clone(), PartitionIndex(3)),
            NodePath::PartitionState(topic.clone(), PartitionIndex(3)),
            NodePath::TopicConfig(topic),
            NodePath::BrokerConfig(Some(BrokerId(7))),
            NodePath::BrokerConfig(None),
            NodePath::Controller,
            NodePath::ControllerEpoch,
            NodePath::ProducerIds,
            NodePath::DeletedTopic(TopicId::random()),
        ] {
            assert_eq!(NodePath::of(&node_path.to_string()), Some(node_path));
        }
        for path in [
            "",
            "/",
            "/brokers/ids/x",
            "/brokers/topics/t/partitions/-1",
            "/consumers/g",
            "/brokers/ids/07",
        ] {
            assert_eq!(NodePath::of(path), None, "{path}");
        }
    }
}
