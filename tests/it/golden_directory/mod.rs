//! A committed data directory: every later release must read it, and this one must write it, byte
//! for byte.

mod files;
mod made;
mod reading;
mod writing;
