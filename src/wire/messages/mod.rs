//! One file per API: a request, its response, and the structures within them.
//!
//! Field names are Kafka's. A structure of a request that has a counterpart in the response is
//! called `Request…`. Enumerations that brokers may extend stay numbers here, with constants
//! beside them; names of topics stay text, since only a broker decides which are legal.

pub mod api_versions;
pub mod fetch;
pub mod list_offsets;
pub mod metadata;
pub mod produce;
mod produce_view;

pub use api_versions::{ApiVersionsRequest, ApiVersionsResponse};
pub use fetch::{FetchRequest, FetchResponse};
pub use list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
pub use metadata::{MetadataRequest, MetadataResponse};
pub use produce::{ProduceRequest, ProduceRequestView, ProduceResponse};
