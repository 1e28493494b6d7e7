//! What has settings, as people name it: `topic/orders`, `node/1`, `nodes`.

use std::str::FromStr;

use crate::client::Resource;
use crate::types::BrokerId;

/// A topic, a broker, or all brokers together.
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
