//! The registration of a broker, and how a session that ended is replaced.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::metadata::bootstrap::{check_cluster_id, restore_tree};
use crate::metadata::cluster::Session;
use crate::metadata::directory_tokens::{random, with_next};
use crate::metadata::image::{Incarnation, Membership, Registration, ReplicaKey};
use crate::metadata::layout::{KNOWN_BROKERS, NodePath};
use crate::metadata::member::{EndNotes, Member};
use crate::metadata::store::{Node, Op, OpResult, Store, StoreError, transact};
use crate::metadata::values::{KnownBrokerValue, decode, decode_broker, encode, encode_broker};
use crate::metadata::{Metadata, MetadataError, Remedy};

/// The longest wait for the end of an earlier process's session, whatever time-out its registration
/// names.
const PREDECESSOR_WAIT_MAX: Duration = Duration::from_mins(10);
/// The pause between two attempts to register.
const PREDECESSOR_PAUSE: Duration = Duration::from_millis(200);
/// The maximum number of attempts at the transaction when nodes change meanwhile.
const ATTEMPTS_MAX: usize = 32;

/// A registration that was made.
struct Registered {
    incarnation: Incarnation,
    /// The operations that note the end of this process.
    end_notes: EndNotes,
}

/// The node by which a broker is known while it is away.
pub(super) struct Known {
    /// The operations that write the node.
    pub(super) ops: Vec<Op>,
    pub(super) value: KnownBrokerValue,
    /// The token that the node has for the data directory of the registration.
    token: Option<String>,
}

/// A registration on another data directory that has held this broker's id.
struct Holder {
    incarnation: Incarnation,
    address: Option<String>,
}

/// An earlier process of this broker.
#[derive(Default)]
struct Predecessor {
    /// The operations that remove the process's registration, the node of its session, and its
    /// controller role.
    removal: Vec<Op>,
    /// The incarnation of the earlier process, if it is known to have ended.
    ended: Option<Incarnation>,
}

impl Metadata {
    /// Joins the cluster: registers the broker, claims the controller role if that is vacant, and
    /// as controller makes all pending changes. Its logs must have been recovered: it may become
    /// leader before this returns. [`Metadata::run`] repeats the registration in each further
    /// session.
    ///
    /// If the id is registered, an earlier process of this broker may have left its session behind:
    /// waits until the store has ended that session. Does not wait for a process on the same data
    /// directory that is known to have ended.
    ///
    /// # Errors
    /// `BrokerIdInUse` if another broker has the id and lives on, or stops in order meanwhile; or
    /// the errors of the store.
    pub async fn register(
        &self,
        registration: &Registration,
    ) -> Result<Incarnation, MetadataError> {
        let path = NodePath::Broker(self.broker).to_string();
        let key = ReplicaKey::random();
        let keyed = Registration {
            key_hash: key.hash(),
            session_timeout: self.store().session_timeout(),
            token: self.directory.is_some().then(random),
            ..registration.clone()
        };
        let (registered, sent) = self.registered_in_time(&path, &keyed).await?;
        let Registered { incarnation, end_notes } = registered;
        {
            let mut stored = self.registration.lock().await;
            // Losses and reports may have been added while this waited.
            let newer = stored.take();
            let (lost, reports) = newer.map_or_else(
                || (registration.lost.clone(), registration.reports.clone()),
                |newer| (newer.lost, newer.reports),
            );
            *stored = Some(Registration { lost, reports, ..registration.clone() });
        }
        let membership = Membership { incarnation, key };
        self.store().at_proven_end(end_notes.at_proven_end.clone());
        let place = (self.store(), path.clone());
        self.set_member(Some(Member::new(
            (membership, end_notes),
            place,
            Arc::clone(&self.clock),
            sent,
        )));
        let mut cache = self.cache.lock().await;
        cache.mark_registered(incarnation);
        let own = [NodePath::KnownBroker(self.broker), NodePath::Session(self.broker)];
        let [known, session] = own.map(|node| node.to_string());
        cache.refresh(&[path, known, session]).await?;
        let settled = cache.settle().await;
        self.publish(&mut cache);
        // An image with the new registration may have been applied before the registration was
        // known as this broker's own.
        self.republish();
        settled.map(|()| incarnation)
    }

    /// Tells the other brokers that this one has begun to stop: they hand over no partition to it.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn announce_stop(&self) -> Result<(), MetadataError> {
        self.change_registration(|registration| registration.is_stopping = true).await
    }

    /// Changes the registration of this broker in the current session.
    pub(in crate::metadata) async fn change_registration(
        &self,
        change: impl FnOnce(&mut Registration),
    ) -> Result<(), MetadataError> {
        let store = self.store();
        let path = NodePath::Broker(self.broker).to_string();
        let Some(node) = store.get(&path).await? else {
            return Err(StoreError::NoNode { path }.into());
        };
        if self.membership().is_none_or(|own| own.incarnation != Incarnation(node.created)) {
            // It is that of another process.
            return Err(StoreError::NoNode { path }.into());
        }
        let Some(mut registration) = self.registration_in(&node) else { return Ok(()) };
        change(&mut registration);
        let value = encode_broker(&registration, self.clock.now().millis());
        self.execute(&*store, vec![Op::set(path, value, node.version)]).await?;
        Ok(())
    }

    /// Registers the broker again if it was registered and no longer is: the session is new, or the
    /// registration was removed.
    pub(in crate::metadata) async fn register_again(&self) -> Result<(), MetadataError> {
        {
            let mut cache = self.cache.lock().await;
            if cache.is_registered() {
                return Ok(());
            }
            // The registration may be another's now: stop leading before the store is asked.
            self.publish(&mut cache);
        }
        let Some(registration) = self.registration.lock().await.clone() else { return Ok(()) };
        if let Some(member) = self.member() {
            // The registration may have been removed, and another broker may lead already.
            member.lease.end();
        }
        let registered = self.register(&registration).await;
        // The registration may have succeeded, and what follows it failed.
        if registered.is_err() && !self.cache.lock().await.is_registered() {
            self.withdraw_session_node().await;
        }
        let Incarnation(created) = registered?;
        tracing::info!(broker = %self.broker, incarnation = created, "is registered again");
        Ok(())
    }

    /// Replaces a session that the store has ended, and reads everything again: other brokers may
    /// have elected other leaders meanwhile.
    pub(in crate::metadata) async fn renew_session(&self) -> Result<(), MetadataError> {
        let ended = self.store();
        let store = ended.new_session().await?;
        tracing::warn!(ended = %ended.session(), new = %store.session(), "a new session begins");
        restore_tree(&*store, &self.cluster_id).await?;
        check_cluster_id(&*store, Some(&self.cluster_id)).await?;
        let session = Session::begin(Arc::clone(&store)).await?;
        let mut cache = self.cache.lock().await;
        cache.begin_session(store).await?;
        self.set_session(session);
        self.publish(&mut cache);
        Ok(())
    }

    /// Creates the node of the registration, once the session of an earlier process of this broker
    /// has ended. Returns also the time at which the request that succeeded was sent.
    async fn registered_in_time(
        &self,
        path: &str,
        registration: &Registration,
    ) -> Result<(Registered, Duration), MetadataError> {
        let began = Instant::now();
        let mut is_waiting = false;
        let mut holder = None;
        loop {
            let sent = self.clock.monotonic();
            let registering = self.create_registration(path, registration, holder.as_ref());
            let refused = match registering.await {
                Err(refused @ MetadataError::BrokerIdInUse { .. }) => refused,
                created => return Ok((created?, sent)),
            };
            let node = self.store().get(path).await?;
            let found = node.as_ref().and_then(|node| self.registration_in(node));
            let patience = self.predecessor_patience(found.as_ref()).await;
            if began.elapsed() >= patience {
                return Err(refused);
            }
            if !is_waiting {
                tracing::warn!(
                    broker = %self.broker,
                    "the id of this broker is registered; waiting up to {patience:?} for the end \
                     of that session, which an earlier process of this broker may have left"
                );
            }
            is_waiting = true;
            if let (Some(node), Some(found)) = (node, found)
                && found.has_other_directory_than(registration)
            {
                let address = address_of(&found);
                holder = Some(Holder { incarnation: Incarnation(node.created), address });
            }
            sleep(PREDECESSOR_PAUSE).await;
        }
    }

    /// Creates the node of the registration.
    ///
    /// The same transaction creates the node that shows that the session goes on, so that other
    /// brokers can tell the end of the session from a registration that somebody has deleted. It
    /// also writes the broker's node below `/streamlog/brokers`, which outlives the session. The
    /// version of that node rises with every registration. The version of the ephemeral
    /// registration does not.
    ///
    /// Refuses to follow `holder`, for whose end this process has waited, if the holder has stopped
    /// in order: it was not left behind by a dead process, but is a broker on another directory
    /// that probably starts again. A process that is started with its id by mistake, again and
    /// again, must not take its place meanwhile. It goes on waiting, so that the broker has time to
    /// return before the next such process comes.
    async fn create_registration(
        &self,
        path: &str,
        registration: &Registration,
        holder: Option<&Holder>,
    ) -> Result<Registered, MetadataError> {
        let store = self.store();
        let session = NodePath::Session(self.broker).to_string();
        let value = encode_broker(registration, self.clock.now().millis());
        let mut predecessor = Predecessor::default();
        let mut attempts = 0;
        loop {
            let mut ops = predecessor.removal.clone();
            let known = self.known_as(&*store, registration, predecessor.ended).await?;
            if let Some(Holder { incarnation, address }) = holder
                && known.value.has_stopped(*incarnation)
            {
                let (broker, address) = (self.broker, address.clone());
                return Err(MetadataError::BrokerIdInUse { broker, address });
            }
            self.prepare_directory(registration, known.token.as_deref()).await?;
            ops.extend(self.session_node(&*store).await?);
            ops.extend(known.ops);
            ops.push(Op::create_ephemeral(path, value.clone()));
            attempts += 1;
            match transact(&*store, ops).await {
                Ok(results) => match results.as_slice() {
                    [.., of_known, OpResult::Created { created, .. }] => {
                        let incarnation = Incarnation(*created);
                        let version = of_known.version_after();
                        let end_notes = self.end_notes(incarnation, known.value, version);
                        return Ok(Registered { incarnation, end_notes });
                    }
                    _ => panic!("a creation answered {results:?}"),
                },
                Err(error) if error.remedy() != Remedy::Refresh || attempts == ATTEMPTS_MAX => {
                    return Err(error.into());
                }
                Err(StoreError::NodeExists { path: found })
                    if found == path || found == session =>
                {
                    predecessor = self.predecessor(&*store, path, registration).await?;
                }
                // The session of the predecessor may have ended meanwhile, and its nodes with it.
                Err(_) => predecessor = Predecessor::default(),
            }
        }
    }

    /// Writes the token of a registration into the data directory, before it can be in the store.
    /// `last` is the token that the store has for the directory.
    ///
    /// # Errors
    /// `BrokerIdInUse` if the directory does not have that token: another process has registered
    /// with a copy of it. Or the error of the disk.
    async fn prepare_directory(
        &self,
        registration: &Registration,
        last: Option<&str>,
    ) -> Result<(), MetadataError> {
        let (Some(directory), Some(next)) = (&self.directory, &registration.token) else {
            return Ok(());
        };
        let held = directory.held();
        if last.is_some_and(|last| !held.iter().any(|token| token == last)) {
            return Err(MetadataError::BrokerIdInUse { broker: self.broker, address: None });
        }
        let tokens = with_next(&held, last, next);
        if tokens != held {
            directory.replace(tokens).await?;
        }
        Ok(())
    }

    /// The operations that note the end of an incarnation of this broker, of which the known node
    /// has this value and version.
    pub(super) fn end_notes(
        &self,
        incarnation: Incarnation,
        known: KnownBrokerValue,
        version: i32,
    ) -> EndNotes {
        let path = NodePath::KnownBroker(self.broker).to_string();
        let set = |value: KnownBrokerValue| Op::set(path.clone(), encode(&value), version);
        EndNotes {
            at_proven_end: set(known.clone().with_end(incarnation)),
            at_stop: set(known.with_stop(incarnation)),
        }
    }

    /// The operations that write this broker's node below `/streamlog/brokers`.
    pub(super) async fn known_as(
        &self,
        store: &dyn Store,
        registration: &Registration,
        ended: Option<Incarnation>,
    ) -> Result<Known, MetadataError> {
        let path = NodePath::KnownBroker(self.broker).to_string();
        let nodes = store.read(&[KNOWN_BROKERS.to_owned(), path.clone()]).await?;
        let [parent, known] = nodes.as_slice() else {
            return Err(StoreError::NoNode { path }.into());
        };
        let before = known.as_ref().map(|node| decode::<KnownBrokerValue>(&node.value));
        // An unreadable value is replaced. Lost are the known end of earlier processes, without
        // which an unclean election may be refused, and the tokens of data directories.
        let before = before.and_then(Result::ok);
        let directory_id = registration.directory_id.as_deref();
        let token = directory_id.and_then(|id| before.as_ref()?.token_of(id).map(str::to_owned));
        let value = KnownBrokerValue::after(before, registration);
        let value = match ended {
            Some(ended) => value.with_end(ended),
            None => value,
        };
        let mut ops = Vec::new();
        if parent.is_none() {
            ops.push(Op::create(KNOWN_BROKERS, ""));
        }
        ops.push(match known {
            Some(node) => Op::set(path, encode(&value), node.version),
            None => Op::create(path, encode(&value)),
        });
        Ok(Known { ops, value, token })
    }

    /// Finds a dead process on the same data directory, and the operations that remove its nodes.
    /// No operation is needed if its session has just ended.
    ///
    /// If the boot id, the directory and its place are the same, that process has ended, since this
    /// one holds the directory's lock. The new process need not wait until the store notices that.
    /// The directory id alone proves nothing: a copy of the directory of a live broker has it too.
    ///
    /// # Errors
    /// `BrokerIdInUse` unless each node is that of a process that is known to be dead, or of this
    /// session, whose registration may have been overwritten since or whose answer may have been
    /// lost, or was created by hand and belongs to no session. A process whose registration
    /// somebody has deleted may answer clients until its session ends.
    async fn predecessor(
        &self,
        store: &dyn Store,
        path: &str,
        registration: &Registration,
    ) -> Result<Predecessor, MetadataError> {
        let [session, controller] =
            [NodePath::Session(self.broker), NodePath::Controller].map(|node| node.to_string());
        let paths = [path.to_owned(), session, controller];
        let nodes = store.read(&paths).await?;
        let [registered, going_on, _] = nodes.as_slice() else {
            return Ok(Predecessor::default());
        };
        let dead = registered.as_ref().filter(|node| {
            let found = self.registration_in(node).filter(|_| node.owner.is_some());
            found.is_some_and(|found| found.locks_directory_of(registration))
        });
        let is_left = |node: &&Node| {
            node.owner.is_none_or(|owner| {
                owner == store.session() || dead.is_some_and(|dead| dead.owner == Some(owner))
            })
        };
        let mut of_brokers = [registered, going_on].into_iter().flatten();
        if let Some(node) = of_brokers.find(|node| !is_left(node)) {
            return Err(self.id_in_use(node));
        }
        let left = paths.into_iter().zip(&nodes);
        let left = left.filter_map(|(path, node)| Some((path, node.as_ref().filter(is_left)?)));
        let removal = left.map(|(path, node)| Op::delete(path, node.version)).collect();
        Ok(Predecessor { removal, ended: dead.map(|dead| Incarnation(dead.created)) })
    }

    /// The longest wait for the end of the session whose registration, `found`, holds this broker's
    /// id: the session of a dead process ends after its time-out, and that of a live broker goes
    /// on. No wait if this process has been registered: then another process has taken the id
    /// since, and lives.
    async fn predecessor_patience(&self, found: Option<&Registration>) -> Duration {
        if self.registration.lock().await.is_some() {
            return Duration::ZERO;
        }
        let timeout = found.and_then(|found| found.session_timeout);
        let timeout = timeout.or_else(|| self.store().session_timeout()).unwrap_or_default();
        // ZooKeeper ends a session up to a tick late, and grants no time-out below two ticks.
        (timeout.min(PREDECESSOR_WAIT_MAX) * 3 / 2).min(PREDECESSOR_WAIT_MAX)
    }

    /// The error that this broker's id is taken, by the registration in `node`.
    fn id_in_use(&self, node: &Node) -> MetadataError {
        let address = self.registration_in(node).and_then(|found| address_of(&found));
        MetadataError::BrokerIdInUse { broker: self.broker, address }
    }

    fn registration_in(&self, node: &Node) -> Option<Registration> {
        let broker = decode_broker(self.broker, &node.value, node.created);
        broker.ok().map(|broker| broker.registration)
    }
}

/// The first address of a registered broker.
fn address_of(registration: &Registration) -> Option<String> {
    let listener = registration.listeners.first()?;
    Some(format!("{}:{}", listener.host, listener.port))
}
