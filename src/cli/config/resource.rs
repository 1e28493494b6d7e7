//! Resources with settings, as typed: `topic/orders`, `node/1`, `nodes`.

use std::str::FromStr;

use crate::cli::CommandError;
use crate::client::{Admin, Resource};
use crate::types::BrokerId;

/// A topic, a broker, or all brokers.
#[derive(Clone, Debug)]
pub(super) struct Named(pub(super) Resource);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let resource = match text.split_once('/') {
            Some(("topic", name)) if !name.is_empty() => Some(Resource::Topic(name.to_owned())),
            Some(("node", number)) => number.parse().ok().map(|id| Resource::Broker(BrokerId(id))),
            None if text == "nodes" => Some(Resource::Brokers),
            _ => None,
        };
        resource.map(Self).ok_or_else(|| "expected topic/NAME, node/NUMBER or nodes".to_owned())
    }
}

impl Named {
    /// Returns the resource, or an error for a broker that is not in the cluster, for which the
    /// client would wait until its timeout.
    pub(super) fn find(self, admin: &Admin) -> Result<Resource, CommandError> {
        if let Resource::Broker(node) = self.0 {
            let nodes: Vec<_> = admin.cluster()?.brokers.iter().map(|broker| broker.id).collect();
            if !nodes.contains(&node) {
                return Err(CommandError::NodeNotFound { node, nodes });
            }
        }
        Ok(self.0)
    }
}
