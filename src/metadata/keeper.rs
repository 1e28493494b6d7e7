//! Keeps the image in line with the store, and the store in line with the controller's plan.
//!
//! After every event and every write, the affected nodes are read again, and the image follows what
//! was read. So it does not matter whether a change was this broker's own, or whether an event was
//! coalesced with others. There is one keeper per broker, and it never reads an older state than
//! before.

use std::iter::Peekable;
use std::sync::Arc;

use crate::io::Clock;
use crate::metadata::controller::{Group, Office, plan};
use crate::metadata::image::Image;
use crate::metadata::image_builder::ImageBuilder;
use crate::metadata::layout::{Place, TOPICS};
use crate::metadata::store::{Store, children_prefix};
use crate::metadata::{MetadataError, Remedy};
use crate::types::BrokerId;

/// The maximum number of plans in a row. Beyond it another writer interferes, and the next event
/// triggers another plan.
const ROUNDS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Keeper {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    broker: BrokerId,
    builder: ImageBuilder,
    /// Only a registered broker may become controller.
    registered: bool,
    office: Option<Office>,
}

impl Keeper {
    pub(super) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, broker: BrokerId) -> Self {
        let builder = ImageBuilder::default();
        Self { store, clock, broker, builder, registered: false, office: None }
    }

    pub(super) fn stand_for_office(&mut self) {
        self.registered = true;
    }

    /// The image of the nodes read so far.
    pub(super) fn image(&mut self) -> Image {
        self.builder.build()
    }

    /// Reads everything, topic by topic: all nodes at once would double the memory.
    pub(super) async fn resync(&mut self) -> Result<(), MetadataError> {
        let mut builder = ImageBuilder::default();
        let mut unread = vec!["/".to_owned()];
        while let Some(path) = unread.pop() {
            let prefix = children_prefix(&path);
            if TOPICS.starts_with(prefix.trim_end_matches('/')) {
                let names = self.store.children(&path).await?;
                unread.extend(names.iter().map(|name| format!("{prefix}{name}")));
                continue;
            }
            for (path, node) in self.store.snapshot(&path).await? {
                builder.put(&path, Some(&node));
            }
        }
        self.builder = builder;
        Ok(())
    }

    /// Reads these nodes again.
    pub(super) async fn refresh(&mut self, paths: &[String]) -> Result<(), MetadataError> {
        for path in paths {
            let node = self.store.get(path).await?;
            self.builder.put(path, node.as_ref());
        }
        Ok(())
    }

    /// Executes the controller's plans until none is left, if this broker is or becomes the
    /// controller.
    pub(super) async fn settle(&mut self) -> Result<(), MetadataError> {
        for _ in 0..ROUNDS_MAX {
            let image = self.builder.build();
            let Some(office) = self.office(&image).await? else { return Ok(()) };
            // Claiming the controller role has read everything again.
            let image = self.builder.build();
            let mut groups = plan(&image, office.epoch).peekable();
            if groups.peek().is_none() {
                return Ok(());
            }
            self.execute(office, groups).await?;
        }
        tracing::warn!(rounds = ROUNDS_MAX, "the cluster changes faster than it can be settled");
        Ok(())
    }

    /// The claim to the controller role, if this broker holds it, or it was vacant and this broker
    /// got it.
    async fn office(&mut self, image: &Image) -> Result<Option<Office>, MetadataError> {
        let held = self.office.filter(|office| image.controller() == Some(office.holder));
        if held.is_some() || !self.registered || image.controller().is_some() {
            self.office = held;
            return Ok(held);
        }
        let now = self.clock.now();
        self.office = Office::take(&*self.store, self.broker, now).await?;
        if let Some(office) = self.office {
            tracing::info!(broker = %self.broker, epoch = office.epoch, "is the controller now");
        }
        // The last writes of the previous controller may not have been reported yet.
        self.resync().await?;
        Ok(self.office)
    }

    /// Executes the groups until one is refused; the nodes concerned are then up to date.
    async fn execute(
        &mut self,
        office: Office,
        mut groups: Peekable<impl Iterator<Item = Group>>,
    ) -> Result<(), MetadataError> {
        while groups.peek().is_some() {
            let (nodes, result) = office.write(&*self.store, &mut groups).await;
            self.refresh(&nodes).await?;
            match result {
                Ok(()) => {}
                Err(error) if error.remedy() == Remedy::Refresh => {
                    tracing::debug!(%error, "planned on an old image");
                    return self.refresh(&[Place::Controller.to_string()]).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
