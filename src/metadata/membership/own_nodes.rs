//! The nodes of a registered broker beside its registration, which it writes again if somebody has
//! deleted or damaged them.

use crate::metadata::image::Registration;
use crate::metadata::layout::{NodePath, SESSIONS};
use crate::metadata::member::Member;
use crate::metadata::store::{Op, OpResult, Store, StoreError, transact};
use crate::metadata::{Metadata, MetadataError};

impl Metadata {
    /// Writes nodes of this broker again that somebody has deleted or damaged: the one that shows
    /// that its session goes on, and the one by which it is known while it is away. Without the
    /// latter, no in-sync set is changed by this broker, or joined by it.
    ///
    /// # Errors
    /// Those of the store, and `NoNode` if the registration is gone.
    pub(in crate::metadata) async fn restore_own_nodes(&self) -> Result<(), MetadataError> {
        let Some(member) = self.member() else { return Ok(()) };
        let (is_known, has_session) = {
            let cache = self.cache.lock().await;
            (cache.is_known(), cache.has_session_node())
        };
        if !has_session && self.store().session_timeout().is_some() {
            let (store, path) = (self.store(), NodePath::Session(self.broker).to_string());
            let mut ops = vec![member.check().await?];
            let found = store.get(&path).await?;
            if let Some(by_hand) = found.filter(|node| node.owner.is_none()) {
                ops.push(Op::delete(path.clone(), by_hand.version));
            }
            ops.extend(self.session_node(&*store).await?);
            self.execute(&*store, ops).await?;
            tracing::warn!("{path} was deleted or replaced by hand: it is written again");
        }
        if !is_known {
            self.restore_known(&member).await?;
        }
        Ok(())
    }

    /// The operations that create the node that shows that the session goes on. None if the store
    /// is part of this process: there is no other session that could learn of it.
    pub(super) async fn session_node(&self, store: &dyn Store) -> Result<Vec<Op>, StoreError> {
        if store.session_timeout().is_none() {
            return Ok(Vec::new());
        }
        let parent = store.get(SESSIONS).await?.is_none().then(|| Op::create(SESSIONS, ""));
        let session = Op::create_ephemeral(NodePath::Session(self.broker).to_string(), "");
        Ok(parent.into_iter().chain([session]).collect())
    }

    /// Deletes the node that shows that the session of this broker goes on, if the store can be
    /// reached: a broker that cannot register again answers nobody, and others may lead its
    /// partitions. The next registration creates the node again.
    pub(super) async fn withdraw_session_node(&self) {
        let (store, path) = (self.store(), NodePath::Session(self.broker).to_string());
        let withdrawn = async {
            let own = store.get(&path).await?.filter(|node| node.owner == Some(store.session()));
            let Some(node) = own else { return Ok(()) };
            transact(&*store, vec![Op::delete(path.clone(), node.version)]).await.map(drop)
        };
        if let Err(error) = withdrawn.await {
            tracing::debug!(%error, "{path} could not be deleted");
        }
    }

    async fn restore_known(&self, member: &Member) -> Result<(), MetadataError> {
        let Some(registration) = self.registration.lock().await.clone() else { return Ok(()) };
        // The newest token in the directory is that of the present registration.
        let token = self.directory.as_ref().and_then(|directory| directory.held().pop());
        let registration = Registration { token, ..registration };
        let (store, path) = (self.store(), NodePath::KnownBroker(self.broker));
        // Another process may have registered under this id since.
        let check = member.check().await?;
        let known = self.known_as(&*store, &registration, None).await?;
        let ops = std::iter::once(check).chain(known.ops).collect();
        let results = self.execute(&*store, ops).await?;
        let version = results.last().map_or(0, OpResult::version_after);
        let incarnation = member.membership.incarnation;
        member.set_end_notes(self.end_notes(incarnation, known.value, version));
        tracing::warn!("{path} was deleted or damaged by hand: it is written again");
        Ok(())
    }
}
