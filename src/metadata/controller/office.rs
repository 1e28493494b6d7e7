//! Being the controller: how the office is taken, and writing with its authority.

use std::iter::Peekable;

use crate::metadata::controller::plan::Group;
use crate::metadata::image::Controller;
use crate::metadata::layout::Place;
use crate::metadata::store::{Op, OpResult, Store, StoreError};
use crate::metadata::values::{ControllerValue, decode_controller_epoch, encode};
use crate::metadata::{MetadataError, Remedy};
use crate::types::{BrokerId, Timestamp};

/// The most operations in one transaction.
const OPERATIONS_MAX: usize = 500;
/// The most bytes in one transaction, well below what a store takes.
const BYTES_MAX: usize = 512 * 1024;

/// A reign. Whether it lasts is known only to the store; every write asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metadata) struct Office {
    /// Who, and since when.
    pub(in crate::metadata) holder: Controller,
    /// The number of the reign.
    pub(in crate::metadata) epoch: i32,
    /// Version of the node with that number: it changes with the next reign.
    epoch_version: i32,
}

impl Office {
    /// Takes the office for a registered broker; `None` when another was faster.
    pub(in crate::metadata) async fn take(
        store: &dyn Store,
        broker: BrokerId,
        now: Timestamp,
    ) -> Result<Option<Self>, MetadataError> {
        let epoch_path = Place::ControllerEpoch.to_string();
        let Some(node) = store.get(&epoch_path).await? else {
            return Err(StoreError::NoNode { path: epoch_path }.into());
        };
        let epoch = decode_controller_epoch(&node.value)
            .map_err(|reason| MetadataError::malformed(&epoch_path, reason))?
            + 1;
        let value = encode(&ControllerValue::new(broker.0, now.millis()));
        let ops = vec![
            Op::create_ephemeral(Place::Controller.to_string(), value),
            Op::set(epoch_path, epoch.to_string(), node.version),
            Op::check(Place::Broker(broker).to_string(), 0),
        ];
        let results = match store.multi(ops).await {
            Ok(results) => results,
            Err(error) if error.remedy() == Remedy::Refresh => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let [OpResult::Created { created, .. }, OpResult::Set { version }, ..] = results[..] else {
            panic!("a creation and a write answered {results:?}");
        };
        let holder = Controller { broker, elected: created };
        Ok(Some(Self { holder, epoch, epoch_version: version }))
    }

    /// Takes as many of the groups as belong into the next transaction, in order, and executes
    /// them. The nodes returned must be read again whatever the result.
    pub(in crate::metadata) async fn write(
        &self,
        store: &dyn Store,
        groups: &mut Peekable<impl Iterator<Item = Group>>,
    ) -> (Vec<String>, Result<(), StoreError>) {
        let mut ops = vec![Op::check(Place::ControllerEpoch.to_string(), self.epoch_version)];
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
