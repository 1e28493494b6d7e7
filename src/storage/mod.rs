//! Logs on disk: append, read, flush, recovery and removal of the records of partitions.

mod checked_text;
mod cold_reads;
mod compacted;
mod compaction;
mod directory;
mod epoch_cache;
mod expendable;
mod flusher;
mod inspect;
mod log;
mod log_config;
mod log_config_values;
#[cfg(test)]
mod log_tests;
mod offset_checkpoint;
mod producers;
mod recovery;
mod repair;
mod replacement;
mod reserve;
mod segments;
mod skipping;
mod skips;
mod small_file;
mod storage_error;
mod upkeep;
mod worker;

pub use cold_reads::ColdReads;
pub use directory::{
    DataDir, DataDirOptions, HighWatermarks, Identity, LogConfigs, Opener, PartitionMetadata, Run,
    Space, StartReport, Truncation, Unreadable, lock_data_dir, restore_identity,
};
pub(crate) use directory::{is_new, is_on_zookeeper, quarantine};
pub use epoch_cache::{EpochCache, EpochStart};
pub use flusher::{FlushListener, Flushed, Flusher, FlusherOptions};
#[cfg(any(test, feature = "internals"))]
pub use inspect::verify;
pub use inspect::{
    DumpedBatch, DumpedRecord, Finding, Flaw, LogReport, LogSummary, SegmentDump,
    segment_bytes_system, summarize_logs, verify_small_files, verify_system,
};
pub use log::{
    AppendAt, Appended, CheckpointOffsets, Checkpoints, Checks, ColdRanges, EpochChange, Epochs,
    Extent, FetchedError, FlushTicket, Flushes, InMemory, Log, Lookups, ReadLimit, Reads, RecordAt,
    Removed, Retention, StartPoint, StoredBatches, TailLock, Truncator, Unflushed,
};
pub use log_config::LogConfig;
pub use log_config_values::{CleanupPolicy, CompressionType, OffsetUnit, RetentionClock};
pub use offset_checkpoint::{Checkpoint, Offsets};
pub use producers::{
    ActiveProducer, AppendedBatch, ProducerBatch, ProducerLimits, ProducerStates, SequenceError,
    Staged, Verdict, latest_snapshot, retain_snapshots, write_snapshot,
};
pub use repair::{DamagedSegment, Repair, RepairError};
pub use reserve::Reserve;
pub use segments::{BadBatch, Damage, Expected, LogEnv};
pub use skipping::{DamagedStretch, LogDamage, SkipError, SkippedStretch};
pub use small_file::Stored;
pub use storage_error::{Remedy, StorageError};
pub use upkeep::{
    AgeClock, CompactionOptions, ScrubOptions, Upkeep, UpkeepListener, UpkeepOptions,
};

#[cfg(test)]
mod byte_offsets_tests;
#[cfg(test)]
mod epoch_cache_tests;
#[cfg(test)]
mod every_bit_tests;
#[cfg(test)]
mod fetched_tests;
#[cfg(test)]
mod integrity_tests;
#[cfg(test)]
mod lost_segments_tests;
#[cfg(test)]
mod recovery_tests;
#[cfg(test)]
mod retention_tests;
#[cfg(test)]
mod stretches_tests;
#[cfg(test)]
mod world_tests;
