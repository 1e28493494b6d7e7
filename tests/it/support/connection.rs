//! A plain client: one blocking socket, one request after another or several at once.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use streamlog::record::{
    BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, ProducerStamp,
};
use streamlog::types::{ProducerEpoch, ProducerId, Timestamp};
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::produce::{self, ProduceRequest};
use streamlog::wire::{ErrorCode, Message, Records, decode_response, encode_request};

use super::TOPIC;

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const FETCH: i16 = 12;
pub(crate) const PRODUCE: i16 = 9;

/// A connection to a broker.
pub(crate) struct Connection {
    stream: TcpStream,
    sent: i32,
    received: i32,
}

impl Connection {
    /// Connects.
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, sent: 0, received: 0 })
    }

    /// Sends a request.
    pub(crate) fn send<R: Message>(&mut self, version: i16, request: &R) -> io::Result<()> {
        self.sent += 1;
        let frame = encode_request(self.sent, "test", version, request).unwrap();
        self.stream.write_all(&frame.into_bytes())
    }

    /// Sends arbitrary bytes.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends bytes; returns true if the broker read them within a second.
    pub(crate) fn send_unless_stalled(&mut self, bytes: &[u8]) -> bool {
        self.stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let sent = self.stream.write_all(bytes);
        self.stream.set_write_timeout(None).unwrap();
        sent.is_ok()
    }

    /// Shuts down the sending side.
    pub(crate) fn send_no_more(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Shuts down the sending side, and returns the bytes received until the broker closes.
    pub(crate) fn finish(mut self) -> io::Result<Vec<u8>> {
        match self.stream.shutdown(Shutdown::Write) {
            // The broker closed first.
            Err(error) if error.kind() == ErrorKind::NotConnected => {}
            done => done?,
        }
        self.until_closed()
    }

    /// Returns the bytes received until the broker closes.
    pub(crate) fn until_closed(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            // It closed with some of our bytes unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(rest),
            read => read.map(|_| rest),
        }
    }

    /// The response to the oldest request without one.
    pub(crate) fn receive<R: Message>(&mut self, version: i16) -> io::Result<R::Response> {
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix)?;
        let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
        self.stream.read_exact(&mut frame)?;
        let (id, response) = decode_response::<R>(&Bytes::from(frame), version).unwrap();
        self.received += 1;
        assert_eq!(id, self.received, "answers come in the order of the requests");
        Ok(response)
    }

    /// Sends a request and waits for its response.
    pub(crate) fn call<R: Message>(
        &mut self,
        version: i16,
        request: &R,
    ) -> io::Result<R::Response> {
        self.send(version, request)?;
        self.receive::<R>(version)
    }

    /// Sets the time to wait for responses.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.stream.set_read_timeout(Some(patience)).unwrap();
    }

    /// Returns true if no response comes for a while.
    pub(crate) fn is_silent_for(&mut self, wait: Duration) -> bool {
        self.set_patience(wait);
        let silent = match self.stream.peek(&mut [0]) {
            Ok(_) => false,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        self.set_patience(PATIENCE);
        silent
    }

    /// Sends a batch to partition 0 of the test's topic.
    pub(crate) fn send_batch(&mut self, batch: Vec<u8>, acks: i16) -> io::Result<()> {
        self.send_batch_to(TOPIC, batch, acks)
    }

    /// Sends a batch to partition 0 of a topic.
    pub(crate) fn send_batch_to(
        &mut self,
        topic: &str,
        batch: Vec<u8>,
        acks: i16,
    ) -> io::Result<()> {
        let records = Records::Bytes(batch.into());
        let partitions = vec![produce::RequestPartition { index: 0, records }];
        let topics = vec![produce::RequestTopic {
            name: topic.to_owned(),
            partitions,
            ..Default::default()
        }];
        let timeout_ms = 30_000;
        self.send(PRODUCE, &ProduceRequest { acks, timeout_ms, topics, ..Default::default() })
    }

    /// The offset that the oldest unanswered batch got.
    pub(crate) fn receive_offset(&mut self) -> io::Result<Result<i64, ErrorCode>> {
        let response = self.receive::<ProduceRequest>(PRODUCE)?;
        let partition = &response.topics[0].partitions[0];
        Ok(match partition.error_code {
            ErrorCode::None => Ok(partition.base_offset),
            code => Err(code),
        })
    }

    /// Sends a batch and waits for its offset.
    pub(crate) fn produce(
        &mut self,
        batch: Vec<u8>,
        acks: i16,
    ) -> io::Result<Result<i64, ErrorCode>> {
        self.send_batch(batch, acks)?;
        self.receive_offset()
    }

    /// Asks for records from `offset` of partition 0 of the test's topic.
    pub(crate) fn send_fetch(&mut self, offset: i64, wait: Duration) -> io::Result<()> {
        let partition = fetch::RequestPartition {
            fetch_offset: offset,
            partition_max_bytes: 1 << 20,
            ..Default::default()
        };
        let topic = fetch::RequestTopic {
            topic: TOPIC.to_owned(),
            partitions: vec![partition],
            ..Default::default()
        };
        let max_wait_ms = i32::try_from(wait.as_millis()).unwrap();
        let request =
            FetchRequest { max_wait_ms, min_bytes: 1, topics: vec![topic], ..Default::default() };
        self.send(FETCH, &request)
    }

    /// The records returned by the oldest unanswered fetch.
    pub(crate) fn receive_records(&mut self) -> io::Result<fetch::Partition> {
        let mut response = self.receive::<FetchRequest>(FETCH)?;
        Ok(response.topics.remove(0).partitions.remove(0))
    }

    /// All that can be read from `offset` on: (offset, value).
    pub(crate) fn read_from(&mut self, mut offset: i64) -> io::Result<Vec<(i64, u64)>> {
        let mut found = Vec::new();
        loop {
            self.send_fetch(offset, Duration::ZERO)?;
            let partition = self.receive_records()?;
            if partition.error_code != ErrorCode::None {
                let error = format!("{:?} at offset {offset}", partition.error_code);
                return Err(io::Error::other(error));
            }
            let new = values(&partition.records);
            let Some((last, _)) = new.last() else { return Ok(found) };
            offset = last + 1;
            found.extend(new);
        }
    }
}

/// A batch of numbers.
pub(crate) fn batch(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    built(numbers, None, Compression::None)
}

/// A batch of numbers, in this codec if that makes it smaller.
pub(crate) fn packed_batch(
    numbers: impl IntoIterator<Item = u64>,
    compression: Compression,
) -> Vec<u8> {
    built(numbers, None, compression)
}

/// A batch of numbers by the idempotent producer of this id and epoch.
pub(crate) fn sequenced(
    numbers: impl IntoIterator<Item = u64>,
    (id, epoch): (i64, i16),
    base_sequence: i32,
) -> Vec<u8> {
    let (id, epoch) = (ProducerId(id), ProducerEpoch(epoch));
    built(numbers, Some(ProducerStamp { id, epoch, base_sequence }), Compression::None)
}

fn built(
    numbers: impl IntoIterator<Item = u64>,
    producer: Option<ProducerStamp>,
    compression: Compression,
) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for number in numbers {
        let value = number.to_be_bytes();
        builder.push(Timestamp::from_millis(1_700_000_000_000), None, Some(&value), &[]).unwrap();
    }
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    let mut compressor = Compressor::new(compression, None).unwrap();
    builder.build(&settings, &mut compressor).unwrap()
}

/// The offsets and numbers in fetched batches.
pub(crate) fn values(records: &Records) -> Vec<(i64, u64)> {
    let Records::Bytes(bytes) = records else { return Vec::new() };
    let mut decompressor = Decompressor::default();
    let mut found = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = batch.unwrap();
        assert!(batch.checksum_matches(), "a damaged batch was served");
        let unpacked = batch.decompressed(&mut decompressor).unwrap();
        for record in batch.records(&unpacked, decompressor.limits()) {
            let record = record.unwrap();
            let number = u64::from_be_bytes(record.value.unwrap().try_into().unwrap());
            found.push((batch.offset_of(&record).get(), number));
        }
    }
    found
}

/// Fails unless an error code means success.
pub(crate) fn accepted(code: ErrorCode) -> Result<(), ErrorCode> {
    if code == ErrorCode::None { Ok(()) } else { Err(code) }
}

/// The response of a coordinator once it has read its log.
///
/// # Panics
/// If it does not get there.
pub(crate) fn once_loaded<T>(
    mut ask: impl FnMut() -> Result<T, ErrorCode>,
) -> Result<T, ErrorCode> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Err(ErrorCode::CoordinatorLoadInProgress) => {}
            answered => return answered,
        }
        assert!(Instant::now() < deadline, "the coordinator still reads its log");
        thread::yield_now();
    }
}
