//! The stages of a connection: accepted, in its handshake, known, and closed.
//!
//! Only a known connection can be served, so no request is executed for a peer without an identity.
//! A listener that demands authentication performs it during the handshake. Today all listeners are
//! plaintext and demand none.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::admission::Admitted;
use crate::broker::authorize::Principal;
use crate::broker::call::Unanswerable;
use crate::broker::listeners::BoundListener;
use crate::broker::session::{Identity, Session};
use crate::net::{FrameError, Network, Transport};

/// An accepted connection on its way to its shard.
pub(crate) struct Accepted {
    /// The socket, non-blocking.
    pub(super) stream: TcpStream,
    /// The listener that accepted it.
    pub(super) listener: Arc<BoundListener>,
    /// The admission, which counts towards the limits.
    pub(super) admitted: Admitted,
}

/// A connection whose peer has no identity yet.
pub(super) struct Handshake {
    transport: Transport,
    listener: Arc<BoundListener>,
    /// The local address that the peer connected to.
    local: SocketAddr,
    admitted: Admitted,
}

/// A connection whose peer is known, which can be served.
pub(super) struct Known {
    /// The socket.
    pub(super) transport: Transport,
    /// The session, which has the identity of the peer.
    pub(super) session: Rc<Session>,
    /// The admission, held until the connection ends.
    pub(super) _admitted: Admitted,
}

/// The reason why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Closed {
    /// The peer closed the connection between frames.
    #[error("closed by the peer")]
    ByPeer,
    /// The peer sent nothing for `connections.max.idle.ms`, or its request made no progress for
    /// that time.
    #[error("idle for {0:?}")]
    Idle(Duration),
    /// A request or a response took longer than `transfer.deadline.ms`.
    #[error("a transfer took longer than {0:?}")]
    Slow(Duration),
    /// The bytes are not a valid frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame contained a request that cannot be answered.
    #[error(transparent)]
    Request(#[from] Unanswerable),
    /// The system returned an error.
    #[error("the connection broke")]
    Io(#[from] std::io::Error),
    /// The broker is stopping.
    #[error("the broker stops")]
    Stopping,
}

impl Handshake {
    /// Begins the handshake of an accepted connection, from the system's network or another.
    ///
    /// # Errors
    /// If the socket is no longer connected.
    pub(super) fn begin(
        accepted: Accepted,
        network: Option<&Arc<dyn Network>>,
    ) -> io::Result<Self> {
        let Accepted { stream, listener, admitted } = accepted;
        let transport = Transport::direct(stream)?;
        let transport = match network {
            None => transport,
            Some(network) => transport.under(network.accepted(admitted.peer)),
        };
        let local = transport.local_addr()?;
        Ok(Self { transport, listener, local, admitted })
    }

    /// Completes the handshake: without authentication, the peer is anonymous.
    pub(super) fn complete(self) -> Known {
        let Self { transport, listener, local, admitted } = self;
        let peer = admitted.peer;
        let identity = Identity { principal: Principal::anonymous(), listener, peer, local };
        Known { transport, session: Rc::new(Session::new(identity)), _admitted: admitted }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tokio::runtime::Builder;

    use super::*;
    use crate::broker::connection::admission::{Admission, ConnectionLimits};
    use crate::broker::listeners::{Listener, Listeners};
    use crate::io::{MemoryDisk, OpenFiles, Share};
    use crate::types::WithCauses;
    use crate::wire::WireError;

    #[test]
    fn a_peer_of_a_plaintext_listener_is_anonymous_and_counts_until_its_connection_ends() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let (stream, peer) = socket.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let advertised: Listener = "OUT://public.example:443".parse().unwrap();
        let listeners = Listeners::new([("OUT".to_owned(), address)], &[advertised]);
        let listener = listeners.all().next().unwrap();
        let files = OpenFiles::new(Arc::new(MemoryDisk::default()), Share::OfProcess);
        let admission = Arc::new(Admission::new(files));
        let limits = ConnectionLimits { total: 1, per_ip: 1 };
        let admitted = admission.admit(peer, limits).unwrap();
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let _inside = runtime.enter();

        let handshake = Handshake::begin(Accepted { stream, listener, admitted }, None).unwrap();
        let known = handshake.complete();
        let identity = known.session.identity();
        assert_eq!(identity.to_string(), format!("User:ANONYMOUS from {peer}"));
        assert_eq!(identity.peer, client.local_addr().unwrap());
        assert_eq!(identity.local, address);
        assert_eq!(identity.listener.name(), "OUT");
        assert_eq!(
            identity.listener.advertised_to(identity.local).to_string(),
            "public.example:443"
        );
        assert_eq!(admission.admit(peer, limits).err(), Some("max.connections"));
        drop(known);
        assert!(admission.admit(peer, limits).is_ok());
    }

    #[test]
    fn a_cause_is_said_once() {
        let cause = WireError::Truncated { needed: 4, remaining: 1 };
        let expected = format!("a request could not be read: {cause}");
        let closed = Closed::from(Unanswerable::from(cause));
        assert_eq!(WithCauses(&closed).to_string(), expected);
    }
}
