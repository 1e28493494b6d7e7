//! The verbs, in terms of rskafka.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rskafka::chrono::DateTime;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Refusal;
use crate::rows::Row;

/// Milliseconds that the broker may take for a topic.
const PATIENCE_MS: i32 = 20_000;
/// Bytes of records that are sent together: the client makes one batch of them.
const BATCH_BYTES: usize = 900_000;
/// Bytes that are asked for at once.
const FETCH_BYTES: i32 = 8 << 20;

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::ServerError { protocol_error, .. } => match protocol_error {
                ProtocolError::UnknownTopicOrPartition => "unknown_topic",
                ProtocolError::MessageTooLarge => "too_large",
                ProtocolError::OffsetOutOfRange => "out_of_range",
                _ => "other",
            },
            _ => "other",
        };
        Self { kind, text: error.to_string() }
    }
}

/// Code shared by the verbs.
pub(crate) struct Verbs {
    address: String,
    client: Option<Client>,
    reader: Option<Reader>,
}

/// A partition that is read.
struct Reader {
    partition: PartitionClient,
    position: i64,
    unread: VecDeque<Row>,
}

/// The fields of a request that several verbs have.
#[derive(Deserialize)]
#[serde(default)]
struct Request {
    topic: String,
    partition: i32,
    partitions: i32,
    config: serde_json::Map<String, Value>,
    codec: String,
    acks: String,
    idempotent: bool,
    records: Vec<Row>,
    from: Value,
    count: usize,
    seconds: f64,
    offset: i64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partition: 0,
            partitions: 1,
            config: serde_json::Map::new(),
            codec: String::new(),
            acks: String::new(),
            idempotent: false,
            records: Vec::new(),
            from: Value::Null,
            count: 0,
            seconds: 0.0,
            offset: 0,
        }
    }
}

impl Verbs {
    /// Connects when it is first needed.
    pub(crate) fn new(address: String) -> Self {
        Self { address, client: None, reader: None }
    }

    /// Executes one verb.
    pub(crate) async fn execute(&mut self, verb: &str, request: Value) -> Result<Value, Refusal> {
        let request: Request =
            serde_json::from_value(request).map_err(|e| Refusal::malformed(&e))?;
        match verb {
            "hello" => return Ok(json!({ "client": "rskafka", "version": version() })),
            "create" => self.create(request).await?,
            "delete" => {
                let controller = self.client().await?.controller_client()?;
                controller.delete_topic(request.topic, PATIENCE_MS).await?;
            }
            "produce" => return self.produce(request).await,
            "open" => self.open(request).await?,
            "read" => return self.read(request).await,
            "seek" => {
                let reader = self.reader()?;
                reader.position = request.offset;
                reader.unread.clear();
            }
            _ => return Err(Refusal::unsupported("groups")),
        }
        Ok(json!({}))
    }

    async fn client(&mut self) -> Result<&Client, Refusal> {
        if self.client.is_none() {
            let builder = ClientBuilder::new(vec![self.address.clone()]);
            self.client = Some(builder.build().await?);
        }
        Ok(self.client.as_ref().expect("it was made above"))
    }

    fn reader(&mut self) -> Result<&mut Reader, Refusal> {
        self.reader.as_mut().ok_or(Refusal { kind: "other", text: "nothing is open".to_owned() })
    }

    async fn partition(&mut self, topic: &str, id: i32) -> Result<PartitionClient, Refusal> {
        let client = self.client().await?;
        Ok(client.partition_client(topic, id, UnknownTopicHandling::Error).await?)
    }

    async fn create(&mut self, request: Request) -> Result<(), Refusal> {
        if !request.config.is_empty() {
            return Err(Refusal::unsupported("settings of topics"));
        }
        let controller = self.client().await?.controller_client()?;
        controller.create_topic(request.topic, request.partitions, 1, PATIENCE_MS).await?;
        Ok(())
    }

    async fn produce(&mut self, request: Request) -> Result<Value, Refusal> {
        if request.acks != "all" {
            return Err(Refusal::unsupported("acks but all"));
        }
        if request.idempotent {
            return Err(Refusal::unsupported("idempotent producer"));
        }
        let codec = match request.codec.as_str() {
            "gzip" => Compression::Gzip,
            "lz4" => Compression::Lz4,
            "snappy" => Compression::Snappy,
            "zstd" => Compression::Zstd,
            _ => Compression::NoCompression,
        };
        let id = request.records.first().map_or(0, |row| row.partition);
        let partition = self.partition(&request.topic, id).await?;
        let mut offsets = Vec::new();
        for part in parts(&request.records)? {
            offsets.extend(partition.produce(part, codec).await?);
        }
        Ok(json!({ "offsets": offsets }))
    }

    async fn open(&mut self, request: Request) -> Result<(), Refusal> {
        let partition = self.partition(&request.topic, request.partition).await?;
        let from = &request.from;
        let position = if let Some(offset) = from["offset"].as_i64() {
            offset
        } else {
            let time = from["time"].as_i64().and_then(DateTime::from_timestamp_millis);
            let end = if from == "end" { OffsetAt::Latest } else { OffsetAt::Earliest };
            partition.get_offset(time.map_or(end, OffsetAt::Timestamp)).await?
        };
        self.reader = Some(Reader { partition, position, unread: VecDeque::new() });
        Ok(())
    }

    async fn read(&mut self, request: Request) -> Result<Value, Refusal> {
        let reader = self.reader()?;
        let deadline = Instant::now() + Duration::from_secs_f64(request.seconds);
        while reader.unread.len() < request.count && Instant::now() < deadline {
            reader.fetch().await?;
        }
        let count = request.count.min(reader.unread.len());
        let rows: Vec<Row> = reader.unread.drain(..count).collect();
        Ok(json!({ "records": rows }))
    }
}

impl Reader {
    async fn fetch(&mut self) -> Result<(), Refusal> {
        let (found, _) = self.partition.fetch_records(self.position, 1..FETCH_BYTES, 500).await?;
        for record in found {
            self.position = record.offset + 1;
            self.unread.push_back(Row::of(record, self.partition.partition()));
        }
        Ok(())
    }
}

/// Splits the records into batches of a lawful size.
fn parts(rows: &[Row]) -> Result<Vec<Vec<Record>>, Refusal> {
    let mut parts: Vec<Vec<Record>> = Vec::new();
    let mut bytes = usize::MAX;
    for row in rows {
        let record = row.record()?;
        let size = record.approximate_size() + 100;
        if bytes.saturating_add(size) > BATCH_BYTES {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(part) = parts.last_mut() {
            part.push(record);
        }
    }
    Ok(parts)
}

/// The version in the lock file that this was built with; the library does not tell its own.
fn version() -> &'static str {
    include_str!("../Cargo.lock")
        .split("name = \"rskafka\"\nversion = \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or("unknown")
}
