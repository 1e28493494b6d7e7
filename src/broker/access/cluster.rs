//! The metadata of the cluster, as far as every handler may see it.

use std::sync::Arc;

use crate::broker::errors::Refusal;
use crate::engine::EngineState;
use crate::metadata::Image;
use crate::types::{BrokerId, ProducerId};

/// The metadata of the cluster.
pub(crate) struct Cluster<'a> {
    engine: &'a Arc<EngineState>,
}

impl<'a> Cluster<'a> {
    /// Creates access to the metadata of an engine.
    pub(crate) fn new(engine: &'a Arc<EngineState>) -> Self {
        Self { engine }
    }

    /// The current image.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.engine.image()
    }

    /// The id of this broker.
    pub(crate) fn broker_id(&self) -> BrokerId {
        self.engine.config.broker_id
    }

    /// A producer id that no other producer of the cluster has.
    pub(crate) async fn new_producer_id(&self) -> Result<ProducerId, Refusal> {
        let engine = Arc::clone(self.engine);
        let id = self.engine.control.run(async move { engine.metadata.new_producer_id().await });
        Ok(id.await??)
    }
}
