//! Creating the first nodes of a cluster, and refusing trees of other systems.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::metadata::MetadataError;
use crate::metadata::layout::{DIRECTORIES, NodePath};
use crate::metadata::store::{Op, Store, StoreError, transact};
use crate::metadata::values::{ClusterIdValue, MarkerValue, decode, encode};

/// The tree format written by this release.
const FORMAT: u32 = 1;
/// The root node that ZooKeeper reserves for itself.
const ENSEMBLE: &str = "zookeeper";

/// Creates the tree, or checks that the existing one is streamlog's. With `cluster_id`, it must
/// belong to that cluster; a new tree gets this id, or else a random one.
pub(super) async fn bootstrap(
    store: &dyn Store,
    cluster_id: Option<&str>,
) -> Result<(), MetadataError> {
    let marker_path = NodePath::Marker.to_string();
    let marker = match store.get(&marker_path).await? {
        Some(marker) => Some(marker),
        None => match create_tree(store, cluster_id).await {
            // Another broker created the tree first.
            Err(MetadataError::Store(StoreError::NodeExists { .. })) => {
                store.get(&marker_path).await?
            }
            created => return created,
        },
    };
    let Some(marker) = marker else {
        return Err(StoreError::NoNode { path: marker_path }.into());
    };
    let MarkerValue { format } =
        decode(&marker.value).map_err(|reason| MetadataError::malformed(&marker_path, reason))?;
    if format > FORMAT {
        return Err(MetadataError::NewerFormat { found: format, newest: FORMAT });
    }
    check_cluster_id(store, cluster_id).await
}

async fn create_tree(store: &dyn Store, cluster_id: Option<&str>) -> Result<(), MetadataError> {
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
    let id = ClusterIdValue { version: "1".to_owned(), id };
    let mut ops =
        vec![Op::create(NodePath::Marker.to_string(), encode(&MarkerValue { format: FORMAT }))];
    ops.extend(DIRECTORIES.iter().map(|path| Op::create(*path, "")));
    ops.push(Op::create(NodePath::ClusterId.to_string(), encode(&id)));
    ops.push(Op::create(NodePath::ControllerEpoch.to_string(), "0"));
    transact(store, ops).await?;
    Ok(())
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
    bootstrap(store, None).await?;
    read_cluster_id(store).await
}

async fn read_cluster_id(store: &dyn Store) -> Result<String, MetadataError> {
    let path = NodePath::ClusterId.to_string();
    let Some(node) = store.get(&path).await? else {
        return Err(StoreError::NoNode { path }.into());
    };
    let ClusterIdValue { id, .. } =
        decode(&node.value).map_err(|reason| MetadataError::malformed(&path, reason))?;
    Ok(id)
}

/// Checks that the store's tree is that of the cluster `expected`.
pub(super) async fn check_cluster_id(
    store: &dyn Store,
    expected: Option<&str>,
) -> Result<(), MetadataError> {
    let id = read_cluster_id(store).await?;
    match expected {
        Some(expected) if id != expected => {
            let expected = format!("cluster {expected}");
            Err(MetadataError::ForeignStore { expected, found: format!("cluster {id}") })
        }
        _ => Ok(()),
    }
}
