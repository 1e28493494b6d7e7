//! One broker's view of the cluster: its image, and the operations that change it.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use crate::io::Clock;
use crate::metadata::bootstrap::{bootstrap, is_permanent, restore_tree};
use crate::metadata::directory_tokens::DirectoryTokens;
use crate::metadata::image::{Delta, Image, Incarnation, Membership, Registration};
use crate::metadata::layout::FOLLOWED;
use crate::metadata::member::Member;
use crate::metadata::metadata_cache::MetadataCache;
use crate::metadata::store::{Event, Op, OpResult, Store, StoreError, Watch, transact};
use crate::metadata::{MetadataConfig, MetadataError, Remedy};
use crate::types::{BrokerId, Latest, Watcher};

/// The pause before another attempt after an error of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// One broker's participation in the cluster.
///
/// When a write of this broker returns, the image normally includes it; if the store failed after
/// the commit, the image follows later. [`Metadata::run`] follows the writes of other brokers, and
/// replaces a session that has ended by a new one. It runs for the lifetime of the broker, and
/// returns early only if no more writes are possible.
#[derive(Debug)]
pub struct Metadata {
    /// The session in use. A writer takes it before it reads anything that its write depends on.
    session: RwLock<Session>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) broker: BrokerId,
    pub(super) config: MetadataConfig,
    /// The id of the cluster, which every session must find again.
    pub(super) cluster_id: String,
    /// Producer ids of the block that this broker has reserved and not yet handed out.
    pub(super) producer_ids: Mutex<Range<i64>>,
    /// Held while partitions are created. Lock order: before `cache`.
    pub(super) creation_lock: Mutex<()>,
    images: Latest<Arc<Image>>,
    pub(super) cache: Mutex<MetadataCache>,
    /// The tokens in the data directory of this broker, if it can be another's.
    pub(super) directory: Option<Arc<dyn DirectoryTokens>>,
    /// The registration to repeat in each further session.
    pub(super) registration: Mutex<Option<Registration>>,
    /// The registration in the current session.
    member: RwLock<Option<Arc<Member>>>,
}

/// A session with the store, and its watch of the nodes that every broker follows.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) store: Arc<dyn Store>,
    watch: Arc<Watch>,
}

impl Session {
    /// Watches the nodes in this session.
    pub(super) async fn begin(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let watch = Arc::new(store.watch(FOLLOWED).await?);
        Ok(Self { store, watch })
    }
}

impl Metadata {
    /// Reads the cluster, creating it if the store is empty, without joining it.
    ///
    /// # Errors
    /// `ForeignStore` if the store belongs to another system, or not to the cluster `cluster_id`;
    /// `NewerFormat` or `Malformed` if its nodes cannot be read; or the error of the store.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        broker: BrokerId,
        cluster_id: Option<&str>,
        config: MetadataConfig,
    ) -> Result<Self, MetadataError> {
        let cluster_id = bootstrap(&*store, cluster_id).await?;
        let session = Session::begin(Arc::clone(&store)).await?;
        let mut cache = MetadataCache::new(store, Arc::clone(&clock), broker, config.clone());
        cache.resync().await?;
        let image = cache.image();
        image.report_broken_nodes(&Image::default());
        Ok(Self {
            session: RwLock::new(session),
            clock,
            broker,
            config,
            cluster_id,
            producer_ids: Mutex::new(0..0),
            creation_lock: Mutex::default(),
            images: Latest::new(Arc::new(image)),
            cache: Mutex::new(cache),
            directory: None,
            registration: Mutex::default(),
            member: RwLock::default(),
        })
    }

    /// Has each registration of this broker leave a token in its data directory.
    #[must_use]
    pub fn with_directory(self, directory: Arc<dyn DirectoryTokens>) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// The handle of the current session.
    pub(super) fn store(&self) -> Arc<dyn Store> {
        self.session().store
    }

    fn session(&self) -> Session {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the session by a new one.
    pub(super) fn set_session(&self, session: Session) {
        *self.session.write().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// This broker's registration in the current session; `None` before the first registration, and
    /// from the end of a session until the next registration.
    pub fn membership(&self) -> Option<Membership> {
        self.member().map(|member| member.membership)
    }

    /// The incarnation as which this broker leads what `image` assigns to it: that of its own
    /// registration, as long as `image` shows this one under the broker's id. Otherwise it is
    /// unknown: the session may have ended, or another process may have registered under this id,
    /// as whose incarnation this broker must not lead.
    pub fn incarnation_in(&self, image: &Image) -> Incarnation {
        let shown = image.broker(self.broker).map(|broker| broker.incarnation);
        let own = self.membership().map(|own| own.incarnation);
        own.filter(|_| own == shown).unwrap_or(Incarnation::UNKNOWN)
    }

    pub(super) fn member(&self) -> Option<Arc<Member>> {
        self.member.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the registration, and ends the lease of the previous one.
    pub(super) fn set_member(&self, member: Option<Member>) {
        let mut current = self.member.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = std::mem::replace(&mut *current, member.map(Arc::new)) {
            before.lease.end();
        }
    }

    /// Ends the lease, so that this broker answers no client any more, and then the session, so
    /// that other brokers see at once that it is gone. Does nothing with a store in this process.
    ///
    /// # Errors
    /// The errors of the store, which then ends the session after its time-out.
    pub async fn leave(&self) -> Result<(), MetadataError> {
        let store = self.store();
        if store.last_heard().is_none() {
            // The session ends with the process, without a write.
            return Ok(());
        }
        if let Some(member) = self.member() {
            // From here on this broker answers no client, so the next leader of a partition need
            // not be silent.
            member.lease.end();
            if let Err(error) = store.multi(vec![member.at_stop()]).await {
                tracing::debug!(%error, "the end of this broker is not noted");
            }
        }
        Ok(store.close().await?)
    }

    /// Follows the store through all sessions. Returns only when no further write can succeed, with
    /// the reason.
    pub async fn run(&self) -> MetadataError {
        let mut unsettled = false;
        loop {
            let watch = self.session().watch;
            let next_election = self.cache.lock().await.next_election();
            let pause = next_election.map(|due| due.saturating_sub(self.clock.monotonic()));
            let pause = if unsettled { Some(RETRY_PAUSE) } else { pause };
            let event = match pause {
                Some(pause) => timeout(pause, watch.next()).await.ok(),
                None => Some(watch.next().await),
            };
            let is_expired = event == Some(Event::SessionExpired);
            if is_expired {
                // Do not wait for the new session: another broker may lead already.
                self.set_member(None);
            }
            match self.follow(event).await {
                Ok(()) => unsettled = false,
                Err(error) if error.remedy() == Remedy::Fatal => return error,
                Err(error) => {
                    tracing::warn!(%error, "the metadata could not be followed; trying again");
                    unsettled = true;
                    if is_expired {
                        // Without a pause, an ended session would report its end again at once.
                        sleep(RETRY_PAUSE).await;
                    }
                }
            }
        }
    }

    /// The id of this broker.
    #[cfg(any(test, feature = "internals"))]
    pub fn broker(&self) -> BrokerId {
        self.broker
    }

    /// The defaults and limits of topics.
    #[cfg(any(test, feature = "internals"))]
    pub fn config(&self) -> &MetadataConfig {
        &self.config
    }

    /// The current image of the cluster. The receiver sees later images, but may skip some.
    pub fn image(&self) -> Watcher<Arc<Image>> {
        self.images.subscribe()
    }

    /// The current image of the cluster alone.
    pub fn current_image(&self) -> Arc<Image> {
        self.images.borrow()
    }

    /// The changes from now on; the first one contains everything in the current image.
    pub fn changes(&self) -> Changes {
        let mut images = self.images.subscribe();
        images.mark_changed();
        Changes { images, seen: Arc::default() }
    }

    /// Executes the transaction of an operation, and tries to bring its effect and the controller's
    /// reaction into the image before it returns. If the store fails after the commit, the image
    /// follows later, and the result is still `Ok`, unless the failure is fatal.
    ///
    /// `store` is the session under which `ops` were computed; if it has ended, the transaction
    /// fails. It must not run in a later session: a node may have been deleted and created again
    /// with the same version, which a version check cannot notice.
    pub(super) async fn execute(
        &self,
        store: &dyn Store,
        ops: Vec<Op>,
    ) -> Result<Vec<OpResult>, MetadataError> {
        let paths: Vec<String> = ops.iter().map(|op| op.path().to_owned()).collect();
        let mut cache = self.cache.lock().await;
        let results = transact(store, ops).await?;
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
        // Without an event, an attempt may be repeated that failed because of the tree.
        let concerns_tree = match &event {
            Some(Event::Changed(paths)) => paths.iter().any(|path| is_permanent(path)),
            event => !matches!(event, Some(Event::SessionLost)),
        };
        match event {
            Some(Event::Changed(paths)) => self.cache.lock().await.refresh(&paths).await?,
            Some(Event::Resync) => self.cache.lock().await.resync().await?,
            Some(Event::SessionLost) => tracing::warn!("the metadata store cannot be reached"),
            Some(Event::SessionExpired) => self.renew_session().await?,
            None => {}
        }
        if concerns_tree {
            restore_tree(&*self.store(), &self.cluster_id).await?;
        }
        self.register_again().await?;
        let mut cache = self.cache.lock().await;
        let settled = cache.settle().await;
        self.publish(&mut cache);
        drop(cache);
        settled?;
        self.restore_own_nodes().await
    }

    /// Has the current image applied again, although it is the same.
    pub(super) fn republish(&self) {
        self.images.send_if_modified(|_| true);
    }

    pub(super) fn publish(&self, cache: &mut MetadataCache) {
        let image = cache.image();
        self.images.send_if_modified(|current| {
            let differs = **current != image;
            if differs {
                image.report_broken_nodes(current);
                *current = Arc::new(image);
            }
            differs
        });
    }
}

/// A stream of images and their differences. Images may be skipped; each difference starts from the
/// image returned before it, so no change is lost.
#[derive(Debug)]
pub struct Changes {
    images: Watcher<Arc<Image>>,
    seen: Arc<Image>,
}

impl Changes {
    /// The next image and its difference from the previous one; `None` once the cluster is closed.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<(Arc<Image>, Delta)> {
        self.images.changed().await.ok()?;
        let image = self.images.borrow_and_update();
        let delta = Delta::between(&self.seen, &image);
        self.seen = Arc::clone(&image);
        Some((image, delta))
    }
}
