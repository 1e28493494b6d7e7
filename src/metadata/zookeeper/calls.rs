//! The requests to a server, and its answers.

use bytes::Bytes;

use crate::metadata::store::{Node, SessionId};
use crate::metadata::zookeeper::jute::{Decoder, Encoder, Garbled};

/// The node to use for calls that concern no node in particular.
const ROOT: &str = "/";
/// The watch mode that covers a node and all its descendants until it is removed.
const PERSISTENT_RECURSIVE: i32 = 1;

/// The error codes that this client distinguishes.
pub(super) mod code {
    pub(in crate::metadata::zookeeper) const NO_NODE: i32 = -101;
    pub(in crate::metadata::zookeeper) const NO_AUTH: i32 = -102;
    pub(in crate::metadata::zookeeper) const BAD_VERSION: i32 = -103;
    pub(in crate::metadata::zookeeper) const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
    pub(in crate::metadata::zookeeper) const NODE_EXISTS: i32 = -110;
    pub(in crate::metadata::zookeeper) const NOT_EMPTY: i32 = -111;
    pub(in crate::metadata::zookeeper) const SESSION_EXPIRED: i32 = -112;
    pub(in crate::metadata::zookeeper) const AUTH_FAILED: i32 = -115;
    pub(in crate::metadata::zookeeper) const SESSION_MOVED: i32 = -118;
    pub(in crate::metadata::zookeeper) const THROTTLED: i32 = -127;
    /// The code of an operation that was not executed because another one of its transaction
    /// failed.
    pub(in crate::metadata::zookeeper) const RUNTIME_INCONSISTENCY: i32 = -2;
}

/// The exchange ids (xids) that have a special meaning.
pub(super) mod xid {
    pub(in crate::metadata::zookeeper) const EVENT: i32 = -1;
    pub(in crate::metadata::zookeeper) const PING: i32 = -2;
    pub(in crate::metadata::zookeeper) const AUTH: i32 = -4;
}

/// The operation codes of the protocol.
pub(super) mod op {
    pub(in crate::metadata::zookeeper) const DELETE: i32 = 2;
    pub(in crate::metadata::zookeeper) const GET_DATA: i32 = 4;
    pub(in crate::metadata::zookeeper) const SET_DATA: i32 = 5;
    pub(in crate::metadata::zookeeper) const GET_CHILDREN: i32 = 8;
    pub(in crate::metadata::zookeeper) const SYNC: i32 = 9;
    pub(in crate::metadata::zookeeper) const PING: i32 = 11;
    pub(in crate::metadata::zookeeper) const CHECK: i32 = 13;
    pub(in crate::metadata::zookeeper) const MULTI: i32 = 14;
    pub(in crate::metadata::zookeeper) const CREATE: i32 = 15;
    pub(in crate::metadata::zookeeper) const AUTH: i32 = 100;
    pub(in crate::metadata::zookeeper) const ADD_WATCH: i32 = 106;
    pub(in crate::metadata::zookeeper) const CLOSE_SESSION: i32 = -11;
}

/// A request, without the id of its exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) op: i32,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn get_data(path: &str) -> Self {
        Self { op: op::GET_DATA, body: Encoder::default().string(path).boolean(false).finish() }
    }

    pub(super) fn get_children(path: &str) -> Self {
        Self { op: op::GET_CHILDREN, body: Encoder::default().string(path).boolean(false).finish() }
    }

    /// Waits until the server has everything that the ensemble had decided before.
    pub(super) fn sync() -> Self {
        Self { op: op::SYNC, body: Encoder::default().string(ROOT).finish() }
    }

    pub(super) fn add_watch(path: &str) -> Self {
        let body = Encoder::default().string(path).int(PERSISTENT_RECURSIVE).finish();
        Self { op: op::ADD_WATCH, body }
    }

    pub(super) fn auth(credentials: &[u8]) -> Self {
        let body = Encoder::default().int(0).string("digest").buffer(credentials).finish();
        Self { op: op::AUTH, body }
    }

    pub(super) fn ping() -> Self {
        Self { op: op::PING, body: Vec::new() }
    }

    /// A transaction with a body that was encoded before.
    pub(super) fn transaction(body: Vec<u8>) -> Self {
        Self { op: op::MULTI, body }
    }

    pub(super) fn close_session() -> Self {
        Self { op: op::CLOSE_SESSION, body: Vec::new() }
    }

    /// True if the request may change something.
    pub(super) fn is_write(&self) -> bool {
        matches!(self.op, op::MULTI | op::CLOSE_SESSION)
    }

    /// The request as a frame.
    pub(super) fn frame(&self, xid: i32) -> Vec<u8> {
        let length = i32::try_from(self.body.len() + 8).unwrap_or(i32::MAX);
        let mut frame = Encoder::default().int(length).int(xid).int(self.op).finish();
        frame.extend_from_slice(&self.body);
        frame
    }
}

/// The header of a message from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyHeader {
    pub(super) xid: i32,
    /// The last transaction that the server knows.
    pub(super) zxid: i64,
    /// 0, or the code of an error.
    pub(super) error: i32,
}

impl ReplyHeader {
    /// Splits a message into its header and its body.
    pub(super) fn split(message: &Bytes) -> Result<(Self, Bytes), Garbled> {
        let mut decoder = Decoder::new(message);
        let header = Self { xid: decoder.int()?, zxid: decoder.long()?, error: decoder.int()? };
        Ok((header, message.slice_ref(decoder.rest())))
    }
}

/// A node, with the number of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeData {
    pub(super) node: Node,
    pub(super) children: i32,
}

impl NodeData {
    /// Decodes the answer to `get_data`.
    pub(super) fn decode(body: &Bytes) -> Result<Self, Garbled> {
        let mut decoder = Decoder::new(body);
        let value = decoder.buffer()?;
        let Stat { created, version, owner, children } = Stat::decode(&mut decoder)?;
        let owner = SessionId::of_zookeeper(owner);
        let node = Node { value: Bytes::copy_from_slice(value), version, created, owner };
        Ok(Self { node, children })
    }
}

/// The facts about a node that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) created: i64,
    pub(super) version: i32,
    owner: i64,
    children: i32,
}

impl Stat {
    pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Garbled> {
        let created = decoder.long()?;
        let _modified = (decoder.long()?, decoder.long()?, decoder.long()?);
        let version = decoder.int()?;
        let _versions_of_children_and_acl = (decoder.int()?, decoder.int()?);
        let owner = decoder.long()?;
        let _length = decoder.int()?;
        let children = decoder.int()?;
        let _last_change_of_children = decoder.long()?;
        Ok(Self { created, version, owner, children })
    }
}

/// Decodes the answer to `get_children`, sorted.
pub(super) fn decode_children(body: &Bytes) -> Result<Vec<String>, Garbled> {
    let mut decoder = Decoder::new(body);
    let count = decoder.int()?;
    let names = (0..count).map(|_| decoder.string().map(str::to_owned));
    let mut names = names.collect::<Result<Vec<_>, _>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Decodes an event of a watch: the path of the node that was created, changed or deleted; `None`
/// for an event of the session itself.
pub(super) fn decode_event(body: &Bytes) -> Result<Option<String>, Garbled> {
    let mut decoder = Decoder::new(body);
    let (kind, _state) = (decoder.int()?, decoder.int()?);
    let path = decoder.string()?;
    Ok((kind > 0).then(|| path.to_owned()))
}
