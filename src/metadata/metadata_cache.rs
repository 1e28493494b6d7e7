//! Keeps the image in line with the store, and the store in line with the controller's plan.
//!
//! After every event and every write, the affected nodes are read again, and the image is updated
//! from the nodes read. So it does not matter whether a change was this broker's own, or whether an
//! event was coalesced with others. There is one cache per broker, and it never reads a state older
//! than one that it has read.

use std::iter::Peekable;
use std::sync::Arc;
use std::time::Duration;

use crate::io::Clock;
use crate::metadata::controller::{
    AwaitedReports, Basis, BlockedNodes, ControllerClaim, Group, plan,
};
use crate::metadata::image::{Image, Incarnation};
use crate::metadata::image_builder::ImageBuilder;
use crate::metadata::layout::{BROKER_CONFIGS, FOLLOWED, NodePath, TOPICS};
use crate::metadata::store::{Store, StoreError, children_prefix};
use crate::metadata::{MetadataConfig, MetadataError, Remedy};
use crate::types::BrokerId;

/// The maximum number of nodes read by one call.
const NODES_AT_ONCE: usize = 1000;

/// The maximum number of plans in a row; the count begins again when a node is blocked. If they do
/// not suffice, another writer interferes, and the next event triggers another plan.
const ROUNDS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct MetadataCache {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    broker: BrokerId,
    builder: ImageBuilder,
    config: MetadataConfig,
    /// The last image for which nothing was due, in this claim to the controller role.
    settled: Option<Image>,
    /// The registration of this broker in this session. Without one, the broker may not become
    /// controller.
    registered: Option<Incarnation>,
    claim: Option<ControllerClaim>,
    blocked: BlockedNodes,
    /// The partitions for whose replicas this controller waits.
    awaited: AwaitedReports,
}

impl MetadataCache {
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        broker: BrokerId,
        config: MetadataConfig,
    ) -> Self {
        Self {
            store,
            clock,
            broker,
            builder: ImageBuilder::default(),
            config,
            settled: None,
            registered: None,
            claim: None,
            blocked: BlockedNodes::default(),
            awaited: AwaitedReports::default(),
        }
    }

    pub(super) fn mark_registered(&mut self, incarnation: Incarnation) {
        self.registered = Some(incarnation);
    }

    /// True if this broker has registered in the current session, and its registration exists and
    /// can be read. The registration of another process under the same id is not its own.
    pub(super) fn is_registered(&self) -> bool {
        self.registered.is_some() && self.builder.incarnation_of(self.broker) == self.registered
    }

    /// True if the node by which this broker is known while it is away exists and can be read.
    pub(super) fn is_known(&self) -> bool {
        self.builder.knows(self.broker)
    }

    /// True if the node exists that shows that this broker's session goes on.
    pub(super) fn has_session_node(&self) -> bool {
        self.builder.has_session(self.broker)
    }

    /// Reads everything in a new session; registration and claim ended with the previous one.
    pub(super) async fn begin_session(
        &mut self,
        store: Arc<dyn Store>,
    ) -> Result<(), MetadataError> {
        self.store = store;
        self.registered = None;
        self.claim = None;
        self.settled = None;
        self.awaited = AwaitedReports::default();
        self.resync().await
    }

    /// The image of the nodes read so far.
    pub(super) fn image(&mut self) -> Image {
        self.builder.build()
    }

    /// The time, by the monotonic clock, at which an election may become due although nothing has
    /// changed in the store.
    pub(super) fn next_election(&self) -> Option<Duration> {
        self.awaited.next_end()
    }

    /// Reads everything, topic by topic: all nodes at once would double the memory.
    pub(super) async fn resync(&mut self) -> Result<(), MetadataError> {
        let is_private = self.store.last_heard().is_none();
        let mut builder = ImageBuilder::after(&self.builder, is_private);
        builder.put(BROKER_CONFIGS, None);
        let mut unread: Vec<String> = FOLLOWED.iter().map(|path| (*path).to_owned()).collect();
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
        self.blocked = BlockedNodes::default();
        // Nodes that were created meanwhile may lack others that were read before.
        let incomplete = self.builder.incomplete();
        self.read_again(&incomplete).await
    }

    /// Reads these nodes, which have changed.
    pub(super) async fn refresh(&mut self, paths: &[String]) -> Result<(), MetadataError> {
        for path in paths {
            self.blocked.remove(path);
        }
        self.read_again(paths).await
    }

    async fn read_again(&mut self, paths: &[String]) -> Result<(), MetadataError> {
        self.read_each(paths).await?;
        // A topic is read as it is now, but the events of the nodes below it may come later.
        // Without these reads their states would be taken for deleted ones until then, and so would
        // its settings, and those of brokers.
        let beside: Vec<String> =
            paths.iter().flat_map(|path| self.builder.missing_beside(path)).collect();
        self.read_each(&beside).await?;
        let missing = paths.iter().flat_map(|path| self.builder.missing_states(path));
        let missing: Vec<String> = missing.collect();
        self.read_each(&missing).await
    }

    async fn read_each(&mut self, paths: &[String]) -> Result<(), MetadataError> {
        for paths in paths.chunks(NODES_AT_ONCE) {
            for (path, node) in paths.iter().zip(self.store.read(paths).await?) {
                self.builder.put(path, node.as_ref());
            }
        }
        Ok(())
    }

    /// Executes the controller's plans until none is left, if this broker is or becomes the
    /// controller.
    pub(super) async fn settle(&mut self) -> Result<(), MetadataError> {
        let mut last_refusal = None;
        let mut rounds = 0;
        while rounds < ROUNDS_MAX {
            let image = self.builder.build();
            let Some(claim) = self.claim_controller(&image).await? else {
                self.awaited = AwaitedReports::default();
                return Ok(());
            };
            // If the controller role was claimed just now, everything was read again.
            let image = self.builder.build();
            if self.awaited.advance(self.clock.monotonic()) {
                self.settled = None;
            }
            let (settled, config) = (self.settled.take(), self.config.clone());
            let mut basis = Basis {
                image: &image,
                settled: settled.as_ref(),
                epoch: claim.epoch,
                config: &config,
                awaited: None,
            };
            let changed = basis.concerned().map(|topic| &**topic);
            self.awaited.update(&image, changed, config.election_wait);
            let awaited = self.awaited.clone();
            basis.awaited = Some(&awaited);
            let blocked = self.blocked.clone();
            let groups = plan(basis).filter(|group| !blocked.covers(group));
            let mut groups = groups.peekable();
            if groups.peek().is_none() {
                drop(groups);
                // A blocked change must be planned again once its node has changed.
                self.settled = blocked.is_empty().then_some(image);
                return Ok(());
            }
            let refusal = self.execute(claim, groups).await?;
            self.settled = settled;
            let words = refusal.as_ref().map(ToString::to_string);
            let repeated = refusal.filter(|_| words == last_refusal);
            let is_progress = repeated.is_some_and(|refusal| self.blocked.add(&refusal));
            rounds = if is_progress { 0 } else { rounds + 1 };
            last_refusal = words;
        }
        tracing::warn!(rounds = ROUNDS_MAX, "the cluster changes faster than it can be settled");
        Ok(())
    }

    /// Returns the claim to the controller role if this broker holds the role, or acquires it
    /// because it was vacant.
    async fn claim_controller(
        &mut self,
        image: &Image,
    ) -> Result<Option<ControllerClaim>, MetadataError> {
        let held = self.claim.filter(|claim| image.controller() == Some(claim.holder));
        self.claim = held;
        if held.is_some() || self.registered.is_none() {
            return Ok(held);
        }
        let is_taken = image.controller().is_some() || image.is_controller_broken();
        if image.controller().is_some_and(|controller| controller.broker != self.broker)
            || (is_taken && !ControllerClaim::release(&*self.store).await?)
        {
            return Ok(None);
        }
        let now = self.clock.now();
        self.settled = None;
        self.claim = ControllerClaim::acquire(&*self.store, self.broker, image, now).await?;
        if let Some(claim) = self.claim {
            tracing::info!(broker = %self.broker, epoch = claim.epoch, "is the controller now");
        }
        // The last writes of the previous controller may not have been reported yet.
        self.resync().await?;
        Ok(self.claim)
    }

    /// Executes the groups until one is refused, and returns the refusal; the nodes concerned are
    /// then up to date.
    async fn execute(
        &mut self,
        claim: ControllerClaim,
        mut groups: Peekable<impl Iterator<Item = Group>>,
    ) -> Result<Option<StoreError>, MetadataError> {
        while groups.peek().is_some() {
            let (nodes, result) = claim.write(&*self.store, &mut groups).await;
            self.read_again(&nodes).await?;
            match result {
                Ok(()) => {}
                Err(error) if error.remedy() == Remedy::Refresh => {
                    tracing::debug!(%error, "planned on an old image");
                    self.read_again(&[NodePath::Controller.to_string()]).await?;
                    if error.path() == Some(&NodePath::ControllerEpoch.to_string()) {
                        // The role, if it is still this broker's, must be claimed again.
                        self.claim = None;
                    }
                    return Ok(Some(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}
