//! API versions supported by both a broker and this side.

use std::collections::HashMap;

use super::fault::LinkFault;
use crate::wire::{ApiVersionsResponse, Message};

/// The API versions that a broker supports.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    ranges: HashMap<i16, (i16, i16)>,
}

impl Versions {
    /// Reads the versions from a broker's answer.
    pub(super) fn of(answer: &ApiVersionsResponse) -> Self {
        let row = |api: &crate::wire::api_versions::ApiVersion| {
            (api.api_key, (api.min_version, api.max_version))
        };
        Self { ranges: answer.api_keys.iter().map(row).collect() }
    }

    /// Returns the highest version of `R` that both sides support, up to `highest`.
    pub(super) fn pick<R: Message>(&self, highest: i16) -> Result<i16, LinkFault> {
        let (least, most) = self.ranges.get(&R::KEY.number()).copied().unwrap_or((0, -1));
        let version = most.min(*R::VERSIONS.end()).min(highest);
        if version >= least.max(*R::VERSIONS.start()) {
            Ok(version)
        } else {
            Err(LinkFault::UnsupportedVersion { api: R::KEY.name(), least, most })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{FetchRequest, HeartbeatRequest, api_versions::ApiVersion};

    #[test]
    fn the_highest_common_version_is_taken() {
        let api_keys = vec![ApiVersion { api_key: 1, min_version: 4, max_version: 99 }];
        let answer = ApiVersionsResponse { api_keys, ..ApiVersionsResponse::default() };
        let versions = Versions::of(&answer);
        assert_eq!(versions.pick::<FetchRequest>(i16::MAX).unwrap(), 18);
        assert_eq!(versions.pick::<FetchRequest>(12).unwrap(), 12);
        assert!(versions.pick::<FetchRequest>(3).is_err());
        assert!(versions.pick::<HeartbeatRequest>(i16::MAX).is_err());
    }
}
