//! Takes new connections and hands them to the shards in turn.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;

use super::admission::Admission;
use super::shard::Accepted;
use crate::broker::context::Shared;

/// Pause after the system refused to accept: usually there are no descriptors left.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Accepts until the broker stops, as far as `admission`, which all listeners share, lets it.
pub(crate) async fn accept(
    listener: TcpListener,
    shards: Vec<Sender<Accepted>>,
    admission: Arc<Admission>,
    shared: Arc<Shared>,
) {
    let mut turn = shards.iter().cycle();
    loop {
        let accepted = tokio::select! {
            () = shared.stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Some(queue) = turn.next() else { return };
        match accepted {
            Ok((stream, peer)) => {
                if let Err(error) = hand_over(stream, peer, &admission, queue).await {
                    tracing::warn!(%peer, "connection refused: {error}");
                }
            }
            Err(error) => {
                tracing::warn!("accepting connections pauses: {error}");
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
        }
    }
}

async fn hand_over(
    stream: TcpStream,
    peer: SocketAddr,
    admission: &Arc<Admission>,
    shard: &Sender<Accepted>,
) -> io::Result<()> {
    let admitted = admission
        .admit(peer)
        .map_err(|setting| io::Error::other(format!("{setting} is reached")))?;
    let stream = stream.into_std()?;
    shard.send(Accepted { stream, admitted }).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}
