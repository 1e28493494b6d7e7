//! One file per API: what a request asks becomes calls to the layers below, and what they return
//! becomes its answer. Versioned messages end here.

pub(crate) mod api_versions;
pub(crate) mod fetch;
pub(crate) mod list_offsets;
pub(crate) mod metadata;
mod produce;

pub(crate) use produce::{Appends, Taken};
