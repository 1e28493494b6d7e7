//! Creating the first nodes of a cluster, creating those that somebody has deleted again, and
//! refusing trees of other systems.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use uuid::Uuid;

use crate::metadata::MetadataError;
use crate::metadata::layout::{BROKER_CONFIGS, BROKERS, DIRECTORIES, KNOWN_BROKERS, NodePath};
use crate::metadata::store::{Node, Op, Store, StoreError, children_prefix, transact};
use crate::metadata::values::{ClusterIdValue, MarkerValue, decode, encode};

/// The tree format written by this release.
const FORMAT: u32 = 1;
/// The root node that ZooKeeper reserves for itself.
const ENSEMBLE: &str = "zookeeper";

/// Creates the tree, or checks that the existing one is streamlog's, and creates what it lacks of
/// the nodes that every tree has. Returns the id of its cluster. With `cluster_id`, the tree must
/// belong to that cluster; a new tree gets this id, or else a random one.
pub(super) async fn bootstrap(
    store: &dyn Store,
    cluster_id: Option<&str>,
) -> Result<String, MetadataError> {
    let marker_path = NodePath::Marker.to_string();
    let mut marker = store.get(&marker_path).await?;
    if marker.is_none() {
        if let Some(expected) = cluster_id
            && is_tree_of(store, expected).await?
        {
            restore_tree(store, expected).await?;
            return Ok(expected.to_owned());
        }
        match create_tree(store, cluster_id).await {
            // Another broker created the tree first.
            Err(MetadataError::Store(StoreError::NodeExists { .. })) => {
                marker = store.get(&marker_path).await?;
            }
            created => return created,
        }
    }
    let Some(marker) = marker else {
        return Err(StoreError::NoNode { path: marker_path }.into());
    };
    let MarkerValue { format } =
        decode(&marker.value).map_err(|reason| MetadataError::malformed(&marker_path, reason))?;
    if format > FORMAT {
        return Err(MetadataError::NewerFormat { found: format, newest: FORMAT });
    }
    let id = check_cluster_id(store, cluster_id).await?;
    restore_tree(store, &id).await?;
    Ok(id)
}

async fn create_tree(store: &dyn Store, cluster_id: Option<&str>) -> Result<String, MetadataError> {
    let mut others = store.children("/").await?;
    others.retain(|name| name != ENSEMBLE);
    let marker = NodePath::Marker.to_string();
    if !others.is_empty() && store.get(&marker).await?.is_some() {
        // Another broker has created these nodes since the first look for the marker.
        return Err(StoreError::NodeExists { path: marker }.into());
    }
    if !others.is_empty() {
        return Err(MetadataError::ForeignStore {
            expected: "an empty tree or one of streamlog".to_owned(),
            found: format!("'/{}'", others.join("', '/")),
        });
    }
    let new_id = || URL_SAFE_NO_PAD.encode(Uuid::new_v4());
    let id = cluster_id.map_or_else(new_id, str::to_owned);
    let mut ops: Vec<Op> =
        permanent_nodes(&id).map(|(path, value)| Op::create(path, value)).collect();
    ops.push(Op::create(NodePath::ControllerEpoch.to_string(), "0"));
    transact(store, ops).await?;
    Ok(id)
}

/// The nodes that every tree of a cluster has and whose values never change, parents first.
fn permanent_nodes(cluster_id: &str) -> impl Iterator<Item = (String, Bytes)> {
    let marker = (NodePath::Marker.to_string(), encode(&MarkerValue { format: FORMAT }));
    let id = ClusterIdValue::new(cluster_id);
    let id = (NodePath::ClusterId.to_string(), encode(&id));
    let directories = DIRECTORIES.iter().map(|path| ((*path).to_owned(), Bytes::new()));
    std::iter::once(marker).chain(directories).chain([id])
}

/// True if the node at `path` is one that every tree has, or if it goes with one.
pub(super) fn is_permanent(path: &str) -> bool {
    let node_path = NodePath::of(path);
    path == KNOWN_BROKERS
        || DIRECTORIES.contains(&path)
        || matches!(node_path, Some(NodePath::Marker | NodePath::ClusterId))
}

/// Creates the nodes again that every tree has and that somebody has deleted, in the tree of the
/// cluster `cluster_id`. The parent of the settings of brokers stays away: by its value a deleted
/// setting is known.
///
/// Does nothing if the id is not that of this cluster, or if both the marker and the id are missing
/// and so is a registration of this session: the store has lost the tree, or has another.
///
/// # Errors
/// Those of the store.
pub(super) async fn restore_tree(store: &dyn Store, cluster_id: &str) -> Result<(), StoreError> {
    let nodes = permanent_nodes(cluster_id).filter(|(path, _)| path != BROKER_CONFIGS);
    let (paths, values): (Vec<String>, Vec<Bytes>) = nodes.unzip();
    loop {
        let found = store.read(&paths).await?;
        let node = |wanted: NodePath| {
            let wanted = wanted.to_string();
            paths.iter().zip(&found).find(|(path, _)| **path == wanted)?.1.as_ref()
        };
        let is_own = match node(NodePath::ClusterId) {
            Some(id) => is_id_of(id, cluster_id),
            None => node(NodePath::Marker).is_some() || has_own_registration(store).await?,
        };
        let missing = paths.iter().zip(&values).zip(&found).filter(|(_, node)| node.is_none());
        let creations: Vec<Op> =
            missing.map(|((path, value), _)| Op::create(path.clone(), value.clone())).collect();
        if !is_own || creations.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = creations.iter().map(|op| op.path().to_owned()).collect();
        match transact(store, creations).await {
            Ok(_) => {
                let names = names.join(", ");
                tracing::warn!("deleted by hand, and created again: {names}");
                return Ok(());
            }
            // Another broker has created some of them since.
            Err(StoreError::NodeExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// True if a broker is registered by the session of this handle.
async fn has_own_registration(store: &dyn Store) -> Result<bool, StoreError> {
    let prefix = children_prefix(BROKERS);
    let names = store.children(BROKERS).await?;
    let paths: Vec<String> = names.iter().map(|name| format!("{prefix}{name}")).collect();
    let registrations = store.read(&paths).await?;
    let mut owners = registrations.iter().flatten().map(|registration| registration.owner);
    Ok(owners.any(|owner| owner == Some(store.session())))
}

/// True if the store has the tree of a cluster, or that of the cluster `expected` without its
/// marker.
///
/// # Errors
/// The error of the store.
pub async fn has_cluster(store: &dyn Store, expected: &str) -> Result<bool, MetadataError> {
    let has_marker = store.get(&NodePath::Marker.to_string()).await?.is_some();
    Ok(has_marker || is_tree_of(store, expected).await?)
}

/// True if the tree has the id of the cluster `expected`: then at most its marker was deleted.
async fn is_tree_of(store: &dyn Store, expected: &str) -> Result<bool, StoreError> {
    let node = store.get(&NodePath::ClusterId.to_string()).await?;
    Ok(node.is_some_and(|node| is_id_of(&node, expected)))
}

/// True if a node with the id of a cluster names the cluster `expected`.
fn is_id_of(node: &Node, expected: &str) -> bool {
    decode::<ClusterIdValue>(&node.value).is_ok_and(|found| found.id == expected)
}

/// The id of the cluster whose tree the store holds; `None` if there is no such tree.
///
/// # Errors
/// `Malformed`, or the error of the store.
pub async fn cluster_id(store: &dyn Store) -> Result<Option<String>, MetadataError> {
    if store.get(&NodePath::Marker.to_string()).await?.is_none() {
        return Ok(None);
    }
    read_cluster_id(store).await.map(Some)
}

/// The id of the cluster whose tree the store holds. An empty store becomes that of a new cluster.
///
/// A broker must learn the id before it creates its data directory, which records the id.
/// Otherwise, if several brokers start on an empty store together, all but one would record the id
/// of a cluster that does not exist.
///
/// # Errors
/// `ForeignStore` if the tree belongs to another system, `NewerFormat` or `Malformed` if it cannot
/// be read, or the error of the store.
pub async fn ensure_cluster_id(store: &dyn Store) -> Result<String, MetadataError> {
    bootstrap(store, None).await
}

async fn read_cluster_id(store: &dyn Store) -> Result<String, MetadataError> {
    let path = NodePath::ClusterId.to_string();
    let Some(node) = store.get(&path).await? else {
        let id = encode(&ClusterIdValue::new("ID"));
        let reason = format!(
            "it was deleted by hand; create it with {}, where ID is cluster.id in the \
             meta.properties of a broker's data directory",
            String::from_utf8_lossy(&id)
        );
        return Err(MetadataError::Malformed { path, reason });
    };
    let ClusterIdValue { id, .. } =
        decode(&node.value).map_err(|reason| MetadataError::malformed(&path, reason))?;
    Ok(id)
}

/// The id of the cluster whose tree the store has, which must be `expected` if that is known.
pub(super) async fn check_cluster_id(
    store: &dyn Store,
    expected: Option<&str>,
) -> Result<String, MetadataError> {
    let id = read_cluster_id(store).await?;
    match expected {
        Some(expected) if id != expected => {
            let expected = format!("cluster {expected}");
            Err(MetadataError::ForeignStore { expected, found: format!("cluster {id}") })
        }
        _ => Ok(id),
    }
}
