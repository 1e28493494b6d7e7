//! The `streamlog` command.

fn main() {}
