//! Producer ids: reserved in the store in blocks, assigned one by one.

use std::ops::Range;

use crate::metadata::layout::NodePath;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::Op;
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
        let unreadable = |reason| MetadataError::malformed(&path, reason);
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let node = store.get(&path).await?;
            let first = match &node {
                Some(node) => decode::<ProducerIdBlock>(&node.value).and_then(|block| block.next()),
                None => Ok(ProducerId(0)),
            };
            let ProducerId(first) = first.map_err(unreadable)?;
            let end = first.saturating_add(BLOCK_IDS);
            let (first_id, last_id) = (ProducerId(first), ProducerId(end - 1));
            let value = encode(&ProducerIdBlock::new(self.broker.0, first_id, last_id));
            let op = match node {
                Some(node) => Op::set(path.clone(), value, node.version),
                None => Op::create(path.clone(), value),
            };
            match self.execute(&*store, vec![op]).await {
                Ok(_) => return Ok(first..end),
                Err(error) => attempts.again(error)?,
            }
        }
    }
}
