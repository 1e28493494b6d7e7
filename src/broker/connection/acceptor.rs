//! Takes new connections and hands them to the shards in turn.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;

use super::admission::{Admission, Admitted, Room};
use super::shard::Accepted;
use crate::broker::context::Shared;
use crate::broker::settings::in_force;

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
                let admitted = admission.admit(peer, room(&shared));
                if let Err(error) = hand_over(stream, admitted, queue).await {
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

/// How many connections there may be by now.
fn room(shared: &Shared) -> Room {
    let config = in_force(&shared.config, &shared.image());
    Room { in_all: config.connections_max, per_ip: config.connections_max_per_ip }
}

async fn hand_over(
    stream: TcpStream,
    admitted: Result<Admitted, &'static str>,
    shard: &Sender<Accepted>,
) -> io::Result<()> {
    let admitted = admitted.map_err(|setting| io::Error::other(format!("{setting} is reached")))?;
    let stream = stream.into_std()?;
    shard.send(Accepted { stream, admitted }).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}
