//! Both kinds of transports over a pair of sockets.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::{FrameBuffer, Outgoing, Piece, Transport, Written};
use crate::io::{Disk, File, FileRange, OpenMode, SystemDisk, read_exact_at, write_all_at};

/// A stall limit that a write reaches only if the peer accepts nothing.
const LONG: Duration = Duration::from_mins(1);

type Kind = fn(TcpStream) -> io::Result<Transport>;

const KINDS: [Kind; 2] = [Transport::direct, Transport::copying];

/// A connected transport of this kind and its peer.
fn pair(kind: Kind) -> (Transport, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    near.set_nonblocking(true).unwrap();
    let (far, _) = listener.accept().unwrap();
    (kind(near).unwrap(), far)
}

/// Bytes in which every position differs from its neighbours and pages differ from each other.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| ((index + index / 4096) % 251).to_le_bytes()[0]).collect()
}

fn file_with(directory: &Path, bytes: &[u8]) -> Arc<dyn File> {
    let path = directory.join("records");
    let file = SystemDisk::default().open(&path, OpenMode::CreateNew).unwrap();
    write_all_at(&*file, &mut [IoSlice::new(bytes)], 0).unwrap();
    file
}

fn range(file: &Arc<dyn File>, position: u64, length: u64) -> Piece {
    Piece::File(FileRange { file: Arc::clone(file), position, length })
}

/// Writes everything, and reads cold ranges into memory as the owner of a connection does.
async fn write_all(out: &mut Outgoing, transport: &Transport) -> io::Result<()> {
    loop {
        match out.write_to(transport, LONG).await? {
            Written::All => return Ok(()),
            Written::UntilCold(cold) => {
                let mut bytes = vec![0; usize::try_from(cold.length).unwrap()];
                read_exact_at(&*cold.file, &mut bytes, cold.position)?;
                out.supply(bytes.into());
            }
        }
    }
}

#[tokio::test]
async fn buffers_and_ranges_of_files_arrive_in_order() {
    let directory = TempDir::new().unwrap();
    let bytes = pattern(6 << 20);
    let file = file_with(directory.path(), &bytes);
    for kind in KINDS {
        let (transport, mut peer) = pair(kind);
        let mut out = Outgoing::default();
        let mut expected = Vec::new();
        let mut push = |piece: Piece, bytes: &[u8]| {
            out.push(piece);
            expected.extend_from_slice(bytes);
        };
        push(Piece::Bytes(b"head"[..].into()), b"head");
        push(range(&file, 5_000, 5 << 20), &bytes[5_000..5_000 + (5 << 20)]);
        // More buffers than one call takes.
        for number in 0..200_u8 {
            push(Piece::Bytes(vec![number].into()), &[number]);
        }
        push(range(&file, 0, 1), &bytes[..1]);
        push(range(&file, 77, 3 << 20), &bytes[77..77 + (3 << 20)]);
        assert_eq!(out.queued_bytes(), expected.len() as u64);

        let reading = thread::spawn(move || {
            let mut received = Vec::new();
            peer.read_to_end(&mut received).unwrap();
            received
        });
        write_all(&mut out, &transport).await.unwrap();
        assert!(out.is_empty());
        drop(transport);
        assert!(reading.join().unwrap() == expected, "the bytes differ");
    }
}

#[tokio::test]
async fn a_range_beyond_the_end_of_its_file_fails() {
    let directory = TempDir::new().unwrap();
    let file = file_with(directory.path(), &pattern(10_000));
    for kind in KINDS {
        let (transport, _peer) = pair(kind);
        let mut out = Outgoing::default();
        out.push(range(&file, 9_000, 2_000));
        let failed = write_all(&mut out, &transport).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::UnexpectedEof);
    }
}

#[tokio::test]
async fn a_peer_that_accepts_nothing_is_given_up() {
    let directory = TempDir::new().unwrap();
    let file = file_with(directory.path(), &pattern(16 << 20));
    for kind in KINDS {
        let (transport, _peer) = pair(kind);
        let mut out = Outgoing::default();
        // More than the buffers of both sockets hold.
        out.push_all((0..4).map(|_| range(&file, 0, 16 << 20)));
        let outcome = loop {
            match out.write_to(&transport, Duration::from_millis(50)).await {
                Ok(Written::UntilCold(cold)) => {
                    let mut bytes = vec![0; usize::try_from(cold.length).unwrap()];
                    read_exact_at(&*cold.file, &mut bytes, cold.position).unwrap();
                    out.supply(bytes.into());
                }
                outcome => break outcome,
            }
        };
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(!out.is_empty());
    }
}

#[tokio::test]
async fn a_frame_that_arrives_in_parts_is_read_whole() {
    for kind in KINDS {
        let (transport, mut peer) = pair(kind);
        let mut buffer = FrameBuffer::new(1 << 20);
        assert_eq!(buffer.fill(&transport).unwrap_err().kind(), ErrorKind::WouldBlock);

        peer.write_all(b"\0\0\0\x05fra").unwrap();
        while buffer.held() < 7 {
            transport.readable().await.unwrap();
            let _ = buffer.fill_some(&transport);
        }
        assert_eq!(buffer.next_frame().unwrap(), None);
        peer.write_all(b"me").unwrap();
        while buffer.held() < 9 {
            transport.readable().await.unwrap();
            let _ = buffer.fill(&transport);
        }
        assert_eq!(buffer.next_frame().unwrap().unwrap(), "frame");
    }
}

#[tokio::test]
async fn the_end_of_a_stream_is_seen_behind_unread_bytes() {
    for kind in KINDS {
        let (transport, mut peer) = pair(kind);
        peer.write_all(b"unread").unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        transport.ended_by_peer().await.unwrap();
        let mut bytes = bytes::BytesMut::new();
        while transport.try_read(&mut bytes).unwrap() > 0 {}
        assert_eq!(bytes, "unread");
    }
}

#[tokio::test]
async fn only_a_direct_transport_sends_files_itself() {
    let (direct, _peer) = pair(Transport::direct);
    let (copying, _other) = pair(Transport::copying);
    assert!(direct.sends_files());
    assert!(!copying.sends_files());
}
