//! Lines of Codex rollouts in any order, any number of times, in several journals: nothing is refused, and chunking does not matter.

#[path = "../../../fuzz/checks/provider.rs"]
mod provider;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use agent_lifecycle_fixtures::Fixture;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

/// The lines of all fixtures by the type of their payload, each type as likely as another.
fn lines() -> Vec<Vec<String>> {
    let fixtures = Fixture::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")).unwrap();
    let mut by_type: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for journal in
        fixtures.iter().filter(|fixture| fixture.name.starts_with("codex/")).flat_map(|of| &of.journals)
    {
        for line in String::from_utf8(journal.bytes.clone()).unwrap().lines() {
            let kind = line.split(r#""type":""#).nth(2).or_else(|| line.split(r#""type":""#).nth(1));
            let kind = kind.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
            by_type.entry(kind).or_default().push(line.to_owned());
        }
    }
    assert!(by_type.len() > 20, "{:?}", by_type.keys());
    by_type.into_values().collect()
}

#[test]
fn any_lines_in_any_order() {
    let pool = lines();
    let metas: Vec<String> =
        pool.iter().flatten().filter(|line| line.contains(r#""session_meta""#)).cloned().collect();
    assert!(metas.len() > 12);
    let line =
        (select(pool), any::<prop::sample::Index>()).prop_map(|(of, at)| of[at.index(of.len())].clone());
    let journal =
        (select(metas), vec(line, 0..40)).prop_map(|(meta, lines)| format!("{meta}\n{}\n", lines.join("\n")));
    let input = (vec(any::<u8>(), 0..8), vec(journal, 1..4));
    let (ended, lived_again) = (RefCell::new(0), RefCell::new(0));
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&input, |(sizes, journals)| {
            let mut bytes = vec![u8::try_from(sizes.len()).unwrap()];
            bytes.extend_from_slice(&sizes);
            bytes.extend_from_slice(journals.join("\u{1e}").as_bytes());
            provider::check(&bytes);
            let count =
                |what: &str| journals.iter().map(|journal| journal.matches(what).count()).max().unwrap_or(0);
            *ended.borrow_mut() += usize::from(count("task_complete") > 0);
            *lived_again.borrow_mut() += usize::from(count("task_started") > 1);
            Ok(())
        })
        .unwrap();
    assert!(*ended.borrow() > 50 && *lived_again.borrow() > 50, "{ended:?} {lived_again:?}");
}
