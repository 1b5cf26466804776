//! The chores of the repository, each a subcommand: `cargo xtask tidy`, `cargo xtask bless`.
//!
//! A new chore is a module and a line in `main`.

mod bless;
mod tidy;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bless"] => bless::run(),
        ["tidy"] => tidy::run(),
        _ => Err("usage: cargo xtask bless | tidy".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
