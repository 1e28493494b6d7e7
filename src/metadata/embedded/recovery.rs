//! Reads the bytes of a journal into the tree, or finds the fault in them.
//!
//! The two sides of a journal hold the same bytes, so each record is taken from a side on which it
//! is intact. Each transaction is flushed to both sides before the next is written. So if neither
//! side has a record at a position, and no record follows, the bytes are a transaction that was
//! never acknowledged: a torn tail, which is cut off. If a record follows, the bytes had been
//! durable and nothing is cut off: both sides are damaged at the same position.

use crate::metadata::embedded::codec::{
    BODY_MIN, FRAME_SIZE, HEADER_SIZE, Header, body_txn, decode_changes, record_body,
};
use crate::metadata::tree::{Change, Tree};

/// The contents of a journal.
#[derive(Debug)]
pub(super) struct Replay {
    /// The tree after the last whole transaction, without ephemeral nodes.
    pub(super) tree: Tree,
    /// The intact records, as both sides should have them. Any further bytes of a side were never
    /// acknowledged.
    pub(super) bytes: Vec<u8>,
    /// The end of the snapshot.
    pub(super) snapshot_end: usize,
    /// The start of the last record.
    pub(super) last_record: usize,
}

/// The reason why a journal cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) position: usize,
    pub(super) reason: &'static str,
}

/// Replays the records after `header`, taken from the sides of one journal.
pub(super) fn replay(header: &Header, sides: &[&[u8]]) -> Result<Replay, Damage> {
    let mut replay = Replay {
        tree: Tree::new(),
        bytes: header.encode(),
        snapshot_end: HEADER_SIZE,
        last_record: HEADER_SIZE,
    };
    replay.tree.last_txn = header.snapshot_txn;
    for _ in 0..header.snapshot_records {
        if !replay.step(sides, header.snapshot_txn)? {
            return Err(replay.damage("the snapshot is incomplete"));
        }
    }
    replay.snapshot_end = replay.bytes.len();
    replay.last_record = replay.snapshot_end;
    // Terminates: each step advances by at least a frame.
    while replay.step(sides, replay.tree.last_txn.saturating_add(1))? {}
    let end = replay.bytes.len();
    if sides.iter().any(|side| record_follows(side, end, replay.tree.last_txn)) {
        return Err(replay.damage("no whole record here, but one further on"));
    }
    replay.tree.drop_ephemerals();
    Ok(replay)
}

/// Rebuilds the tree from all intact records of the sides, skipping everything between them.
/// Records are applied in order; if a record is lost, its nodes keep their earlier contents.
pub(super) fn salvage(sides: &[&[u8]]) -> Tree {
    let mut tree = Tree::new();
    let length = sides.iter().map(|side| side.len()).max().unwrap_or(0);
    let mut position = HEADER_SIZE;
    while position < length {
        let records = sides.iter().filter_map(|side| side.get(position..).and_then(plausible_body));
        let mut records = records.filter_map(|body| Some((body, decode_changes(body)?)));
        let Some((body, changes)) = records.next() else {
            position += 1;
            continue;
        };
        let txn = body_txn(body).filter(|txn| *txn >= tree.last_txn);
        if let Some(txn) = txn {
            tree.apply(txn, changes);
        }
        position += FRAME_SIZE + body.len();
    }
    tree.drop_ephemerals();
    tree
}

impl Replay {
    /// Applies the next record; returns false if neither side has it intact.
    fn step(&mut self, sides: &[&[u8]], txn: i64) -> Result<bool, Damage> {
        let mut damage = None;
        for side in sides {
            let Some(body) = side.get(self.bytes.len()..).and_then(record_body) else { continue };
            match changes_of(body, txn) {
                Ok(changes) => {
                    self.take(side, body.len());
                    self.tree.apply(txn, changes);
                    return Ok(true);
                }
                Err(reason) => damage = Some(self.damage(reason)),
            }
        }
        damage.map_or(Ok(false), Err)
    }

    fn take(&mut self, side: &[u8], body: usize) {
        self.last_record = self.bytes.len();
        let end = self.last_record + FRAME_SIZE + body;
        self.bytes.extend_from_slice(&side[self.last_record..end]);
    }

    fn damage(&self, reason: &'static str) -> Damage {
        Damage { position: self.bytes.len(), reason }
    }
}

/// The changes of an intact record, which must be this transaction.
fn changes_of(body: &[u8], txn: i64) -> Result<Vec<Change>, &'static str> {
    if body_txn(body) != Some(txn) {
        return Err("a whole record, but not the next transaction");
    }
    decode_changes(body).ok_or("a whole record with a change that cannot be read")
}

/// Like `record_body`, but skips the checksum for impossible lengths, because it is called at every
/// byte.
fn plausible_body(bytes: &[u8]) -> Option<&[u8]> {
    let length = u32::from_be_bytes(*bytes.first_chunk::<4>()?) as usize;
    (length >= BODY_MIN && length <= bytes.len()).then(|| record_body(bytes)).flatten()
}

/// True if an intact record of a transaction after `last_txn` begins after `position`.
fn record_follows(bytes: &[u8], position: usize, last_txn: i64) -> bool {
    let smallest = FRAME_SIZE + BODY_MIN;
    let possible = i64::try_from(bytes.len() / smallest).unwrap_or(i64::MAX);
    let expected = last_txn.saturating_add(1)..=last_txn.saturating_add(possible + 1);
    let after = position.saturating_add(1)..bytes.len().saturating_sub(smallest - 1);
    after.into_iter().any(|at| {
        let rest = &bytes[at..];
        // Check the transaction id first: a checksum at every byte would take minutes.
        body_txn(&rest[FRAME_SIZE..]).is_some_and(|txn| expected.contains(&txn))
            && record_body(rest).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::embedded::codec::{FORMAT, encode_record};
    use crate::metadata::store::{Op, SessionId};

    /// A journal of a few transactions, with the start of each and the tree after each.
    fn journal() -> (Vec<u8>, Vec<usize>, Vec<Tree>) {
        let header =
            Header { format: FORMAT, snapshot_records: 0, snapshot_txn: 0, has_mirror: true };
        let (mut bytes, mut starts, mut tree) = (header.encode(), Vec::new(), Tree::new());
        let mut trees = vec![tree.clone()];
        for txn in 1..=6 {
            let op = Op::create(format!("/node-{txn}"), vec![b'v'; 20]);
            let (changes, _): (Vec<Change>, _) = tree.plan(vec![op], txn, SessionId::PAST).unwrap();
            starts.push(bytes.len());
            bytes.extend(encode_record(txn, &changes));
            tree.apply(txn, changes);
            trees.push(tree.clone());
        }
        (bytes, starts, trees)
    }

    fn replay_all(bytes: &[u8]) -> Result<Replay, Damage> {
        replay(&Header::decode(bytes).unwrap(), &[bytes])
    }

    #[test]
    fn a_journal_cut_anywhere_yields_the_complete_transactions_before_the_cut() {
        let (bytes, starts, trees) = journal();
        for length in HEADER_SIZE..=bytes.len() {
            let replay = replay_all(&bytes[..length]).unwrap();
            let whole = starts[1..].iter().filter(|start| **start <= length).count()
                + usize::from(length == bytes.len());
            assert_eq!(replay.tree, trees[whole], "cut at {length}");
        }
    }

    #[test]
    fn without_a_mirror_a_flipped_bit_before_the_last_transaction_is_damage() {
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

    #[test]
    fn a_byte_changed_on_one_side_is_taken_from_the_other() {
        let (bytes, _, trees) = journal();
        for at in HEADER_SIZE..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            for sides in [[&damaged[..], &bytes], [&bytes[..], &damaged]] {
                let header = Header::decode(&bytes).unwrap();
                let replay = replay(&header, &sides).unwrap();
                assert_eq!(replay.tree, trees[trees.len() - 1], "byte {at}");
                assert_eq!(replay.bytes, bytes, "byte {at}");
            }
        }
    }

    #[test]
    fn sides_damaged_at_the_same_record_are_damaged_and_salvage_has_all_others() {
        let (bytes, starts, trees) = journal();
        let (mut left, mut right) = (bytes.clone(), bytes.clone());
        left[starts[2] + 20] ^= 1;
        right[starts[2] + 30] ^= 1;
        left[5] ^= 1;
        let header = Header::decode(&right).unwrap();
        assert_eq!(replay(&header, &[&left, &right]).unwrap_err().position, starts[2]);
        let salvaged = salvage(&[&left, &right]);
        let all = &trees[trees.len() - 1];
        assert_eq!(salvaged.last_txn, all.last_txn);
        for (path, entry) in all.entries() {
            let expected = (path != "/node-3").then_some(&*entry.value);
            assert_eq!(salvaged.get(path).as_ref().map(|node| &*node.value), expected, "{path}");
        }
    }
}
