//! From the bytes of a journal to the tree, and the judgement of what is wrong with them.
//!
//! Each transaction is flushed before the next is written. So bytes that are no record and have no
//! record behind them are a transaction that was never acknowledged: a torn tail, to be cut. If a
//! record follows, they had been durable, and nothing is cut: the file is damaged.

use crate::metadata::embedded::codec::{
    BODY_MIN, FRAME_SIZE, HEADER_SIZE, Header, body_txn, decode_changes, record_body,
};
use crate::metadata::embedded::tree::Tree;

/// What a journal holds.
#[derive(Debug)]
pub(super) struct Replay {
    /// The tree after the last whole transaction, without ephemeral nodes.
    pub(super) tree: Tree,
    /// Where the snapshot ends.
    pub(super) snapshot_end: usize,
    /// Where the last whole transaction ends; what follows was never acknowledged.
    pub(super) end: usize,
}

/// Why a journal cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) position: usize,
    pub(super) reason: &'static str,
}

/// Reads what follows `header` in the file `bytes`.
pub(super) fn replay(header: &Header, bytes: &[u8]) -> Result<Replay, Damage> {
    let mut replay = Replay { tree: Tree::new(), snapshot_end: HEADER_SIZE, end: HEADER_SIZE };
    replay.tree.last_txn = header.snapshot_txn;
    for _ in 0..header.snapshot_records {
        if !replay.step(bytes, header.snapshot_txn)? {
            return Err(Damage { position: replay.end, reason: "the snapshot is incomplete" });
        }
    }
    replay.snapshot_end = replay.end;
    // Each step goes on by at least a frame, so this ends.
    while replay.end < bytes.len() {
        let txn = replay.tree.last_txn.saturating_add(1);
        if !replay.step(bytes, txn)? {
            break;
        }
    }
    if record_follows(bytes, replay.end, replay.tree.last_txn) {
        let reason = "no whole record here, but one further on";
        return Err(Damage { position: replay.end, reason });
    }
    replay.tree.drop_ephemerals();
    Ok(replay)
}

impl Replay {
    /// Applies the record at the end; false when there is no whole one.
    fn step(&mut self, bytes: &[u8], txn: i64) -> Result<bool, Damage> {
        let Some(body) = bytes.get(self.end..).and_then(record_body) else {
            return Ok(false);
        };
        if body_txn(body) != Some(txn) {
            let reason = "a whole record, but not the next transaction";
            return Err(Damage { position: self.end, reason });
        }
        let Some(changes) = decode_changes(body) else {
            let reason = "a whole record with a change that cannot be read";
            return Err(Damage { position: self.end, reason });
        };
        self.tree.apply(txn, changes);
        self.end += FRAME_SIZE + body.len();
        Ok(true)
    }
}

/// Whether a whole record of a transaction after `last_txn` begins anywhere behind `position`.
fn record_follows(bytes: &[u8], position: usize, last_txn: i64) -> bool {
    let smallest = FRAME_SIZE + BODY_MIN;
    let possible = i64::try_from(bytes.len() / smallest).unwrap_or(i64::MAX);
    let expected = last_txn.saturating_add(1)..=last_txn.saturating_add(possible + 1);
    let after = position.saturating_add(1)..bytes.len().saturating_sub(smallest - 1);
    after.into_iter().any(|at| {
        let rest = &bytes[at..];
        // The transaction id is looked at first: a checksum at every byte would take minutes.
        body_txn(&rest[FRAME_SIZE..]).is_some_and(|txn| expected.contains(&txn))
            && record_body(rest).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::embedded::codec::{FORMAT, encode_record};
    use crate::metadata::embedded::tree::Change;
    use crate::metadata::store::Op;

    /// A journal of a few transactions, where each begins, and the tree after each.
    fn journal() -> (Vec<u8>, Vec<usize>, Vec<Tree>) {
        let header = Header { format: FORMAT, snapshot_records: 0, snapshot_txn: 0 };
        let (mut bytes, mut starts, mut tree) = (header.encode(), Vec::new(), Tree::new());
        let mut trees = vec![tree.clone()];
        for txn in 1..=6 {
            let op = Op::create(format!("/node-{txn}"), vec![b'v'; 20]);
            let (changes, _): (Vec<Change>, _) = tree.plan(vec![op], txn).unwrap();
            starts.push(bytes.len());
            bytes.extend(encode_record(txn, &changes));
            tree.apply(txn, changes);
            trees.push(tree.clone());
        }
        (bytes, starts, trees)
    }

    fn replay_all(bytes: &[u8]) -> Result<Replay, Damage> {
        replay(&Header::decode(bytes).unwrap(), bytes)
    }

    #[test]
    fn a_journal_cut_anywhere_holds_the_whole_transactions_before_the_cut() {
        let (bytes, starts, trees) = journal();
        for length in HEADER_SIZE..=bytes.len() {
            let replay = replay_all(&bytes[..length]).unwrap();
            let whole = starts[1..].iter().filter(|start| **start <= length).count()
                + usize::from(length == bytes.len());
            assert_eq!(replay.tree, trees[whole], "cut at {length}");
        }
    }

    #[test]
    fn a_flipped_bit_before_the_last_transaction_is_damage_and_in_it_a_torn_tail() {
        let (bytes, starts, trees) = journal();
        for at in HEADER_SIZE..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let record = starts.iter().filter(|start| **start <= at).count() - 1;
            match replay_all(&bytes) {
                Ok(replay) => {
                    assert_eq!(record, starts.len() - 1, "byte {at} was cut away");
                    assert_eq!(replay.tree, trees[record]);
                }
                Err(damage) => {
                    assert!(record < starts.len() - 1, "byte {at}");
                    assert_eq!(damage.position, starts[record]);
                }
            }
        }
    }

    #[test]
    fn a_record_that_is_missing_in_the_middle_is_damage() {
        let (bytes, starts, _) = journal();
        let mut shortened = bytes[..starts[2]].to_vec();
        shortened.extend_from_slice(&bytes[starts[3]..]);
        assert_eq!(replay_all(&shortened).unwrap_err().position, starts[2]);
    }
}
