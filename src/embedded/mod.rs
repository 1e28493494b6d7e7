//! The engine in your own process: append, wait until the records are on disk, read. There is no
//! socket and no client.
//!
//! [`Logs`] opens a data directory, or accesses the logs of a [`Broker`](crate::broker::Broker) in
//! this process that also serves the network. A [`Partition`] accepts records with
//! [`append`](Partition::append), which returns when they are written; the [`Ticket`] waits until
//! they are flushed. [`Records`] iterates over flushed records, up to the current end or without
//! end.
//!
//! ```
//! use streamlog::embedded::{Logs, Start};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path().join("data");
//! let logs = Logs::open(&dir)?;
//! logs.ensure_topic("readings", 1, &[])?;
//! let readings = logs.partition("readings", 0)?;
//!
//! let ticket = readings.append(["21.5", "21.7"])?; // written: two records, one batch
//! ticket.wait_flushed()?; // on disk: no power cut takes them back
//!
//! for record in readings.read(Start::Earliest)? {
//!     let record = record?;
//!     println!("{} {:?}", record.offset, record.value);
//! }
//! logs.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The data directory has the same format as that of `streamlog broker`: either can read what the
//! other wrote. Its lock keeps two of them from opening it at the same time.
//!
//! Calls block; in asynchronous code, run them where blocking is allowed. The exception is
//! [`Ticket::flushed`], a future that works with any executor.

mod error;
mod led;
mod logs;
mod new_record;
mod parking;
mod partition;
mod record;
mod records;
mod ticket;

pub use crate::config::{
    AlwaysFalse, ByteSize, ConfigError, Definition, Fault, Key, Kind, Settings, UpdateMode,
};
pub use crate::engine::{EngineConfig, EngineError};
pub use crate::metadata::{MetadataConfig, MetadataError, StoreError};
pub use crate::record::{
    Compression, Header, Headers, Packing, RecordError, RecordFault, RejectedRecord, Rejection,
    TimestampType, UnknownCompression,
};
pub use crate::replication::PartitionError;
pub use crate::storage::{
    CleanupPolicy, CompactionOptions, CompressionType, FlusherOptions, LogConfig, OffsetUnit,
    ProducerLimits, RetentionClock, ScrubOptions, SkipError, StorageError, UpkeepOptions,
};
pub use error::{EmbeddedError, Remedy};
pub use led::Start;
pub use logs::Logs;
pub use new_record::NewRecord;
pub use partition::Partition;
pub use record::Record;
pub use records::Records;
pub use ticket::Ticket;
