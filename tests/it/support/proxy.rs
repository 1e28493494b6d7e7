//! A network between a session and a server that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Whole,
    /// Connections are accepted and closed at once.
    Cut,
    /// Requests on open connections arrive, their answers do not. Further connections are silent.
    AnswersLost,
}

/// A proxy in front of a server.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    link: Mutex<Link>,
    /// Both ends of all connections.
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// A proxy that forwards everything.
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (link, open) = (Mutex::new(Link::Whole), Mutex::default());
        let shared = Arc::new(Shared { server, link, open });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                accepting.accept(client.unwrap());
            }
        });
        Self { address, shared }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections, and lets no others through.
    pub(crate) fn cut(&self) {
        *self.shared.link.lock().unwrap() = Link::Cut;
        self.shared.close();
    }

    /// Closes all connections; others are let through.
    pub(crate) fn restore(&self) {
        self.shared.close();
        *self.shared.link.lock().unwrap() = Link::Whole;
    }

    /// Drops what the server answers from now on.
    pub(crate) fn lose_answers(&self) {
        *self.shared.link.lock().unwrap() = Link::AnswersLost;
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, client: TcpStream) {
        match *self.link.lock().unwrap() {
            Link::Whole => {}
            Link::Cut => return,
            // Without any answer there would be no connection at all. A request for a session would
            // keep it alive.
            Link::AnswersLost => return self.open.lock().unwrap().push(client),
        }
        // The server may be down; the client then sees a closed connection.
        let Ok(server) = TcpStream::connect(self.server) else { return };
        let ends = [&client, &server].map(|end| end.try_clone().unwrap());
        self.open.lock().unwrap().extend(ends);
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || forward(from, to, || true));
        let shared = Arc::clone(self);
        let is_whole = move || *shared.link.lock().unwrap() == Link::Whole;
        thread::spawn(move || forward(server, client, is_whole));
    }

    fn close(&self) {
        for end in self.open.lock().unwrap().drain(..) {
            // The other side may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// Forwards bytes until either side closes.
fn forward(mut from: TcpStream, mut to: TcpStream, passes: impl Fn() -> bool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if passes() && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
