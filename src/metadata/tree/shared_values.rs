//! Sharing of equal node values.

use std::sync::Arc;

/// Shares a value with the previous one if they are equal: most partitions of a topic are in the
/// same state, and a value stays in memory as long as its node.
#[derive(Debug, Default)]
pub(in crate::metadata) struct SharedValues {
    nothing: Arc<[u8]>,
    last: Arc<[u8]>,
}

impl SharedValues {
    /// A value with these bytes: the previous value if it is equal.
    pub(in crate::metadata) fn share(&mut self, value: &[u8]) -> Arc<[u8]> {
        if value.is_empty() {
            // Directory nodes, which are empty, come between the states of partitions.
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
