//! Opening the listening sockets of a broker.

use std::net::{SocketAddr, TcpListener as StdListener};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::broker::listeners::{Listener, Listeners};
use crate::broker::{BrokerError, HostPort};

/// Opens all sockets. This is the first step of a start, since a port in use is the most common
/// mistake. Clients that connect meanwhile wait in the kernel until the broker is ready.
pub(crate) fn bind(
    listeners: &[Listener],
    advertised: &[Listener],
    runtime: &Runtime,
) -> Result<(Vec<TcpListener>, Listeners), BrokerError> {
    let mut sockets = Vec::with_capacity(listeners.len());
    let mut addresses = Vec::with_capacity(listeners.len());
    for listener in listeners {
        let (socket, address) = bind_one(&listener.address, runtime)?;
        sockets.push(socket);
        addresses.push((listener.name.clone(), address));
    }
    Ok((sockets, Listeners::new(addresses, advertised)))
}

fn bind_one(
    address: &HostPort,
    runtime: &Runtime,
) -> Result<(TcpListener, SocketAddr), BrokerError> {
    let _inside = runtime.enter();
    let listen = || {
        let listener = StdListener::bind((address.host.as_str(), address.port))?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        Ok((TcpListener::from_std(listener)?, bound))
    };
    listen().map_err(|source| BrokerError::Listen { address: address.clone(), source })
}
