//! Records that come as columns, for whoever has many at once: their parts, and sending them.

mod given;
mod sending;

pub use given::{BytesGiven, ColumnsGiven, HeadersGiven, NumbersGiven, Validity};
