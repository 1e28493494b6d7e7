//! The membership of a broker: its registration, and the sessions that follow the first.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::metadata::bootstrap::check_cluster_id;
use crate::metadata::cluster::Session;
use crate::metadata::image::{Incarnation, Membership, Registration, ReplicaKey};
use crate::metadata::layout::{KNOWN_BROKERS, NodePath};
use crate::metadata::member::Member;
use crate::metadata::store::{Node, Op, OpResult, Store, StoreError, transact};
use crate::metadata::values::{KnownBrokerValue, decode, decode_broker, encode, encode_broker};
use crate::metadata::{Metadata, MetadataError, Remedy};

/// The longest wait for the end of an earlier process' session: a store takes no longer than its
/// longest time-out.
const PREDECESSOR_WAIT_MAX: Duration = Duration::from_mins(1);
/// The pause between two attempts to register.
const PREDECESSOR_PAUSE: Duration = Duration::from_millis(200);
/// The maximum number of attempts while other brokers create their first nodes.
const ATTEMPTS_MAX: usize = 32;

impl Metadata {
    /// Joins the cluster: registers the broker, claims the controller role, and as controller makes
    /// all pending changes. Its logs must have been recovered: it may become leader before this
    /// returns. [`Metadata::run`] repeats the registration in each further session.
    ///
    /// After a restart of the machine, waits until the store has ended the session of the earlier
    /// process on the same data directory.
    ///
    /// # Errors
    /// `BrokerIdInUse` if a live broker has the id.
    pub async fn register(
        &self,
        registration: &Registration,
    ) -> Result<Incarnation, MetadataError> {
        let path = NodePath::Broker(self.broker).to_string();
        let key = ReplicaKey::random();
        let keyed = Registration { key_hash: key.hash(), ..registration.clone() };
        let mut waited = Duration::ZERO;
        let (created, sent) = loop {
            let sent = self.clock.monotonic();
            match self.create_registration(&path, &keyed).await {
                Err(MetadataError::BrokerIdInUse { .. })
                    if waited < PREDECESSOR_WAIT_MAX
                        && self.has_predecessor(&path, registration).await? =>
                {
                    tracing::info!("waiting for the end of this broker's previous session");
                    sleep(PREDECESSOR_PAUSE).await;
                    waited += PREDECESSOR_PAUSE;
                }
                created => break (created?, sent),
            }
        };
        let incarnation = Incarnation(created);
        *self.registration.lock().await = Some(registration.clone());
        let membership = Membership { incarnation, key };
        let place = (self.store(), path.clone());
        self.set_member(Some(Member::new(membership, place, Arc::clone(&self.clock), sent)));
        let mut cache = self.cache.lock().await;
        cache.mark_registered();
        cache.refresh(&[path, NodePath::KnownBroker(self.broker).to_string()]).await?;
        let settled = cache.settle().await;
        self.publish(&mut cache);
        settled.map(|()| incarnation)
    }

    /// Tells the other brokers that this one has begun to stop: they hand over nothing to it.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn announce_stop(&self) -> Result<(), MetadataError> {
        let store = self.store();
        let path = NodePath::Broker(self.broker).to_string();
        let Some(node) = store.get(&path).await? else {
            return Err(StoreError::NoNode { path }.into());
        };
        let Some(registration) = self.registration_in(&node) else { return Ok(()) };
        let stopping = Registration { is_stopping: true, ..registration };
        let value = encode_broker(&stopping, self.clock.now().millis());
        self.execute(&*store, vec![Op::set(path, value, node.version)]).await?;
        Ok(())
    }

    /// Registers the broker in the current session, if it was registered in an earlier one only.
    pub(super) async fn register_again(&self) -> Result<(), MetadataError> {
        if self.cache.lock().await.is_registered() {
            return Ok(());
        }
        let Some(registration) = self.registration.lock().await.clone() else { return Ok(()) };
        if let Some(member) = self.member() {
            // Somebody has removed the registration, and another broker may lead already.
            member.lease.end();
        }
        let Incarnation(created) = self.register(&registration).await?;
        tracing::info!(broker = %self.broker, incarnation = created, "is registered again");
        Ok(())
    }

    /// Replaces a session that the store has ended, and reads everything again: other brokers may
    /// have elected other leaders meanwhile.
    pub(super) async fn renew_session(&self) -> Result<(), MetadataError> {
        let ended = self.store();
        let store = ended.new_session().await?;
        tracing::warn!(ended = %ended.session(), new = %store.session(), "a new session begins");
        check_cluster_id(&*store, Some(&self.cluster_id)).await?;
        let session = Session::begin(Arc::clone(&store)).await?;
        let mut cache = self.cache.lock().await;
        cache.begin_session(store).await?;
        self.set_session(session);
        self.publish(&mut cache);
        Ok(())
    }

    /// Creates the node of the registration, and returns the transaction that did.
    ///
    /// The same transaction writes the node by which the broker is known afterwards. Its version
    /// rises with every registration, which the version of an ephemeral node does not.
    async fn create_registration(
        &self,
        path: &str,
        registration: &Registration,
    ) -> Result<i64, MetadataError> {
        let store = self.store();
        let value = encode_broker(registration, self.clock.now().millis());
        let mut removal = Vec::new();
        let mut attempts = 0;
        loop {
            let mut ops = removal.clone();
            ops.extend(self.known_as(&*store, registration).await?);
            ops.push(Op::create_ephemeral(path, value.clone()));
            attempts += 1;
            match transact(&*store, ops).await {
                Ok(results) => match results.last() {
                    Some(OpResult::Created { created, .. }) => return Ok(*created),
                    _ => panic!("a creation answered {results:?}"),
                },
                Err(error) if error.remedy() != Remedy::Refresh || attempts == ATTEMPTS_MAX => {
                    return Err(error.into());
                }
                Err(StoreError::NodeExists { path: found }) if found == path => {
                    removal = self.removal_of_predecessor(&*store, path, registration).await?;
                }
                // The session of the predecessor may have ended meanwhile, and its nodes with it.
                Err(_) => removal.clear(),
            }
        }
    }

    /// The operations that write the node by which this broker is known while it is away.
    async fn known_as(
        &self,
        store: &dyn Store,
        registration: &Registration,
    ) -> Result<Vec<Op>, MetadataError> {
        let path = NodePath::KnownBroker(self.broker).to_string();
        let nodes = store.read(&[KNOWN_BROKERS.to_owned(), path.clone()]).await?;
        let [parent, known] = nodes.as_slice() else {
            return Err(StoreError::NoNode { path }.into());
        };
        let before = known.as_ref().map(|node| decode::<KnownBrokerValue>(&node.value));
        // An unreadable value is replaced: nothing but this registration depends on it.
        let value = encode(&KnownBrokerValue::after(before.and_then(Result::ok), registration));
        let mut ops = Vec::new();
        if parent.is_none() {
            ops.push(Op::create(KNOWN_BROKERS, ""));
        }
        ops.push(match known {
            Some(node) => Op::set(path, value, node.version),
            None => Op::create(path, value),
        });
        Ok(ops)
    }

    /// The operations that remove what a dead process on the same data directory has left: its
    /// registration and its controller role. None are needed if its session has just ended.
    ///
    /// This process holds the lock of the directory, and the machine has not been started since, so
    /// the other process has ended, and nobody has to wait until the store notices it.
    async fn removal_of_predecessor(
        &self,
        store: &dyn Store,
        path: &str,
        registration: &Registration,
    ) -> Result<Vec<Op>, MetadataError> {
        let controller = NodePath::Controller.to_string();
        let nodes = store.read(&[path.to_owned(), controller.clone()]).await?;
        let [Some(predecessor), role] = nodes.as_slice() else { return Ok(Vec::new()) };
        let found = self.registration_in(predecessor);
        let is_dead = found.is_some_and(|found| {
            is_same_directory(&found, registration)
                && found.boot_id.is_some()
                && found.boot_id == registration.boot_id
        });
        // Somebody may have overwritten the registration that this broker made in this session.
        let is_own = self.membership().is_some() && predecessor.owner == Some(store.session());
        if !is_dead && !is_own {
            return Err(self.id_in_use(predecessor));
        }
        let mut ops = vec![Op::delete(path, predecessor.version)];
        if let Some(role) = role.as_ref().filter(|role| role.owner == predecessor.owner) {
            ops.push(Op::delete(controller, role.version));
        }
        Ok(ops)
    }

    /// True if the node is the registration of an earlier process on the same data directory.
    async fn has_predecessor(
        &self,
        path: &str,
        registration: &Registration,
    ) -> Result<bool, MetadataError> {
        let node = self.store().get(path).await?;
        let found = node.and_then(|node| self.registration_in(&node));
        Ok(found.is_none_or(|found| is_same_directory(&found, registration)))
    }

    /// The error of a broker whose id has this registration.
    fn id_in_use(&self, node: &Node) -> MetadataError {
        let registration = self.registration_in(node).unwrap_or_default();
        let address = registration.listeners.first();
        let address = address.map(|listener| format!("{}:{}", listener.host, listener.port));
        MetadataError::BrokerIdInUse { broker: self.broker, address }
    }

    fn registration_in(&self, node: &Node) -> Option<Registration> {
        let broker = decode_broker(self.broker, &node.value, node.created);
        broker.ok().map(|broker| broker.registration)
    }
}

fn is_same_directory(found: &Registration, own: &Registration) -> bool {
    found.directory_id.is_some() && found.directory_id == own.directory_id
}
