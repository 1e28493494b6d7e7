//! Transactions whose outcome is known.

use crate::metadata::store::{CreateMode, Node, Op, OpResult, SessionError, Store, StoreError};

/// The maximum number of times that a transaction is sent while its effect is not seen.
const ATTEMPTS_MAX: usize = 8;

/// Executes a transaction like [`Store::multi`]. If the store does not answer, the nodes are read
/// again. They show whether the transaction was executed; if it was not, it is repeated.
///
/// # Errors
/// Those of [`Store::multi`]. `OutcomeUnknown` if the nodes cannot be read, or all attempts failed.
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
        // If the nodes cannot be read, the outcome stays unknown.
        let Ok(nodes) = store.read(&paths).await else { break };
        let effects = ops.iter().zip(&nodes).map(|(op, node)| effect(store, op, node.as_ref()));
        if let Some(results) = effects.collect() {
            return Ok(results);
        }
    }
    Err(SessionError::OutcomeUnknown.into())
}

/// The result of `op`, if the node is as `op` leaves it. A transaction is executed as a whole. So
/// if a single node is different, the transaction was not executed, or another writer came after
/// it. That writer's change makes a repetition fail.
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
