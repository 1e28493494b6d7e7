//! Functions of Spark's exactly-once sink: locating staged records and publishing them.

use std::time::Duration;

use pyo3::{Bound, PyAny, PyResult, Python, pyfunction};

use super::arguments;
use super::client::Client;
use super::errors::{raised, refused};
use super::producing::Producer;
use crate::client::{DeliveredBatches, Progress, Republication, StagedPart, Stamp};
use crate::config::ConfigError;
use crate::python::docstrings::stub;
use crate::types::{Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName, TopicPartition};

/// Topic, partition, producer id, base offsets of the first and the last batch, records.
type Delivered = (String, i32, i64, i64, i64, u64);
/// Producer id, base offsets of the first and the last batch, records.
type Part = (i64, i64, i64, u64);
/// Producer id, epoch and sequence number.
type Stamped = (i64, i16, i32);
/// Staged topic, target topic, partition, stamp, records already published, parts.
type Plan = (String, String, i32, Stamped, u64, Vec<Part>);

#[doc = stub!("new_identity")]
#[pyfunction]
pub(crate) fn new_identity(py: Python<'_>, client: &Client) -> PyResult<(i64, i16)> {
    let client = client.connection().client(py)?.get()?.clone();
    let identity = py.detach(|| client.new_identity().wait());
    let (ProducerId(id), ProducerEpoch(epoch)) = identity.map_err(|error| raised(py, error))?;
    Ok((id, epoch))
}

#[doc = stub!("delivered_batches")]
#[pyfunction]
pub(crate) fn delivered_batches(
    py: Python<'_>,
    producer: &Producer,
) -> PyResult<Option<Vec<Delivered>>> {
    let sender = producer.sender(py)?;
    let Some(delivered) = sender.get()?.delivered_batches() else { return Ok(None) };
    let row = |batches: DeliveredBatches| {
        let TopicPartition { topic, partition } = batches.partition;
        let (first, last) = (batches.first.get(), batches.last.get());
        (topic.to_string(), partition.0, batches.producer.0, first, last, batches.records)
    };
    Ok(Some(delivered.into_iter().map(row).collect()))
}

#[doc = stub!("republished")]
#[pyfunction]
pub(crate) fn republished(
    client: &Bound<'_, Client>,
    target: (String, i32),
    from_offset: i64,
    stamp: Stamped,
    patience: &Bound<'_, PyAny>,
) -> PyResult<(u64, bool, bool)> {
    let py = client.py();
    let (topic, partition) = target;
    let target = place(&topic, partition)?;
    let client = client.get().connection().client(py)?.get()?.clone();
    let patience = read_patience(patience)?;
    let call = client.republished(target, offset(from_offset), stamped(stamp), patience);
    let progress = py.detach(|| call.wait());
    let Progress { records, is_cut, is_reset } = progress.map_err(|error| raised(py, error))?;
    Ok((records, is_cut, is_reset))
}

#[doc = stub!("republish")]
#[pyfunction]
pub(crate) fn republish(
    client: &Bound<'_, Client>,
    plans: Vec<Plan>,
    batches_max: u64,
    patience: &Bound<'_, PyAny>,
) -> PyResult<Vec<u64>> {
    let py = client.py();
    let plans: PyResult<Vec<_>> = plans.into_iter().map(|row| plan(row, batches_max)).collect();
    let client = client.get().connection().client(py)?.get()?.clone();
    let call = client.republish(plans?, read_patience(patience)?);
    py.detach(|| call.wait()).map_err(|error| raised(py, error))
}

fn plan(row: Plan, batches_max: u64) -> PyResult<Republication> {
    let (staged, target, partition, stamp, done, parts) = row;
    let part = |(producer, first, last, records)| StagedPart {
        producer: ProducerId(producer),
        first: offset(first),
        last: offset(last),
        records,
    };
    Ok(Republication {
        staged: place(&staged, partition)?,
        parts: parts.into_iter().map(part).collect(),
        target: place(&target, partition)?,
        stamp: stamped(stamp),
        done,
        batches_max,
    })
}

fn place(topic: &str, partition: i32) -> PyResult<TopicPartition> {
    let topic: TopicName = topic.parse().map_err(|error: crate::types::InvalidTopicName| {
        refused(&ConfigError::single("topic", error.to_string()))
    })?;
    Ok(TopicPartition { topic, partition: PartitionIndex(partition) })
}

fn read_patience(seconds: &Bound<'_, PyAny>) -> PyResult<Duration> {
    arguments::max_wait("patience", seconds)
}

fn stamped((producer, epoch, sequence): Stamped) -> Stamp {
    Stamp { producer: ProducerId(producer), epoch: ProducerEpoch(epoch), sequence }
}

fn offset(number: i64) -> Offset {
    Offset::checked(number).unwrap_or_default()
}
