//! The claim to the controller role, and writing under it.

use std::iter::Peekable;

use crate::metadata::controller::plan::Group;
use crate::metadata::image::{Controller, Image};
use crate::metadata::layout::NodePath;
use crate::metadata::store::{Node, Op, OpResult, Store, StoreError, transact};
use crate::metadata::values::{ControllerValue, decode_broker, decode_controller_epoch, encode};
use crate::metadata::{MetadataError, Remedy};
use crate::types::{BrokerId, Timestamp};

/// The maximum number of operations of a transaction.
const OPERATIONS_MAX: usize = 500;
/// The maximum size of a transaction in bytes, well below the limits of stores.
const BYTES_MAX: usize = 512 * 1024;

/// A claim to be the controller. Only the store knows whether it still holds, so each write checks
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metadata) struct ControllerClaim {
    /// The broker, and the transaction that made it controller.
    pub(in crate::metadata) holder: Controller,
    /// The controller epoch.
    pub(in crate::metadata) epoch: i32,
    /// The version of the controller epoch's node, which the next controller changes.
    epoch_version: i32,
}

impl ControllerClaim {
    /// Claims the controller role for a broker that is registered in this session; `None` if it is
    /// not or has begun to stop, or if another broker was first.
    ///
    /// If the node of the controller epoch was deleted or damaged by hand, the epoch follows the
    /// last one that `image` knows.
    pub(in crate::metadata) async fn acquire(
        store: &dyn Store,
        broker: BrokerId,
        image: &Image,
        now: Timestamp,
    ) -> Result<Option<Self>, MetadataError> {
        let epoch_path = NodePath::ControllerEpoch.to_string();
        let node = store.get(&epoch_path).await?;
        let told = node.as_ref().and_then(|node| decode_controller_epoch(&node.value).ok());
        let epoch = 1 + told.unwrap_or_else(|| {
            tracing::warn!("{epoch_path} was deleted or damaged by hand: it is written again");
            last_epoch(image)
        });
        let own = NodePath::Broker(broker).to_string();
        let registration = store.get(&own).await?;
        let Some(registration) = registration.filter(|node| may_claim(store, broker, node)) else {
            return Ok(None);
        };
        let value = encode(&ControllerValue::new(broker.0, now.millis()));
        let ops = vec![
            Op::create_ephemeral(NodePath::Controller.to_string(), value),
            match &node {
                Some(node) => Op::set(epoch_path, epoch.to_string(), node.version),
                None => Op::create(epoch_path, epoch.to_string()),
            },
            Op::check(own, registration.version),
        ];
        let results = match transact(store, ops).await {
            Ok(results) => results,
            Err(error) if error.remedy() == Remedy::Refresh => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let [OpResult::Created { created, .. }, of_epoch, ..] = &results[..] else {
            panic!("a creation and a write answered {results:?}");
        };
        let holder = Controller { broker, elected: *created };
        Ok(Some(Self { holder, epoch, epoch_version: of_epoch.version_after() }))
    }

    /// Gives up the controller role if this session has it without knowing, since the answer to the
    /// claim was lost, or if no session has it, since somebody has created the node by hand; the
    /// role can then be claimed again. Returns false if another session has it.
    pub(in crate::metadata) async fn release(store: &dyn Store) -> Result<bool, MetadataError> {
        let path = NodePath::Controller.to_string();
        let Some(node) = store.get(&path).await? else { return Ok(true) };
        if node.owner.is_some_and(|owner| owner != store.session()) {
            return Ok(false);
        }
        match transact(store, vec![Op::delete(path, node.version)]).await {
            Ok(_) => Ok(true),
            // Another broker was faster, or has claimed the role.
            Err(error) if error.remedy() == Remedy::Refresh => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes as many groups, in order, as fit into one transaction, and executes them. The returned
    /// nodes must be read again whatever the result.
    pub(in crate::metadata) async fn write(
        &self,
        store: &dyn Store,
        groups: &mut Peekable<impl Iterator<Item = Group>>,
    ) -> (Vec<String>, Result<(), StoreError>) {
        let mut ops = vec![Op::check(NodePath::ControllerEpoch.to_string(), self.epoch_version)];
        let mut bytes = 0;
        let mut is_first = true;
        while let Some(group) = groups.next_if(|group| {
            bytes += group.iter().map(Op::size).sum::<usize>();
            is_first || (ops.len() + group.len() <= OPERATIONS_MAX && bytes <= BYTES_MAX)
        }) {
            ops.extend(group);
            is_first = false;
        }
        let nodes = ops.iter().map(|op| op.path().to_owned()).collect();
        (nodes, store.multi(ops).await.map(drop))
    }
}

/// The last controller epoch in which a state was written.
fn last_epoch(image: &Image) -> i32 {
    let partitions = image.topics().flat_map(|topic| &topic.partitions);
    let states = partitions.filter_map(|partition| partition.state.as_ref());
    states.map(|state| state.controller_epoch).max().unwrap_or(0).clamp(0, i32::MAX - 1)
}

/// Returns true if the node is this session's registration of a broker that does not stop.
fn may_claim(store: &dyn Store, broker: BrokerId, node: &Node) -> bool {
    let found = decode_broker(broker, &node.value, node.created);
    node.owner == Some(store.session())
        && found.is_ok_and(|broker| !broker.registration.is_stopping)
}
