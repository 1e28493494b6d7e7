//! Consumer groups: listing, describing and deleting them.

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::consumer::read_assignment;
use crate::client::{Call, ClientError};
use crate::types::{BrokerId, TopicPartition};
use crate::wire::{
    DeleteGroupsRequest, DescribeGroupsRequest, ErrorCode, ListGroupsRequest, describe_groups,
};

/// The state of a group that does not exist.
const DEAD: &str = "Dead";

/// The state of a group that has offsets and no members.
pub(super) const EMPTY: &str = "Empty";

/// The maximum number of members that an error names.
const MEMBERS_SHOWN: usize = 5;

/// An entry in a list of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupListing {
    /// Its name.
    pub group: String,
    /// Its protocol type: `consumer` for consumer groups.
    pub protocol_type: String,
    /// Its state by Kafka's name, such as `Stable`; empty if the broker is too old to report it.
    pub state: String,
    /// The broker that coordinates it.
    pub coordinator: BrokerId,
}

/// A group and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its name.
    pub group: String,
    /// Its state by Kafka's name, such as `Stable`.
    pub state: String,
    /// The assignor the members agreed on, such as `range`; empty during a rebalance.
    pub assignor: String,
    /// Its members.
    pub members: Vec<MemberDescription>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDescription {
    /// The id assigned by the coordinator.
    pub member_id: String,
    /// Its `group.instance.id`, if it is a static member (KIP-345).
    pub instance_id: Option<String>,
    /// Its client id.
    pub client_id: String,
    /// The host that it connects from.
    pub host: String,
    /// The partitions assigned to it.
    pub assignment: Vec<TopicPartition>,
}

impl AdminCalls {
    /// [`Admin::groups`](super::Admin::groups) as a call.
    pub fn groups(&self) -> Call<Vec<GroupListing>> {
        let calls = self.clone();
        self.with_brokers("listing groups", async move |brokers, deadline| {
            let cluster = calls.cluster().await?;
            let ids: Vec<BrokerId> = cluster.brokers.iter().map(|broker| broker.id).collect();
            let request = ListGroupsRequest::default();
            let mut groups = Vec::new();
            for coordinator in ids {
                let asking = || async {
                    let answer = brokers.call_broker(coordinator, &request).await?;
                    ClientError::check(answer.error_code, "listing groups", None)?;
                    Ok(answer.groups)
                };
                let rows = brokers.until(deadline, &[], asking).await?;
                groups.extend(rows.into_iter().map(|row| GroupListing {
                    group: row.group_id,
                    protocol_type: row.protocol_type,
                    state: row.group_state,
                    coordinator,
                }));
            }
            groups.sort_by(|one, other| one.group.cmp(&other.group));
            Ok(groups)
        })
    }

    /// [`Admin::group`](super::Admin::group) as a call.
    pub fn group(&self, group: &str) -> Call<GroupDescription> {
        let name = group.to_owned();
        let request = DescribeGroupsRequest {
            groups: vec![name.clone()],
            include_authorized_operations: false,
        };
        self.with_brokers("describing a group", async move |brokers, deadline| {
            let asking = || async {
                let answer = brokers.call_coordinator(&name, &request).await?;
                let row = answer.groups.into_iter().next().ok_or_else(|| unanswered(&name))?;
                ClientError::check(row.error_code, &name, row.error_message.as_deref())?;
                Ok(row)
            };
            let row = brokers.until(deadline, &[], asking).await?;
            if row.group_state == DEAD {
                return Err(ClientError::from_code(ErrorCode::GroupIdNotFound, &name, None));
            }
            GroupDescription::of(row)
        })
    }

    /// [`Admin::delete_group`](super::Admin::delete_group) as a call.
    pub fn delete_group(&self, group: &str) -> Call<()> {
        let (calls, name) = (self.clone(), group.to_owned());
        let request = DeleteGroupsRequest { groups_names: vec![name.clone()] };
        self.with_brokers("deleting a group", async move |brokers, deadline| {
            let asking = || async {
                let answer = brokers.call_coordinator(&name, &request).await?;
                let row = answer.results.first().ok_or_else(|| unanswered(&name))?;
                match row.error_code {
                    ErrorCode::NonEmptyGroup => {
                        let found = calls.group(&name).await;
                        Err(non_empty(&name, &found.map(|group| group.members).unwrap_or_default()))
                    }
                    code => ClientError::check(code, &name, None),
                }
            };
            brokers.until(deadline, &[], asking).await
        })
    }
}

/// The error of a change that a group with these members does not permit.
pub(super) fn non_empty(group: &str, members: &[MemberDescription]) -> ClientError {
    let shown = members.iter().take(MEMBERS_SHOWN);
    let shown = shown.map(|member| format!("'{}' at {}", member.client_id, member.host));
    let mut shown: Vec<String> = shown.collect();
    if members.len() > MEMBERS_SHOWN {
        shown.push(format!("{} more", members.len() - MEMBERS_SHOWN));
    }
    let names = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    let words = format!("group '{group}' has members{names}; stop them first");
    ClientError::from_code(ErrorCode::NonEmptyGroup, group, Some(&words))
}

impl GroupDescription {
    fn of(row: describe_groups::Group) -> Result<Self, ClientError> {
        let members: Result<Vec<_>, _> =
            row.members.into_iter().map(MemberDescription::of).collect();
        Ok(Self {
            group: row.group_id,
            state: row.group_state,
            assignor: row.protocol_data,
            members: members?,
        })
    }
}

impl MemberDescription {
    fn of(row: describe_groups::Member) -> Result<Self, ClientError> {
        Ok(Self {
            assignment: read_assignment(&row.member_assignment)?,
            member_id: row.member_id,
            instance_id: row.group_instance_id,
            client_id: row.client_id,
            // Kafka writes addresses as Java prints them, after a slash.
            host: row.client_host.trim_start_matches('/').to_owned(),
        })
    }
}
