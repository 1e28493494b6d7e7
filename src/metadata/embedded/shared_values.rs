//! Values that many nodes have alike.

use std::sync::Arc;

/// Keeps one copy of equal values in a row: the partitions of a topic mostly are in the same state,
/// and a node's value lives as long as the node.
#[derive(Debug, Default)]
pub(super) struct SharedValues {
    nothing: Arc<[u8]>,
    last: Arc<[u8]>,
}

impl SharedValues {
    /// A value of these bytes, which is the last one if that has them too.
    pub(super) fn share(&mut self, value: &[u8]) -> Arc<[u8]> {
        if value.is_empty() {
            // Directories stand between the states of partitions, and hold nothing.
            return Arc::clone(&self.nothing);
        }
        if *self.last != *value {
            self.last = value.into();
        }
        Arc::clone(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_in_a_row_are_one_whatever_is_empty_between_them() {
        let mut values = SharedValues::default();
        let first = values.share(b"state");
        assert!(values.share(b"").is_empty());
        assert!(Arc::ptr_eq(&values.share(b"state"), &first));
        let other = values.share(b"other");
        assert_eq!((&first[..], &other[..]), (&b"state"[..], &b"other"[..]));
    }
}
