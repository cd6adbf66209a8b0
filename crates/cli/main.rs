//! Place of the command line.
fn main() {}
