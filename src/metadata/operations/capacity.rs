//! The maximum number of partitions of a broker.
//!
//! Each partition costs memory for as long as it exists, and any client may create partitions. The
//! limit applies only to creation: lowering it never makes existing partitions unreadable.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::metadata::image::Image;
use crate::metadata::{Metadata, MetadataError};
use crate::types::BrokerId;

impl Metadata {
    /// Checks that partitions with these replicas can be created in addition to existing ones, for
    /// a request that validates the creation of several topics.
    ///
    /// # Errors
    /// `InvalidPartitions` if a broker would exceed `max.partitions`.
    pub fn check_capacity(&self, replicas: &[Vec<BrokerId>]) -> Result<(), MetadataError> {
        let image = Arc::clone(&self.image().borrow());
        self.require_capacity(&image, replicas)
    }

    /// Like [`Metadata::check_capacity`], for the partitions of `image`.
    pub(super) fn require_capacity(
        &self,
        image: &Image,
        replicas: &[Vec<BrokerId>],
    ) -> Result<(), MetadataError> {
        let Some(most) = self.config.partitions_max else { return Ok(()) };
        let mut added = BTreeMap::<BrokerId, usize>::new();
        for broker in replicas.iter().flatten() {
            *added.entry(*broker).or_default() += 1;
        }
        for (broker, added) in added {
            let present = image.partition_count_of(broker);
            if present.saturating_add(added) > most {
                let asked = i64::try_from(added).unwrap_or(i64::MAX);
                let reason = format!(
                    "broker {broker} has {present} and may have {most} (max.partitions): delete \
                     topics, or raise the setting"
                );
                return Err(MetadataError::InvalidPartitions { asked, reason });
            }
        }
        Ok(())
    }
}
