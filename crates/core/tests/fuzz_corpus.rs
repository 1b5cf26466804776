//! The committed corpora of the fuzz targets, through the checks of the targets.

#[path = "../../../fuzz/checks/parser.rs"]
mod parser;
#[path = "../../../fuzz/checks/provider.rs"]
mod provider;

use std::path::Path;

/// Runs `check` on every seed of a target.
fn run_seeds(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut seeds: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "no seeds in {}", folder.display());
    for seed in seeds {
        println!("{}", seed.display());
        check(&std::fs::read(&seed).unwrap());
    }
}

#[test]
fn parser_seeds() {
    run_seeds("parser", parser::check);
}

#[test]
fn provider_seeds() {
    run_seeds("provider", provider::check);
}
