//! `JoinGroup`: admission of members, and the rebalances that it triggers.

use super::current_generation::Phase;
use super::group::Group;
use super::member::{Member, Parked, protocol_bytes};
use crate::group::ids::{NAME_BYTES_MAX, shortened};
use crate::group::step::Step;
use crate::group::{
    Answer, GroupConfig, GroupError, InstanceId, JoinRefusal, JoinRequest, Joined, JoinedMember,
    MemberId, Ticket,
};

/// The maximum number of protocols of a member. Clients have one to five; the search for a common
/// protocol takes quadratic time.
const PROTOCOLS_MAX: usize = 64;

impl Group {
    /// Answers now, or when the resulting rebalance is complete.
    pub(in crate::group) fn join(&mut self, request: JoinRequest, ticket: Ticket, step: &mut Step) {
        if let Err(error) = self.try_join(request, ticket, step) {
            step.answer(ticket, Answer::Join(Err(error)));
        }
    }

    fn try_join(
        &mut self,
        request: JoinRequest,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        check_limits(&request, &step.config)?;
        self.check_size(&request, step)?;
        self.check_protocols(&request)?;
        self.check_bytes(&request, &step.config)?;
        match request.member_id.clone() {
            None => self.join_new(request, ticket, step),
            Some(id) => self.join_known(&id, request, ticket, step),
        }
    }

    /// The id of a known member, looked up by member id or static name.
    fn known_id<'a>(&'a self, request: &'a JoinRequest) -> Option<&'a MemberId> {
        let by_name = || request.instance_id.as_ref().and_then(|id| self.members.of_instance(id));
        request.member_id.as_ref().or_else(by_name).filter(|id| self.members.get(id).is_some())
    }

    /// Enforces `group.max.size`. During a rebalance it counts the members that have rejoined:
    /// after the limit was lowered, the last members to rejoin are removed.
    fn check_size(&mut self, request: &JoinRequest, step: &mut Step) -> Result<(), GroupError> {
        let most = step.config.max_size;
        let known = self.known_id(request).and_then(|id| self.members.get(id));
        let fits = match self.generation.phase() {
            Phase::Empty => true,
            Phase::Preparing { .. } => {
                known.is_some_and(Member::awaits_join) || self.members.joined() < most
            }
            Phase::Completing { .. } | Phase::Stable { .. } => {
                known.is_some() || self.members.len() < most
            }
        };
        if fits {
            return Ok(());
        }
        let full = GroupError::from(JoinRefusal::GroupFull(most));
        let left_out = known.map(|member| member.id.clone());
        if let Some(id) = left_out.or_else(|| request.member_id.clone()) {
            self.members.forget_newcomer(&id);
            self.remove(&id, &full, step);
            self.complete_join_if_all_are_here(step);
        }
        Err(full)
    }

    fn check_protocols(&self, request: &JoinRequest) -> Result<(), GroupError> {
        let fits = match self.generation.phase() {
            Phase::Empty => !request.protocol_type.is_empty() && !request.protocols.is_empty(),
            _ => {
                self.generation.protocol_type() == Some(&request.protocol_type)
                    && self.members.supports_any(&request.protocols)
            }
        };
        let names = request.protocols.iter().map(|protocol| &protocol.name);
        let bounded = request.protocols.len() <= PROTOCOLS_MAX
            && names.chain([&request.protocol_type]).all(|name| name.len() <= NAME_BYTES_MAX);
        if fits && bounded { Ok(()) } else { Err(GroupError::InconsistentProtocol) }
    }

    fn check_bytes(&self, request: &JoinRequest, config: &GroupConfig) -> Result<(), GroupError> {
        let others = match self.known_id(request).and_then(|id| self.members.get(id)) {
            Some(member) => self.members.bytes() - protocol_bytes(&member.protocols),
            None => self.members.bytes(),
        };
        within_limit(others + protocol_bytes(&request.protocols), config)
    }

    fn join_new(
        &mut self,
        request: JoinRequest,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        let name = request.instance_id.as_ref().map_or(&*request.client_id, InstanceId::as_str);
        let id = format!("{}-{}", shortened(name), request.new_member);
        let id = MemberId::from(id.as_str());
        if self.known_id(&request).is_some() {
            self.replace(&id, request, ticket, step);
            return Ok(());
        }
        if request.instance_id.is_some() || !request.member_id_required {
            self.add(id, request, ticket, step);
            return Ok(());
        }
        if self.members.newcomers() >= step.config.max_size {
            return Err(JoinRefusal::GroupFull(step.config.max_size).into());
        }
        self.members.expect_newcomer(id.clone(), step.after(request.session_timeout));
        Err(JoinRefusal::MemberIdRequired(id).into())
    }

    fn join_known(
        &mut self,
        id: &MemberId,
        request: JoinRequest,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        if self.members.is_newcomer(id) && request.instance_id.is_none() {
            self.add(id.clone(), request, ticket, step);
            return Ok(());
        }
        let member = self.members.find(Some(id), request.instance_id.as_ref())?;
        let is_new_to_the_leader = member.protocols != request.protocols;
        let rejoins = match self.generation.phase() {
            Phase::Empty => return Err(GroupError::UnknownMemberId),
            Phase::Preparing { .. } => true,
            // The protocols are unchanged, so the member only missed the response.
            Phase::Completing { .. } => is_new_to_the_leader,
            // A leader that rejoins has seen a change outside its metadata, such as new partitions.
            Phase::Stable { .. } => is_new_to_the_leader || self.members.leads(id),
        };
        if rejoins {
            self.rejoin(id, request, ticket, step);
        } else {
            self.answer_joined(id, ticket, step);
        }
        Ok(())
    }

    fn add(&mut self, id: MemberId, request: JoinRequest, ticket: Ticket, step: &mut Step) {
        self.members.forget_newcomer(&id);
        self.generation.note_growth();
        if self.members.is_empty() {
            self.generation.set_protocol_type(request.protocol_type.clone());
        }
        self.members.admit(Member::newcomer(id, request, ticket, step));
        self.rebalance_or_complete(step);
    }

    fn rejoin(&mut self, id: &MemberId, request: JoinRequest, ticket: Ticket, step: &mut Step) {
        if let Some(member) = self.members.get_mut(id) {
            member.update(request);
            member.park(Parked::Join(ticket), step);
        }
        self.rebalance_or_complete(step);
    }

    /// Answers a join with the member's state in the current generation.
    fn answer_joined(&mut self, id: &MemberId, ticket: Ticket, step: &mut Step) {
        if let Some(member) = self.members.get_mut(id) {
            member.extend_session(step);
        }
        let joined = self.joined(id, self.members.leader());
        let answer = joined.ok_or(GroupError::UnknownMemberId);
        step.answer(ticket, Answer::Join(answer));
    }

    /// The response to a join in this generation, if it has begun. Only the leader gets the
    /// members.
    pub(super) fn joined(&self, id: &MemberId, leader: Option<&MemberId>) -> Option<Joined> {
        let protocol = self.generation.protocol()?.clone();
        let leader = leader?.clone();
        let members = if leader == *id { self.members_for_leader(&protocol) } else { Vec::new() };
        Some(Joined {
            member_id: id.clone(),
            generation: self.generation.number(),
            protocol_type: self.generation.protocol_type()?.clone(),
            protocol,
            leader,
            skip_assignment: false,
            members,
        })
    }

    fn members_for_leader(&self, protocol: &str) -> Vec<JoinedMember> {
        let seen = |member: &Member| JoinedMember {
            member_id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
        };
        self.members.iter().map(seen).collect()
    }
}

/// Checks the limits that do not depend on the group.
fn check_limits(request: &JoinRequest, config: &GroupConfig) -> Result<(), GroupError> {
    let allowed = config.min_session_timeout..=config.max_session_timeout;
    if !allowed.contains(&request.session_timeout) {
        return Err(GroupError::from(JoinRefusal::InvalidSessionTimeout {
            given_ms: request.session_timeout.as_millis(),
            min_ms: config.min_session_timeout.as_millis(),
            max_ms: config.max_session_timeout.as_millis(),
        }));
    }
    match request.instance_id.as_ref().map(|id| id.as_str().len()) {
        Some(length) if length == 0 || length > NAME_BYTES_MAX => {
            Err(JoinRefusal::InvalidInstanceId(length).into())
        }
        _ => Ok(()),
    }
}

/// Checks that the members together hold at most `group.max.bytes`.
pub(super) fn within_limit(bytes: usize, config: &GroupConfig) -> Result<(), GroupError> {
    let limit = usize::try_from(config.max_bytes.0).unwrap_or(usize::MAX);
    if bytes <= limit { Ok(()) } else { Err(JoinRefusal::MetadataTooLarge { bytes, limit }.into()) }
}
