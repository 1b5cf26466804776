//! See `checks/provider.rs`.
#![no_main]

#[path = "../checks/provider.rs"]
mod provider;

libfuzzer_sys::fuzz_target!(|input: &[u8]| provider::check(input));
