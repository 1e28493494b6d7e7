//! Transactions: their encoding, and the meaning of their answers.

use bytes::Bytes;

use crate::metadata::store::{CreateMode, Op, OpResult, SessionError, StoreError, parent};
use crate::metadata::zookeeper::ZooKeeperAddress;
use crate::metadata::zookeeper::calls::{Request, Stat, code, op};
use crate::metadata::zookeeper::jute::{Decoder, Encoder, Garbled};

/// The kind of the entry that ends a transaction, and of a failed operation in an answer.
const NO_OPERATION: i32 = -1;
const PERMISSION_READ: i32 = 1;
const PERMISSION_ALL: i32 = 31;

/// The access control of new nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Everybody may do everything.
    Open,
    /// The users of this session may do everything, all others may read.
    ReadOnlyForOthers,
}

impl Access {
    fn encode(self, encoder: &mut Encoder) {
        match self {
            Self::Open => {
                encoder.int(1).int(PERMISSION_ALL).string("world").string("anyone");
            }
            Self::ReadOnlyForOthers => {
                encoder.int(2).int(PERMISSION_ALL).string("auth").string("");
                encoder.int(PERMISSION_READ).string("world").string("anyone");
            }
        }
    }
}

/// The request that executes `ops`.
pub(super) fn encode(ops: &[Op], address: &ZooKeeperAddress, access: Access) -> Request {
    let mut encoder = Encoder::default();
    for op in ops {
        let path = address.full_path(op.path());
        match op {
            Op::Check { version, .. } => {
                header(&mut encoder, op::CHECK).string(&path).int(*version);
            }
            Op::Create { value, mode, .. } => {
                header(&mut encoder, op::CREATE).string(&path).buffer(value);
                access.encode(&mut encoder);
                encoder.int(match mode {
                    CreateMode::Persistent => 0,
                    CreateMode::Ephemeral => 1,
                    CreateMode::Sequential => 2,
                });
            }
            Op::Set { value, version, .. } => {
                header(&mut encoder, op::SET_DATA).string(&path).buffer(value).int(*version);
            }
            Op::Delete { version, .. } => {
                header(&mut encoder, op::DELETE).string(&path).int(*version);
            }
        }
    }
    let body = encoder.int(NO_OPERATION).boolean(true).int(-1).finish();
    Request { op: op::MULTI, body }
}

fn header(encoder: &mut Encoder, kind: i32) -> &mut Encoder {
    encoder.int(kind).boolean(false).int(-1)
}

/// Decodes the answer to a transaction: the result of each operation, or the number of the first
/// that failed, with its error code.
pub(super) fn decode(
    body: &Bytes,
    address: &ZooKeeperAddress,
) -> Result<Result<Vec<OpResult>, (usize, i32)>, Garbled> {
    let mut decoder = Decoder::new(body);
    let mut results = Vec::new();
    let mut failures = Vec::new();
    loop {
        let (kind, is_end, _error) = (decoder.int()?, decoder.boolean()?, decoder.int()?);
        if is_end {
            break;
        }
        match kind {
            op::CHECK => results.push(OpResult::Checked),
            op::DELETE => results.push(OpResult::Deleted),
            op::SET_DATA => {
                let Stat { version, .. } = Stat::decode(&mut decoder)?;
                results.push(OpResult::Set { version });
            }
            op::CREATE => {
                let path = address.own_path(decoder.string()?);
                let Stat { created, .. } = Stat::decode(&mut decoder)?;
                results.push(OpResult::Created { path, created });
            }
            // Each operation of a failed transaction has an entry; those before the cause say 0.
            NO_OPERATION => failures.push(decoder.int()?),
            _ => return Err(Garbled),
        }
    }
    let is_cause = |error: &i32| !matches!(*error, 0 | code::RUNTIME_INCONSISTENCY);
    match failures.iter().position(is_cause) {
        Some(index) => Ok(Err((index, failures[index]))),
        None if failures.is_empty() => Ok(Ok(results)),
        None => Err(Garbled),
    }
}

/// The error of an operation, from the server's code. `None` for a version that does not match,
/// because the answer does not contain the version found.
pub(super) fn error(op: &Op, error: i32) -> Option<StoreError> {
    let path = op.path().to_owned();
    Some(match (error, op) {
        (code::BAD_VERSION, _) => return None,
        (code::NO_NODE, Op::Create { .. }) => {
            StoreError::NoNode { path: parent(&path).unwrap_or("/").to_owned() }
        }
        (code::NO_NODE, _) => StoreError::NoNode { path },
        (code::NODE_EXISTS, _) => StoreError::NodeExists { path },
        (code::NOT_EMPTY, _) => StoreError::NotEmpty { path },
        (code::NO_CHILDREN_FOR_EPHEMERALS, _) => {
            StoreError::InvalidPath { path, reason: "its parent is ephemeral" }
        }
        _ => refusal(&path, error).into(),
    })
}

/// The error of a call whose refusal does not depend on the nodes.
pub(super) fn refusal(path: &str, error: i32) -> SessionError {
    let path = path.to_owned();
    match error {
        code::NO_AUTH => SessionError::Denied {
            path,
            reason: "its access control names other users; see zookeeper.digest.file",
        },
        code::AUTH_FAILED => SessionError::Denied {
            path,
            reason: "the servers do not accept the user of zookeeper.digest.file",
        },
        code => SessionError::Refused { path, code },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(encoder: &mut Encoder, kind: i32) -> &mut Encoder {
        header(encoder, kind)
    }

    fn stat(encoder: &mut Encoder, created: i64, version: i32) {
        encoder.long(created).long(1).long(2).long(3).int(version).int(0).int(0);
        encoder.long(0).int(0).int(0).long(9);
    }

    fn decoded(encoder: &mut Encoder) -> Result<Result<Vec<OpResult>, (usize, i32)>, Garbled> {
        let body = encoder.int(NO_OPERATION).boolean(true).int(-1).finish();
        decode(&body.into(), &"zk/log".parse().unwrap())
    }

    #[test]
    fn the_results_of_a_transaction_are_those_of_its_operations() {
        let mut encoder = Encoder::default();
        entry(&mut encoder, op::CHECK);
        entry(&mut encoder, op::CREATE).string("/log/a");
        stat(&mut encoder, 7, 0);
        entry(&mut encoder, op::SET_DATA);
        stat(&mut encoder, 5, 3);
        entry(&mut encoder, op::DELETE);
        let created = OpResult::Created { path: "/a".to_owned(), created: 7 };
        let results =
            vec![OpResult::Checked, created, OpResult::Set { version: 3 }, OpResult::Deleted];
        assert_eq!(decoded(&mut encoder), Ok(Ok(results)));
    }

    #[test]
    fn a_failed_transaction_names_the_operation_that_failed() {
        let mut encoder = Encoder::default();
        for error in [0, code::NO_NODE, code::RUNTIME_INCONSISTENCY] {
            entry(&mut encoder, NO_OPERATION).int(error);
        }
        assert_eq!(decoded(&mut encoder), Ok(Err((1, code::NO_NODE))));
        assert_eq!(decoded(entry(&mut encoder, 77)), Err(Garbled));
    }
}
