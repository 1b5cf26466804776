//! See `checks/parser.rs`.
#![no_main]

#[path = "../checks/parser.rs"]
mod parser;

libfuzzer_sys::fuzz_target!(|input: &[u8]| parser::check(input));
