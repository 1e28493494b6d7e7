//! Keeps the image as the store is, and the store as the controller wants it.
//!
//! Whatever is told or done, the nodes concerned are read again and the image follows what was
//! read. So it does not matter whether a change was our own, or whether an event was lost among
//! others. One keeper per broker; what it reads is never older than what it read before.

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

/// How often in a row the controller plans again. Beyond it something else writes against it, and
/// the next event will do.
const ROUNDS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Keeper {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    broker: BrokerId,
    builder: ImageBuilder,
    /// Only a registered broker stands for the office.
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

    /// The image of what was read so far.
    pub(super) fn image(&mut self) -> Image {
        self.builder.build()
    }

    /// Reads everything, topic by topic: all nodes at once would be in memory twice.
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

    /// Reads these nodes.
    pub(super) async fn refresh(&mut self, paths: &[String]) -> Result<(), MetadataError> {
        for path in paths {
            let node = self.store.get(path).await?;
            self.builder.put(path, node.as_ref());
        }
        Ok(())
    }

    /// Does what the controller has to do, if this broker is or becomes it, until nothing is left.
    pub(super) async fn settle(&mut self) -> Result<(), MetadataError> {
        for _ in 0..ROUNDS_MAX {
            let image = self.builder.build();
            let Some(office) = self.office(&image).await? else { return Ok(()) };
            // Taking the office read everything again.
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

    /// The office, if this broker holds it, or it is vacant and this broker gets it.
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
        // What a predecessor wrote last may not have been told yet.
        self.resync().await?;
        Ok(self.office)
    }

    /// Executes the groups until one does not hold: then its nodes are known as they are.
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
