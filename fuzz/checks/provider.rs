//! Any bytes as the journals of one session of each provider, through provider, bridge and projection to rows and text.
//!
//! Input: one byte for the number of chunk sizes, the sizes, then the journals, the root's first, with 0x1e between them. Invariants:
//! chunking does not matter, the bridge makes no event that the projection refuses, every text stays inert.

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::display::{Look, tree};
use agent_lifecycle_core::json;
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::rows::{BesideAll, rows};
use agent_lifecycle_core::project::{Config, Status};
use agent_lifecycle_core::providers::{ALL, Provider, Recognized, Role, Told, gather};

/// Panics where an invariant does not hold.
pub(crate) fn check(input: &[u8]) {
    let Some((&[count], rest)) = input.split_first_chunk() else { return };
    let Some((sizes, journals)) = rest.split_at_checked(usize::from(count & 7)) else { return };
    let journals: Vec<&[u8]> = journals.split(|byte| *byte == 0x1e).collect();
    for provider in ALL {
        let whole = read(provider, &journals, &[u8::MAX]);
        assert_eq!(whole, read(provider, &journals, sizes), "chunking matters");
    }
}

/// The rows as JSON, and what they look like.
fn read(provider: &'static dyn Provider, journals: &[&[u8]], sizes: &[u8]) -> (String, String) {
    let mut pipeline = Pipeline::new(Config::default(), Content::Full);
    let own = |(at, journal): (usize, &&[u8])| {
        let role = if at == 0 { Role::Root } else { Role::Child { agent_id: format!("a{at}") } };
        let unnamed = Recognized { session_id: "s".to_owned(), role, parent: None };
        provider.recognize(journal).unwrap_or(unnamed)
    };
    let mut recognized: Vec<Recognized> = journals.iter().enumerate().map(own).collect();
    gather(recognized.iter_mut());
    for ((at, journal), recognized) in journals.iter().enumerate().zip(recognized) {
        let id = pipeline.add_journal(format!("{at}"), provider, recognized, Told::default());
        let mut rest = *journal;
        for size in sizes.iter().chain([&0]).cycle() {
            let (piece, after) = rest.split_at(rest.len().min(usize::from(*size) * 17 + 1));
            pipeline.push(id, piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        pipeline.end(id);
    }
    let now = Moment::from_unix_millis(1_700_000_000_000);
    pipeline.settle(now, None, &mut |event, outcome| {
        let status = outcome.as_ref().map(|applied| applied.status);
        let fits = matches!(status, Ok(Status::Applied | Status::Deduplicated | Status::TerminalImmutable));
        // A record that is repeated without a uuid, or with another content, is the journal's fault.
        let contradicts = matches!(status, Ok(Status::Conflict | Status::OutOfOrder));
        assert!(fits || contradicts, "{outcome:?}: {}", event.to_json());
    });
    pipeline.projector_mut().mark_stale(now);
    let rows = rows(pipeline.projector().records(), &BesideAll::new());
    let text = tree(&rows, Look { now, color: false, width: Some(100) });
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    (json::write(&rows), text)
}
