//! Records given as columns: their layout, and sending them.

mod given;
mod sending;

pub use given::{BytesGiven, ColumnsGiven, HeadersGiven, NumbersGiven, Validity};
