//! `DescribeClientQuotas` (key 48): the quotas of users, client ids and addresses.

use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Layout, Reader, Wire, WireError, Writer};

/// Matches the entity with this name.
pub const MATCH_EXACT: i8 = 0;
/// Matches the default entity.
pub const MATCH_DEFAULT: i8 = 1;
/// Matches any entity of the type.
pub const MATCH_ANY: i8 = 2;

structure! {
    /// A filter of entities whose quotas are requested.
    DescribeClientQuotasRequest {
        components: Vec<Component>,
        /// True to exclude entities with components that are not in the filter.
        strict: bool,
    }
}

structure! {
    /// The filter for one component of an entity.
    Component {
        /// `user`, `client-id` or `ip`.
        entity_type: String,
        /// The kind of match, one of this module's constants.
        match_type: i8,
        /// The name to match, for an exact match.
        matched: Option<String>,
    }
}

structure! {
    /// The quotas.
    DescribeClientQuotasResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        /// The entities; `None` with an error.
        entries: Option<Vec<Entry>> = Some(Vec::new()),
    }
}

structure! {
    /// The quotas of an entity.
    Entry {
        entity: Vec<EntityComponent>,
        values: Vec<Limit>,
    }
}

structure! {
    /// A component of an entity.
    EntityComponent {
        entity_type: String,
        /// The name; `None` for the default entity.
        entity_name: Option<String>,
    }
}

structure! {
    /// A quota.
    Limit {
        key: String,
        value: Rate,
    }
}

/// The value of a quota. Values are equal if their bits are, so that NaN equals itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate(pub f64);

impl PartialEq for Rate {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Wire for Rate {
    fn min_size(layout: Layout) -> usize {
        f64::min_size(layout)
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        f64::decode(reader).map(Self)
    }

    fn encode(&self, writer: &mut Writer) {
        self.0.encode(writer);
    }
}

#[cfg(test)]
impl crate::wire::sample::Sample for Rate {
    fn sample(samples: &mut crate::wire::sample::Samples) -> Self {
        Self(f64::from_bits(samples.next()))
    }
}

api!(DescribeClientQuotas, 0..=1, DescribeClientQuotasRequest => DescribeClientQuotasResponse);
