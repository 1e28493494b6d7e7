//! The connection to a metadata store outside the data directory.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::broker::BrokerError;
use crate::config::ConfigError;
use crate::io::{Disk, World, read_text};
use crate::metadata::{
    Digest, MetadataError, Remedy, SessionObserver, Store, ZooKeeperConfig, ZooKeeperStore,
};

/// The pause before another attempt to reach the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Opens a session with the ZooKeeper ensemble, if one is configured, and retries until a server
/// answers. Returns `None` if the metadata is in the data directory.
///
/// # Errors
/// If the credentials cannot be read, or the ensemble rejects them; `Interrupted` if `interrupted`
/// is cancelled first.
pub(super) fn connect(
    config: &ZooKeeperConfig,
    world: &World,
    runtime: &Runtime,
    observer: Option<&Arc<dyn SessionObserver>>,
    interrupted: &CancellationToken,
) -> Result<Option<Arc<dyn Store>>, BrokerError> {
    let Some(address) = &config.address else { return Ok(None) };
    let digest = digest(config, &*world.disk)?;
    tracing::info!("connecting to ZooKeeper at {address}");
    let opened = async {
        loop {
            let (address, digest) = (address.clone(), digest.clone());
            let (timeout, clock) = (config.session_timeout, Arc::clone(&world.clock));
            match ZooKeeperStore::open(address, digest, timeout, clock, observer.cloned()).await {
                Ok(store) => return Ok(Some(Arc::new(store) as Arc<dyn Store>)),
                Err(error) if error.remedy() == Remedy::Retry => {
                    tracing::warn!("{error}; trying again");
                    sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(MetadataError::from(error).into()),
            }
        }
    };
    let opened = runtime.block_on(interrupted.run_until_cancelled(opened));
    opened.unwrap_or(Err(BrokerError::Interrupted))
}

/// The user and the password of this broker for ZooKeeper.
fn digest(config: &ZooKeeperConfig, disk: &dyn Disk) -> Result<Option<Digest>, BrokerError> {
    let Some(file) = &config.digest_file else { return Ok(None) };
    let refuse = |reason: String| ConfigError::single("zookeeper.digest.file", reason);
    let name = file.display();
    let text = read_text(disk, file).map_err(|error| refuse(format!("'{name}': {error}")))?;
    let digest = Digest::parse(text.trim());
    Ok(Some(digest.ok_or_else(|| refuse(format!("'{name}' does not contain USER:PASSWORD")))?))
}
