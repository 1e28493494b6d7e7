//! An ensemble as an implementation of `Store`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::io::Clock;
use crate::metadata::store::{
    Node, Op, OpResult, SessionError, SessionId, Store, StoreError, StoreFuture, Watch,
    children_prefix, validate_path,
};
use crate::metadata::zookeeper::calls::{NodeData, Request, code, decode_children};
use crate::metadata::zookeeper::connection::{ConnectionError, SessionIdentity};
use crate::metadata::zookeeper::ensemble::Ensemble;
use crate::metadata::zookeeper::jute::Garbled;
use crate::metadata::zookeeper::session::{Exchange, Reply, SessionState};
use crate::metadata::zookeeper::session_task::SessionTask;
use crate::metadata::zookeeper::transaction::{self, Access, refusal};
use crate::metadata::zookeeper::{Digest, SessionObserver, SessionTicket, ZooKeeperAddress};

/// The maximum number of requests that wait to be sent.
const QUEUE: usize = 1024;
/// The maximum number of nodes that are asked for at once.
const NODES_AT_ONCE: usize = 500;
/// The maximum size of a transaction: a server closes the connection at `jute.maxbuffer`, 1 MiB
/// less one byte, and the request has a header.
const TRANSACTION_BYTES_MAX: usize = (1 << 20) - 1024;

/// A session with an ensemble.
#[derive(Debug)]
pub struct ZooKeeperStore {
    ensemble: Arc<Ensemble>,
    state: Arc<SessionState>,
    exchanges: mpsc::Sender<Exchange>,
    ticket: SessionTicket,
    /// The task that keeps the session; it ends with this handle.
    _task: JoinSet<()>,
}

impl ZooKeeperStore {
    /// Opens a session; `observer` is told of it and of all sessions that follow it. The node that
    /// the address names is created if it does not exist. Must be called on a runtime, on which the
    /// session is kept.
    ///
    /// # Errors
    /// `Unreachable` if no server answers, `Denied` if the servers do not accept `digest`.
    pub async fn open(
        address: ZooKeeperAddress,
        digest: Option<Digest>,
        session_timeout: Duration,
        clock: Arc<dyn Clock>,
        observer: Option<Arc<dyn SessionObserver>>,
    ) -> Result<Self, StoreError> {
        let store =
            Self::begin(Arc::new(Ensemble { address, digest, session_timeout, clock, observer }));
        let store = store.await?;
        store.create_chroot().await?;
        Ok(store)
    }

    async fn begin(ensemble: Arc<Ensemble>) -> Result<Self, SessionError> {
        let mut identity = SessionIdentity::new(ensemble.session_timeout);
        // Brokers that start together begin with different servers.
        let first = usize::try_from(ensemble.clock.monotonic().subsec_micros()).unwrap_or(0);
        let unreachable = |reason: String| SessionError::Unreachable {
            servers: ensemble.address.to_string(),
            reason,
        };
        let reached = match ensemble.reach(&mut identity, first, &[]).await {
            Ok(reached) => reached,
            Err(ConnectionError::AuthFailed) => return Err(refusal("/", code::AUTH_FAILED)),
            Err(error) => return Err(unreachable(error.to_string())),
        };
        let Some(id) = SessionId::of_zookeeper(identity.id) else {
            return Err(unreachable("the server granted session 0, which is none".to_owned()));
        };
        let ticket = SessionTicket::new(&ensemble.address, ensemble.digest.clone(), &identity);
        if let Some(observer) = &ensemble.observer {
            observer.begun(&ticket);
        }
        let state = SessionState::new(id, reached.heard);
        state.grant(identity.timeout);
        let state = Arc::new(state);
        let (exchanges, queue) = mpsc::channel(QUEUE);
        let task = SessionTask::new(Arc::clone(&state), Arc::clone(&ensemble), identity, queue);
        let mut tasks = JoinSet::new();
        tasks.spawn(task.run(reached));
        Ok(Self { ensemble, state, exchanges, ticket, _task: tasks })
    }

    /// Creates the node that the address names, and those above it.
    async fn create_chroot(&self) -> Result<(), StoreError> {
        let ZooKeeperAddress { servers, chroot } = &self.ensemble.address;
        let root = ZooKeeperAddress { servers: servers.clone(), chroot: String::new() };
        let ends = chroot.match_indices('/').skip(1).map(|(end, _)| end);
        for end in ends.chain((!chroot.is_empty()).then_some(chroot.len())) {
            let path = &chroot[..end];
            let found = self.call(Request::get_data(path)).await?;
            if found.error != code::NO_NODE {
                continue;
            }
            let op = Op::create(path, "");
            let request = transaction::encode(std::slice::from_ref(&op), &root, self.access());
            let reply = self.call(request).await?;
            match transaction::decode(&reply.body, &root) {
                // Another broker may have created it meanwhile.
                Ok(Ok(_) | Err((_, code::NODE_EXISTS))) => {}
                Ok(Err((_, error))) => return Err(refusal(path, error).into()),
                Err(Garbled) => return Err(self.garbled().into()),
            }
        }
        Ok(())
    }

    fn access(&self) -> Access {
        match self.ensemble.digest {
            Some(_) => Access::ReadOnlyForOthers,
            None => Access::Open,
        }
    }

    /// Sends a request; the answer comes later, in the order of the requests.
    async fn send(
        &self,
        request: Request,
    ) -> Result<oneshot::Receiver<Result<Reply, SessionError>>, SessionError> {
        self.state.check()?;
        let (response, answer) = oneshot::channel();
        let expired = |_| SessionError::Expired(self.state.id);
        self.exchanges.send(Exchange { request, response }).await.map_err(expired)?;
        Ok(answer)
    }

    async fn call(&self, request: Request) -> Result<Reply, SessionError> {
        self.answered(self.send(request).await?).await
    }

    async fn answered(
        &self,
        answer: oneshot::Receiver<Result<Reply, SessionError>>,
    ) -> Result<Reply, SessionError> {
        let answer = answer.await.unwrap_or(Err(SessionError::Expired(self.state.id)))?;
        match answer.error {
            code::THROTTLED => Err(self.unreachable("the server is overloaded")),
            _ => Ok(answer),
        }
    }

    /// Sends all requests, and returns the answers in the same order.
    async fn call_all(
        &self,
        requests: impl Iterator<Item = Request>,
    ) -> Result<Vec<Reply>, SessionError> {
        let mut answers = Vec::new();
        for request in requests {
            answers.push(self.send(request).await?);
        }
        let mut replies = Vec::with_capacity(answers.len());
        for answer in answers {
            replies.push(self.answered(answer).await?);
        }
        Ok(replies)
    }

    /// The nodes at these paths, with the numbers of their children.
    async fn nodes(&self, paths: &[String]) -> Result<Vec<Option<NodeData>>, StoreError> {
        let mut nodes = Vec::with_capacity(paths.len());
        for paths in paths.chunks(NODES_AT_ONCE) {
            paths.iter().try_for_each(|path| validate_path(path))?;
            let full_path = |path: &String| self.ensemble.address.full_path(path);
            let requests = paths.iter().map(|path| Request::get_data(&full_path(path)));
            for (path, reply) in paths.iter().zip(self.call_all(requests).await?) {
                nodes.push(self.found(path, &reply, NodeData::decode)?);
            }
        }
        Ok(nodes)
    }

    /// The names of the children of each of these nodes.
    async fn names(&self, paths: &[String]) -> Result<Vec<Vec<String>>, StoreError> {
        let full_path = |path: &String| self.ensemble.address.full_path(path);
        let requests = paths.iter().map(|path| Request::get_children(&full_path(path)));
        let mut names = Vec::with_capacity(paths.len());
        for (path, reply) in paths.iter().zip(self.call_all(requests).await?) {
            names.push(self.found(path, &reply, decode_children)?.unwrap_or_default());
        }
        Ok(names)
    }

    /// The contents of an answer about a node; `None` if the node does not exist.
    fn found<T>(
        &self,
        path: &str,
        reply: &Reply,
        decode: impl Fn(&bytes::Bytes) -> Result<T, Garbled>,
    ) -> Result<Option<T>, SessionError> {
        match reply.error {
            0 => decode(&reply.body).map(Some).map_err(|Garbled| self.garbled()),
            code::NO_NODE => Ok(None),
            error => Err(refusal(path, error)),
        }
    }

    async fn descendants(&self, path: &str) -> Result<Vec<(String, Node)>, StoreError> {
        let mut found = BTreeMap::new();
        let mut unread = vec![path.to_owned()];
        while !unread.is_empty() {
            let paths = unread.split_off(unread.len().saturating_sub(NODES_AT_ONCE));
            let nodes = self.nodes(&paths).await?;
            let mut parents = Vec::new();
            for (path, NodeData { node, children }) in
                paths.into_iter().zip(nodes).filter_map(|(path, node)| Some((path, node?)))
            {
                if children > 0 {
                    parents.push(path.clone());
                }
                found.insert(path, node);
            }
            for (parent, names) in parents.iter().zip(self.names(&parents).await?) {
                let prefix = children_prefix(parent);
                unread.extend(names.iter().map(|name| format!("{prefix}{name}")));
            }
        }
        Ok(found.into_iter().collect())
    }

    async fn execute(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
        for op in &ops {
            validate_path(op.path())?;
            // ZooKeeper takes version -1 as any version; no negative version can match a node.
            if op.version().is_some_and(|version| version < 0) {
                return Err(self.bad_version(op).await);
            }
        }
        let request = transaction::encode(&ops, &self.ensemble.address, self.access());
        let (bytes, limit) = (request.body.len(), TRANSACTION_BYTES_MAX);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        let reply = self.call(request).await?;
        let path = ops.first().map_or("/", Op::path);
        if reply.error != 0 && reply.body.is_empty() {
            return Err(refusal(path, reply.error).into());
        }
        match transaction::decode(&reply.body, &self.ensemble.address) {
            Ok(Ok(results)) => Ok(results),
            Ok(Err((index, code))) => {
                let Some(op) = ops.get(index) else { return Err(self.garbled().into()) };
                match transaction::error(op, code) {
                    Some(error) => Err(error),
                    None => Err(self.bad_version(op).await),
                }
            }
            // An unreadable answer to a write does not tell whether the write happened.
            Err(Garbled) => Err(SessionError::OutcomeUnknown.into()),
        }
    }

    /// The error of an operation whose version does not match.
    async fn bad_version(&self, op: &Op) -> StoreError {
        let path = op.path().to_owned();
        let expected = op.version().unwrap_or_default();
        match self.get(&path).await {
            Ok(Some(node)) => StoreError::BadVersion { path, expected, found: node.version },
            Ok(None) => StoreError::NoNode { path },
            Err(error) => error,
        }
    }

    fn unreachable(&self, reason: &str) -> SessionError {
        let servers = self.ensemble.address.to_string();
        SessionError::Unreachable { servers, reason: reason.to_owned() }
    }

    fn garbled(&self) -> SessionError {
        self.unreachable(&Garbled.to_string())
    }
}

impl Store for ZooKeeperStore {
    fn session(&self) -> SessionId {
        self.state.id
    }

    fn last_heard(&self) -> Option<Duration> {
        Some(self.state.last_heard())
    }

    fn session_timeout(&self) -> Option<Duration> {
        Some(self.state.timeout())
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            let store = Self::begin(Arc::clone(&self.ensemble)).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let reply = self.call(Request::close_session()).await?;
            if reply.error != 0 {
                return Err(refusal("/", reply.error).into());
            }
            self.state.end();
            Ok(())
        })
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        Box::pin(async move {
            let nodes = self.nodes(paths).await?;
            Ok(nodes.into_iter().map(|node| Some(node?.node)).collect())
        })
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move {
            validate_path(path)?;
            Ok(self.names(&[path.to_owned()]).await?.pop().unwrap_or_default())
        })
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        Box::pin(self.descendants(path))
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        Box::pin(self.execute(ops))
    }

    fn at_proven_end(&self, op: Op) {
        let Some(observer) = &self.ensemble.observer else { return };
        let request = transaction::encode(&[op], &self.ensemble.address, self.access());
        let at_end = Some(request.body);
        observer.begun(&SessionTicket { at_end, ..self.ticket.clone() });
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        Box::pin(async move {
            subtrees.iter().try_for_each(|path| validate_path(path))?;
            let full_path = |path: &&str| self.ensemble.address.full_path(path);
            let full_paths: Vec<String> = subtrees.iter().map(full_path).collect();
            let watch = self.state.watch(subtrees, &full_paths);
            let requests = full_paths.iter().map(|path| Request::add_watch(path));
            for (path, reply) in subtrees.iter().zip(self.call_all(requests).await?) {
                if reply.error != 0 {
                    return Err(refusal(path, reply.error).into());
                }
            }
            Ok(watch)
        })
    }
}
