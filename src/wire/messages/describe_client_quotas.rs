//! `DescribeClientQuotas` (key 48): limits set for users, client ids and addresses.

use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Layout, Reader, Wire, WireError, Writer};

/// The entity has this name.
pub const MATCH_EXACT: i8 = 0;
/// The limit is the default for all without their own.
pub const MATCH_DEFAULT: i8 = 1;
/// The entity has any name.
pub const MATCH_ANY: i8 = 2;

structure! {
    /// Asks for the limits of entities that match.
    DescribeClientQuotasRequest {
        components: Vec<Component>,
        /// Whether entities with more components than asked for are left out.
        strict: bool,
    }
}

structure! {
    /// What one component of an entity must be.
    Component {
        /// `user`, `client-id` or `ip`.
        entity_type: String,
        /// By this module's constants.
        match_type: i8,
        /// The name, where one is asked for.
        matched: Option<String>,
    }
}

structure! {
    /// The limits.
    DescribeClientQuotasResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        /// `None` beside an error.
        entries: Option<Vec<Entry>> = Some(Vec::new()),
    }
}

structure! {
    /// The limits of one entity.
    Entry {
        entity: Vec<EntityComponent>,
        values: Vec<Limit>,
    }
}

structure! {
    /// One component of an entity.
    EntityComponent {
        entity_type: String,
        /// `None` for the default of all.
        entity_name: Option<String>,
    }
}

structure! {
    /// One limit.
    Limit {
        key: String,
        value: Rate,
    }
}

/// How much is allowed. Two are equal when their bits are, so that every rate equals itself.
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
