//! What the lock promises: over the simulated file system, the real one, and among processes.

mod cases;
mod interleavings;
