//! Accepts connections and distributes them to the shards in turn.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;

use super::admission::{Admission, Admitted, ConnectionLimits, descriptors_for_connections};
use super::stages::Accepted;
use crate::broker::context::Shared;
use crate::broker::listeners::BoundListener;
use crate::io::{is_out_of_descriptors, open_file_limit};

/// The pause after the system refused to accept, or returned a descriptor reserved for files.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Accepts the connections of a listener until the broker stops, within the limits of `admission`,
/// which all listeners share.
pub(crate) async fn accept(
    socket: TcpListener,
    listener: Arc<BoundListener>,
    shards: Vec<Sender<Accepted>>,
    admission: Arc<Admission>,
    shared: Arc<Shared>,
) {
    let mut turn = shards.iter().cycle();
    loop {
        let accepted = tokio::select! {
            () = shared.stopping().cancelled() => return,
            accepted = socket.accept() => accepted,
        };
        let Some(queue) = turn.next() else { return };
        match accepted {
            Ok((stream, peer)) if is_kept_for_files(&stream, &shared) => {
                tracing::warn!(%peer, "connection refused: too few files may be open at once");
                drop(stream);
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
            Ok((stream, peer)) => {
                let admitted = admission.admit(peer, connection_limits(&shared));
                if let Err(error) = hand_over(stream, &listener, admitted, queue).await {
                    tracing::warn!(%peer, "connection refused: {error}");
                }
            }
            // The connection stays in the kernel's queue and is accepted in the next round.
            Err(error) if has_found_descriptors(&error, &shared) => {}
            Err(error) => {
                tracing::warn!("accepting connections pauses: {error}");
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
        }
    }
}

/// The maximum number of cached files to close when no descriptor is left for a connection.
const FILES_RELEASED: usize = 16;

/// Returns true if a connection has taken one of the last descriptors. The system always assigns
/// the lowest free descriptor, so its number tells how many are in use. Open files of the cache do
/// not count, since they can be closed.
fn is_kept_for_files(stream: &TcpStream, shared: &Shared) -> bool {
    let Ok(limit) = open_file_limit() else { return false };
    let files = shared.open_files().open_count();
    let taken = usize::try_from(stream.as_raw_fd()).unwrap_or(usize::MAX).saturating_sub(files);
    u64::try_from(taken).is_ok_and(|taken| taken >= descriptors_for_connections(limit))
}

/// Returns true if accepting failed for lack of descriptors, and closing files has freed some.
fn has_found_descriptors(error: &io::Error, shared: &Shared) -> bool {
    is_out_of_descriptors(error) && shared.open_files().release(FILES_RELEASED) > 0
}

/// The current limits of connections.
fn connection_limits(shared: &Shared) -> ConnectionLimits {
    let settings = shared.settings();
    let config = settings.in_force();
    ConnectionLimits { total: config.connections_max, per_ip: config.connections_max_per_ip }
}

async fn hand_over(
    stream: TcpStream,
    listener: &Arc<BoundListener>,
    admitted: Result<Admitted, &'static str>,
    shard: &Sender<Accepted>,
) -> io::Result<()> {
    let admitted = admitted.map_err(|setting| io::Error::other(format!("{setting} is reached")))?;
    let stream = stream.into_std()?;
    let listener = Arc::clone(listener);
    shard
        .send(Accepted { stream, listener, admitted })
        .await
        .map_err(|_| io::ErrorKind::BrokenPipe.into())
}
