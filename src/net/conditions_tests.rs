//! Conditions of a connection over a pair of sockets.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Conditions, Flow, Transport};

/// The longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(30);
/// The wait for an event that must not come.
const SHORT: Duration = Duration::from_millis(50);

struct Pair {
    transport: Transport,
    peer: TcpStream,
    incoming: watch::Sender<Flow>,
    outgoing: watch::Sender<Flow>,
    ended: CancellationToken,
}

fn pair() -> Pair {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    near.set_nonblocking(true).unwrap();
    let (peer, _) = listener.accept().unwrap();
    let (incoming, outgoing) = (watch::Sender::default(), watch::Sender::default());
    let ended = CancellationToken::new();
    let conditions = Conditions::new(incoming.subscribe(), outgoing.subscribe(), ended.clone());
    let transport = Transport::direct(near).unwrap().under(conditions);
    Pair { transport, peer, incoming, outgoing, ended }
}

impl Pair {
    /// Reads bytes as soon as there are some; empty at the end of the stream.
    async fn read(&self) -> Vec<u8> {
        let reading = async {
            loop {
                self.transport.readable().await.unwrap();
                let mut buffer = BytesMut::with_capacity(8);
                match self.transport.try_read(&mut buffer) {
                    Ok(_) => return buffer.to_vec(),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
        };
        timeout(PATIENCE, reading).await.unwrap()
    }
}

fn cut() -> Flow {
    Flow { is_cut: true, ..Flow::default() }
}

#[tokio::test]
async fn bytes_pass_a_cut_direction_once_it_is_healed() {
    let mut pair = pair();
    pair.incoming.send_replace(cut());
    pair.peer.write_all(b"late").unwrap();
    timeout(SHORT, pair.transport.readable()).await.unwrap_err();
    let mut buffer = BytesMut::with_capacity(8);
    let blocked = pair.transport.try_read(&mut buffer).unwrap_err();
    assert_eq!(blocked.kind(), ErrorKind::WouldBlock);
    assert_eq!(pair.transport.try_write(&[IoSlice::new(b"other way")], false).unwrap(), 9);
    pair.incoming.send_replace(Flow::default());
    assert_eq!(pair.read().await, b"late");

    pair.outgoing.send_replace(cut());
    timeout(SHORT, pair.transport.writable()).await.unwrap_err();
    let blocked = pair.transport.try_write(&[IoSlice::new(b"x")], false).unwrap_err();
    assert_eq!(blocked.kind(), ErrorKind::WouldBlock);
    pair.outgoing.send_replace(Flow::default());
    timeout(PATIENCE, pair.transport.writable()).await.unwrap().unwrap();
    assert_eq!(pair.transport.try_write(&[IoSlice::new(b"x")], false).unwrap(), 1);
    let mut received = [0; 10];
    pair.peer.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"other wayx");
}

#[tokio::test]
async fn delayed_bytes_arrive_in_order_and_before_the_end_of_their_stream() {
    let mut pair = pair();
    let delay = Duration::from_millis(100);
    pair.incoming.send_replace(Flow { delay, ..Flow::default() });
    let begin = Instant::now();
    pair.peer.write_all(b"more than one read takes").unwrap();
    let mut arrived = pair.read().await;
    assert!(begin.elapsed() >= delay, "{:?}", begin.elapsed());
    pair.peer.write_all(b", and more").unwrap();
    drop(pair.peer.shutdown(std::net::Shutdown::Write));
    // Bytes under way keep their delay, and later bytes do not overtake it.
    pair.incoming.send_replace(Flow::default());
    loop {
        match pair.read().await {
            bytes if bytes.is_empty() => break,
            bytes => arrived.extend(bytes),
        }
    }
    assert_eq!(arrived, b"more than one read takes, and more");
    assert_eq!(pair.read().await, b"");
}

#[tokio::test]
async fn an_end_whose_process_has_ended_neither_reads_nor_writes() {
    let mut pair = pair();
    pair.incoming.send_replace(cut());
    pair.peer.write_all(b"unread").unwrap();
    let waiting = async {
        pair.transport.readable().await.unwrap();
        pair.transport.try_read(&mut BytesMut::new()).unwrap_err().kind()
    };
    let (kind, ()) = tokio::join!(waiting, async { pair.ended.cancel() });
    assert_eq!(kind, ErrorKind::ConnectionAborted);
    timeout(PATIENCE, pair.transport.writable()).await.unwrap().unwrap();
    let refused = pair.transport.try_write(&[IoSlice::new(b"x")], false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionAborted);
}
