//! The records of a batch, or of a part of one, by their numbers in the original batch.

use std::ops::Range;

/// Record numbers as ranges in ascending order, none of them empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<Range<u32>>);

impl Numbers {
    /// All numbers of a batch of `records` records.
    pub(crate) fn of_batch(records: u32) -> Self {
        let mut numbers = Self::default();
        numbers.add(0..records);
        numbers
    }

    /// The lowest number; 0 if there is none.
    pub(crate) fn first(&self) -> u32 {
        self.0.first().map_or(0, |run| run.start)
    }

    /// The number of records.
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|run| run.end - run.start).sum()
    }

    /// The ranges, in order.
    pub(crate) fn runs(&self) -> &[Range<u32>] {
        &self.0
    }

    /// Removes all numbers but the first `count`, and returns the removed numbers.
    pub(crate) fn split_off(&mut self, count: u32) -> Self {
        let (mut front, mut back, mut left) = (Self::default(), Self::default(), count);
        for run in self.0.drain(..) {
            let middle = run.end.min(run.start.saturating_add(left));
            left -= middle - run.start;
            front.add(run.start..middle);
            back.add(middle..run.end);
        }
        *self = front;
        back
    }

    /// Removes the records at `places`, which are sorted, and returns their numbers.
    pub(crate) fn take_out(&mut self, places: &[u32]) -> Vec<u32> {
        let (mut rest, mut taken) = (Self::default(), Vec::with_capacity(places.len()));
        let (mut before, mut places) = (0, places.iter().peekable());
        for run in self.0.drain(..) {
            let behind = before + (run.end - run.start);
            let mut start = run.start;
            while let Some(place) = places.next_if(|place| **place < behind) {
                let number = run.start + (place - before);
                rest.add(start..number);
                taken.push(number);
                start = number + 1;
            }
            rest.add(start..run.end);
            before = behind;
        }
        *self = rest;
        taken
    }

    fn add(&mut self, run: Range<u32>) {
        if !run.is_empty() {
            self.0.push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_out_by_their_places() {
        let mut numbers = Numbers::of_batch(10);
        assert_eq!(numbers.take_out(&[0, 3, 4, 9]), [0, 3, 4, 9]);
        assert_eq!(numbers.runs(), [1..3, 5..9]);
        assert_eq!((numbers.first(), numbers.count()), (1, 6));
        assert_eq!(numbers.take_out(&[1, 2]), [2, 5]);
        assert_eq!(numbers.runs(), [1..2, 6..9]);
        assert_eq!(numbers.take_out(&[0, 1, 2, 3]), [1, 6, 7, 8]);
        assert_eq!(numbers, Numbers::default());
    }

    #[test]
    fn numbers_are_split_within_a_range_and_between_two() {
        let all = |numbers: &Numbers| numbers.runs().iter().cloned().flatten().collect::<Vec<_>>();
        for count in 1..=6 {
            let mut numbers = Numbers(vec![1..3, 5..9]);
            let both = all(&numbers);
            let behind = numbers.split_off(count);
            assert_eq!(numbers.count(), count);
            assert_eq!([all(&numbers), all(&behind)].concat(), both);
            assert!(numbers.runs().iter().chain(behind.runs()).all(|run| !run.is_empty()));
        }
    }
}
