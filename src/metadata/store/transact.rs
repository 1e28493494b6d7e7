//! Transactions whose outcome is known.

use crate::metadata::store::{CreateMode, Node, Op, OpResult, SessionError, Store, StoreError};

/// The maximum number of times that a transaction without effect is sent.
const ATTEMPTS_MAX: usize = 8;

/// Executes a transaction like [`Store::multi`]. If the store does not answer, the nodes are read
/// again: they show whether the transaction was executed, and it is repeated if it was not.
///
/// # Errors
/// Those of [`Store::multi`]; `OutcomeUnknown` only if the nodes cannot be read.
pub(in crate::metadata) async fn transact(
    store: &dyn Store,
    ops: Vec<Op>,
) -> Result<Vec<OpResult>, StoreError> {
    for _ in 0..ATTEMPTS_MAX {
        match store.multi(ops.clone()).await {
            Err(StoreError::Session(SessionError::OutcomeUnknown)) => {}
            answered => return answered,
        }
        let paths: Vec<String> = ops.iter().map(|op| op.path().to_owned()).collect();
        // Without the nodes, nothing is known but that there was no answer.
        let Ok(nodes) = store.read(&paths).await else { break };
        let effects = ops.iter().zip(&nodes).map(|(op, node)| effect(store, op, node.as_ref()));
        if let Some(results) = effects.collect() {
            return Ok(results);
        }
    }
    Err(SessionError::OutcomeUnknown.into())
}

/// The result of `op`, if the node is as `op` leaves it. Since a transaction is executed as a
/// whole, one node that is not shows that it was not executed, or that another writer came after
/// it; that writer's change makes a repetition fail.
fn effect(store: &dyn Store, op: &Op, node: Option<&Node>) -> Option<OpResult> {
    match (op, node) {
        // A check leaves no trace: the other operations decide.
        (Op::Check { .. }, _) => Some(OpResult::Checked),
        (Op::Create { path, value, mode }, Some(node)) => {
            let owner = (*mode == CreateMode::Ephemeral).then(|| store.session());
            let is_ours = node.version == 0 && node.value == *value && node.owner == owner;
            let (path, created) = (path.clone(), node.created);
            is_ours.then_some(OpResult::Created { path, created })
        }
        (Op::Set { value, version, .. }, Some(node)) => {
            let is_ours = node.version == version.wrapping_add(1) && node.value == *value;
            is_ours.then_some(OpResult::Set { version: node.version })
        }
        (Op::Delete { .. }, None) => Some(OpResult::Deleted),
        _ => None,
    }
}
