//! Producer ids: reserved in the store in blocks, assigned one by one.
//!
//! An id that is assigned twice loses records: a partition takes the first batches of the second
//! producer for repetitions of the first one's, and acknowledges them. So a block does not begin by
//! the value of its node alone, which somebody may have deleted or edited: each block costs a
//! transaction, and so the transaction that created the node and the number of its writes bound the
//! blocks that can have been reserved before.

use std::ops::Range;

use crate::metadata::layout::NodePath;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Node, Op};
use crate::metadata::values::{ProducerIdBlock, decode, encode};
use crate::metadata::{Metadata, MetadataError};
use crate::types::ProducerId;

const BLOCK_IDS: i64 = 1000;

impl Metadata {
    /// A producer id that has never been assigned. If the broker stops, the rest of its block is
    /// never used.
    ///
    /// # Errors
    /// The errors of the store, which is needed once in a thousand calls.
    pub async fn new_producer_id(&self) -> Result<ProducerId, MetadataError> {
        let mut block = self.producer_ids.lock().await;
        if block.is_empty() {
            *block = self.new_block().await?;
        }
        let id = block.start;
        block.start += 1;
        Ok(ProducerId(id))
    }

    async fn new_block(&self) -> Result<Range<i64>, MetadataError> {
        let path = NodePath::ProducerIds.to_string();
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let Some(node) = store.get(&path).await? else {
                // Its creation is a transaction after all that reserved blocks before.
                let creation = self.execute(&*store, vec![Op::create(path.clone(), "")]).await;
                if let Err(error) = creation {
                    attempts.again(error)?;
                }
                continue;
            };
            let block = next_block(&node).map_err(|reason| MetadataError::Malformed {
                path: path.clone(),
                reason: reason.to_owned(),
            })?;
            let (first, last) = (ProducerId(block.start), ProducerId(block.end - 1));
            let value = encode(&ProducerIdBlock::new(self.broker.0, first, last));
            let op = Op::set(path.clone(), value, node.version);
            match self.execute(&*store, vec![op]).await {
                Ok(_) => {}
                Err(error) => {
                    attempts.again(error)?;
                    continue;
                }
            }
            // Somebody may have deleted the node since it was read, and a new one may have reached
            // the same version: then others may have reserved the same block from the first.
            let written = store.get(&path).await?;
            if written.is_some_and(|written| written.created == node.created) {
                return Ok(block);
            }
        }
    }
}

/// The next block of ids, none of which has been assigned.
///
/// # Errors
/// No ids are left.
fn next_block(node: &Node) -> Result<Range<i64>, &'static str> {
    let told = decode::<ProducerIdBlock>(&node.value).and_then(|block| block.next());
    let blocks = node.created.max(0).checked_add(i64::from(node.version));
    let bound = blocks.and_then(|blocks| blocks.checked_mul(BLOCK_IDS));
    let start = bound.map(|bound| told.map_or(bound, |ProducerId(told)| told.max(bound)));
    let block = start.and_then(|start| Some(start..start.checked_add(BLOCK_IDS)?));
    block.ok_or("no producer ids are left")
}
