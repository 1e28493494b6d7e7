//! One broker's view of the cluster: its image, and the operations that change it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};

use crate::io::Clock;
use crate::metadata::bootstrap::bootstrap;
use crate::metadata::image::{Delta, Image, Incarnation, Registration};
use crate::metadata::layout::NodePath;
use crate::metadata::metadata_cache::MetadataCache;
use crate::metadata::store::{Event, Op, OpResult, Store, StoreError, Watch};
use crate::metadata::values::encode_broker;
use crate::metadata::{MetadataConfig, MetadataError, Remedy};
use crate::types::BrokerId;

/// The pause before the controller retries after an error of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// One broker's participation in the cluster.
///
/// When a write of this broker returns, the image includes it. [`Metadata::run`] follows the writes
/// of others and returns when no more writes are possible; it runs for the lifetime of the broker.
#[derive(Debug)]
pub struct Metadata {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) broker: BrokerId,
    pub(super) config: MetadataConfig,
    /// Producer ids of the block that this broker has reserved and not yet handed out.
    pub(super) producer_ids: Mutex<Range<i64>>,
    /// Held while partitions are created. Lock order: before `cache`.
    pub(super) creation_lock: Mutex<()>,
    watch: Watch,
    images: watch::Sender<Arc<Image>>,
    cache: Mutex<MetadataCache>,
}

impl Metadata {
    /// Reads the cluster, creating it if the store is empty, without joining it.
    ///
    /// # Errors
    /// `ForeignStore` if the store belongs to another system, or not to the cluster `cluster_id`.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        broker: BrokerId,
        cluster_id: Option<&str>,
        config: MetadataConfig,
    ) -> Result<Self, MetadataError> {
        bootstrap(&*store, cluster_id).await?;
        let watch = store.watch("/");
        let mut cache = MetadataCache::new(Arc::clone(&store), Arc::clone(&clock), broker);
        cache.resync().await?;
        let images = watch::Sender::new(Arc::new(cache.image()));
        let (cache, producer_ids) = (Mutex::new(cache), Mutex::new(0..0));
        let creation_lock = Mutex::default();
        Ok(Self { store, clock, broker, config, producer_ids, creation_lock, watch, images, cache })
    }

    /// Joins the cluster: registers the broker, claims the controller role, and as controller makes
    /// all pending changes. Its logs must have been recovered: it may become leader before this
    /// returns.
    ///
    /// # Errors
    /// `BrokerIdInUse` if a live broker has the id.
    pub async fn register(
        &self,
        registration: &Registration,
    ) -> Result<Incarnation, MetadataError> {
        let path = NodePath::Broker(self.broker).to_string();
        let value = encode_broker(registration, self.clock.now().millis());
        let results = match self.store.multi(vec![Op::create_ephemeral(path.clone(), value)]).await
        {
            Err(StoreError::NodeExists { .. }) => {
                return Err(MetadataError::BrokerIdInUse(self.broker));
            }
            results => results?,
        };
        let [OpResult::Created { created, .. }] = results[..] else {
            panic!("a creation answered {results:?}");
        };
        let mut cache = self.cache.lock().await;
        cache.mark_registered();
        cache.refresh(&[path]).await?;
        let settled = cache.settle().await;
        self.publish(&mut cache);
        settled.map(|()| Incarnation(created))
    }

    /// Follows the store until the session ends, and returns the reason.
    pub async fn run(&self) -> MetadataError {
        let mut unsettled = false;
        loop {
            let event = if unsettled {
                tokio::time::timeout(RETRY_PAUSE, self.watch.next()).await.ok()
            } else {
                Some(self.watch.next().await)
            };
            match self.follow(event).await {
                Ok(()) => unsettled = false,
                Err(error) if error.remedy() == Remedy::Fatal => return error,
                Err(error) => {
                    tracing::warn!(%error, "the controller will try again");
                    unsettled = true;
                }
            }
        }
    }

    /// The id of this broker.
    #[cfg(any(test, feature = "internals"))]
    pub fn broker(&self) -> BrokerId {
        self.broker
    }

    /// The settings of new topics.
    #[cfg(any(test, feature = "internals"))]
    pub fn config(&self) -> &MetadataConfig {
        &self.config
    }

    /// The current image of the cluster. The receiver sees later images, but may skip some.
    pub fn image(&self) -> watch::Receiver<Arc<Image>> {
        self.images.subscribe()
    }

    /// The changes from now on, beginning with everything there is.
    pub fn changes(&self) -> Changes {
        let mut images = self.images.subscribe();
        images.mark_changed();
        Changes { images, seen: Arc::default() }
    }

    /// Executes the transaction of an operation, and returns once its effect and the controller's
    /// reaction are in the image.
    pub(super) async fn execute(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, MetadataError> {
        let paths: Vec<String> = ops.iter().map(|op| op.path().to_owned()).collect();
        let mut cache = self.cache.lock().await;
        let results = self.store.multi(ops).await?;
        let settled = match cache.refresh(&paths).await {
            Ok(()) => cache.settle().await,
            failed => failed,
        };
        self.publish(&mut cache);
        match settled {
            Err(error) if error.remedy() == Remedy::Fatal => Err(error),
            Err(error) => {
                // The transaction itself has been committed.
                tracing::warn!(%error, "the controller could not follow a change");
                Ok(results)
            }
            Ok(()) => Ok(results),
        }
    }

    /// Reloads these nodes into the image.
    pub(super) async fn reload(&self, paths: &[String]) -> Result<(), MetadataError> {
        let mut cache = self.cache.lock().await;
        cache.refresh(paths).await?;
        self.publish(&mut cache);
        Ok(())
    }

    async fn follow(&self, event: Option<Event>) -> Result<(), MetadataError> {
        let mut cache = self.cache.lock().await;
        match event {
            Some(Event::Changed(paths)) => cache.refresh(&paths).await?,
            Some(Event::Resync) => cache.resync().await?,
            Some(Event::SessionLost) => tracing::warn!("the metadata store cannot be reached"),
            Some(Event::SessionExpired) => return Err(self.session_end().await),
            None => {}
        }
        let settled = cache.settle().await;
        self.publish(&mut cache);
        settled
    }

    /// The reason why the session ended, as far as the store can tell.
    async fn session_end(&self) -> MetadataError {
        match self.store.multi(Vec::new()).await {
            Err(error) if error.remedy() == Remedy::Fatal => error.into(),
            _ => MetadataError::SessionExpired,
        }
    }

    fn publish(&self, cache: &mut MetadataCache) {
        let image = cache.image();
        self.images.send_if_modified(|current| {
            let differs = **current != image;
            if differs {
                *current = Arc::new(image);
            }
            differs
        });
    }
}

/// The differences between successive images, without gaps.
#[derive(Debug)]
pub struct Changes {
    images: watch::Receiver<Arc<Image>>,
    seen: Arc<Image>,
}

impl Changes {
    /// The next image and its difference from the previous one; `None` once the cluster is closed.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<(Arc<Image>, Delta)> {
        self.images.changed().await.ok()?;
        let image = Arc::clone(&self.images.borrow_and_update());
        let delta = Delta::between(&self.seen, &image);
        self.seen = Arc::clone(&image);
        Some((image, delta))
    }
}
