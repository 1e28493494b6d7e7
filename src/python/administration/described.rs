//! Descriptions from the brokers, as the frozen classes of `streamlog.descriptions`.

use pyo3::call::PyCallArgs;
use pyo3::types::PyAnyMethods;
use pyo3::{Bound, PyAny, PyResult, Python};

use crate::client::{
    ClusterDescription, ConfigEntry, GroupDescription, OffsetChange, TopicDescription,
};
use crate::types::{BrokerId, TopicPartition};

type Made<'py> = PyResult<Bound<'py, PyAny>>;

/// A topic and its partitions.
pub(super) fn topic<'py>(py: Python<'py>, topic: &TopicDescription) -> Made<'py> {
    let partition = |row: &crate::client::PartitionDescription| {
        let leader = row.leader.map(|id| id.0);
        let (replicas, isr) = (numbers(&row.replicas), numbers(&row.isr));
        make(py, "PartitionDescription", (row.partition.0, leader, replicas, isr))
    };
    let partitions: PyResult<Vec<_>> = topic.partitions.iter().map(partition).collect();
    let id = topic.id.to_string();
    make(py, "TopicDescription", (topic.name.as_str(), id, topic.is_internal, partitions?))
}

/// A setting.
pub(super) fn setting<'py>(py: Python<'py>, row: &ConfigEntry) -> Made<'py> {
    let about = row.documentation.as_deref();
    let source = row.source.name();
    make(py, "Setting", (&row.name, row.value.as_deref(), source, row.is_read_only, about))
}

/// A group and its members.
pub(super) fn group<'py>(py: Python<'py>, group: &GroupDescription) -> Made<'py> {
    let member = |row: &crate::client::MemberDescription| {
        let partitions: Vec<_> = row.assignment.iter().map(place).collect();
        let instance = row.instance_id.as_deref();
        let row = (&row.member_id, instance, &row.client_id, &row.host, partitions);
        make(py, "MemberDescription", row)
    };
    let members: PyResult<Vec<_>> = group.members.iter().map(member).collect();
    make(py, "GroupDescription", (&group.group, &group.state, &group.assignor, members?))
}

/// The effect of a reset on one partition.
pub(super) fn change<'py>(py: Python<'py>, row: &OffsetChange) -> Made<'py> {
    let (topic, partition) = place(&row.partition);
    let before = row.from.map(crate::types::Offset::get);
    make(py, "OffsetChange", (topic, partition, before, row.to.get()))
}

/// The cluster and its brokers.
pub(super) fn cluster<'py>(py: Python<'py>, cluster: &ClusterDescription) -> Made<'py> {
    let broker = |row: &crate::client::BrokerDescription| {
        let row = (row.id.0, row.address.to_string(), row.rack.as_deref());
        make(py, "BrokerDescription", row)
    };
    let brokers: PyResult<Vec<_>> = cluster.brokers.iter().map(broker).collect();
    let controller = cluster.controller.map(|id| id.0);
    make(py, "ClusterDescription", (&cluster.id, controller, brokers?))
}

/// A partition as Python's pair of topic and index.
pub(super) fn place(partition: &TopicPartition) -> (String, i32) {
    (partition.topic.to_string(), partition.partition.0)
}

fn make<'py>(py: Python<'py>, class: &str, arguments: impl PyCallArgs<'py>) -> Made<'py> {
    py.import("streamlog.descriptions")?.getattr(class)?.call1(arguments)
}

fn numbers(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|id| id.0).collect()
}
