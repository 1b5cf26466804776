//! The chores of the repository.

fn main() {}
