//! The cluster as one broker holds it: its image, and the ways to change it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};

use crate::io::Clock;
use crate::metadata::bootstrap::bootstrap;
use crate::metadata::image::{Delta, Image, Incarnation, Registration};
use crate::metadata::keeper::Keeper;
use crate::metadata::layout::Place;
use crate::metadata::store::{Event, Op, OpResult, Store, StoreError, Watch};
use crate::metadata::values::encode_broker;
use crate::metadata::{MetadataConfig, MetadataError, Remedy};
use crate::types::BrokerId;

/// How long the controller waits before it tries again what the store could not do.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// One broker's place in the cluster.
///
/// Writes of this broker are in its image when they return. [`Metadata::run`] follows what others
/// do and tells when nothing can be written any more; it runs for as long as the broker does.
#[derive(Debug)]
pub struct Metadata {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) broker: BrokerId,
    pub(super) config: MetadataConfig,
    /// Producer ids that are ours to hand out.
    pub(super) producer_ids: Mutex<Range<i64>>,
    /// Held while partitions are created; taken before `keeper`.
    pub(super) growing: Mutex<()>,
    watch: Watch,
    images: watch::Sender<Arc<Image>>,
    keeper: Mutex<Keeper>,
}

impl Metadata {
    /// Looks at the cluster, which is made when the store is empty, without taking part.
    ///
    /// # Errors
    /// `ForeignStore` when the store is another system's, or not of the cluster `cluster_id`.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        broker: BrokerId,
        cluster_id: Option<&str>,
        config: MetadataConfig,
    ) -> Result<Self, MetadataError> {
        bootstrap(&*store, cluster_id).await?;
        let watch = store.watch("/");
        let mut keeper = Keeper::new(Arc::clone(&store), Arc::clone(&clock), broker);
        keeper.resync().await?;
        let images = watch::Sender::new(Arc::new(keeper.image()));
        let (keeper, producer_ids) = (Mutex::new(keeper), Mutex::new(0..0));
        let growing = Mutex::default();
        Ok(Self { store, clock, broker, config, producer_ids, growing, watch, images, keeper })
    }

    /// Takes part: registers the broker, stands for controller, and as such settles everything.
    /// Its logs must be recovered by now: it may lead before this returns.
    ///
    /// # Errors
    /// `BrokerIdInUse` when a live broker has the number.
    pub async fn register(
        &self,
        registration: &Registration,
    ) -> Result<Incarnation, MetadataError> {
        let path = Place::Broker(self.broker).to_string();
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
        let mut keeper = self.keeper.lock().await;
        keeper.stand_for_office();
        keeper.refresh(&[path]).await?;
        let settled = keeper.settle().await;
        self.publish(&mut keeper);
        settled.map(|()| Incarnation(created))
    }

    /// Follows the store until the session is over, and returns why.
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

    /// Which broker this is.
    #[cfg(any(test, feature = "internals"))]
    pub fn broker(&self) -> BrokerId {
        self.broker
    }

    /// The settings of new topics.
    #[cfg(any(test, feature = "internals"))]
    pub fn config(&self) -> &MetadataConfig {
        &self.config
    }

    /// The cluster as it is; the receiver sees each later image, or the last of several.
    pub fn image(&self) -> watch::Receiver<Arc<Image>> {
        self.images.subscribe()
    }

    /// What changes from now on, beginning with everything there is.
    pub fn changes(&self) -> Changes {
        let mut images = self.images.subscribe();
        images.mark_changed();
        Changes { images, seen: Arc::default() }
    }

    /// Executes a transaction of an operation, and has its result and the controller's answer to
    /// it in the image.
    pub(super) async fn execute(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, MetadataError> {
        let paths: Vec<String> = ops.iter().map(|op| op.path().to_owned()).collect();
        let mut keeper = self.keeper.lock().await;
        let results = self.store.multi(ops).await?;
        let settled = match keeper.refresh(&paths).await {
            Ok(()) => keeper.settle().await,
            failed => failed,
        };
        self.publish(&mut keeper);
        match settled {
            Err(error) if error.remedy() == Remedy::Fatal => Err(error),
            Err(error) => {
                // The transaction itself is done.
                tracing::warn!(%error, "the controller could not follow a change");
                Ok(results)
            }
            Ok(()) => Ok(results),
        }
    }

    /// Has these nodes in the image as they are now.
    pub(super) async fn look_at(&self, paths: &[String]) -> Result<(), MetadataError> {
        let mut keeper = self.keeper.lock().await;
        keeper.refresh(paths).await?;
        self.publish(&mut keeper);
        Ok(())
    }

    async fn follow(&self, event: Option<Event>) -> Result<(), MetadataError> {
        let mut keeper = self.keeper.lock().await;
        match event {
            Some(Event::Changed(paths)) => keeper.refresh(&paths).await?,
            Some(Event::Resync) => keeper.resync().await?,
            Some(Event::SessionLost) => tracing::warn!("the metadata store cannot be reached"),
            Some(Event::SessionExpired) => return Err(self.why_over().await),
            None => {}
        }
        let settled = keeper.settle().await;
        self.publish(&mut keeper);
        settled
    }

    /// What ended the session, as far as the store can tell.
    async fn why_over(&self) -> MetadataError {
        match self.store.multi(Vec::new()).await {
            Err(error) if error.remedy() == Remedy::Fatal => error.into(),
            _ => MetadataError::SessionExpired,
        }
    }

    fn publish(&self, keeper: &mut Keeper) {
        let image = keeper.image();
        self.images.send_if_modified(|current| {
            let differs = **current != image;
            if differs {
                *current = Arc::new(image);
            }
            differs
        });
    }
}

/// The differences from image to image, none left out.
#[derive(Debug)]
pub struct Changes {
    images: watch::Receiver<Arc<Image>>,
    seen: Arc<Image>,
}

impl Changes {
    /// The next image and how it differs from the one before; `None` when the cluster is closed.
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<(Arc<Image>, Delta)> {
        self.images.changed().await.ok()?;
        let image = Arc::clone(&self.images.borrow_and_update());
        let delta = Delta::between(&self.seen, &image);
        self.seen = Arc::clone(&image);
        Some((image, delta))
    }
}
