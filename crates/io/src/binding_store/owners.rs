//! Who owns a claim or a reservation: a process, and in it the store that took it.
//!
//! Input: the record that an owner wrote. Output: whether that owner lives. Invariant: dead is said on proof only.
//! Never: trusts a type, shows a host name or a boot id.

use agent_lifecycle_core::runtime::binding::{OwnerStatus, OwnerView};
use serde::Serialize;
use serde_json::Value;

use super::environment::{self, Environment};
use crate::process::{Identity, Owner, Verdict, judge};
use crate::storage::System;

/// This store as an owner, and its eye for others.
pub(super) struct Owners {
    identity: Identity,
    environment: Environment,
    record: String,
}

impl Owners {
    pub(super) fn new(system: &dyn System) -> Self {
        #[derive(Serialize)]
        struct Record<'a> {
            #[serde(flatten)]
            identity: &'a Identity,
            environment: &'a str,
        }
        let (identity, environment) = (system.identity(), Environment::enter());
        let record = Record { identity: &identity, environment: environment.name() };
        // Plain data is always written.
        let record = serde_json::to_string(&record).unwrap_or_default();
        Self { identity, environment, record }
    }

    /// What this store writes as the owner.
    pub(super) fn record(&self) -> &str {
        &self.record
    }

    /// The name of this store's environment.
    pub(super) fn environment(&self) -> &str {
        self.environment.name()
    }

    /// What is known of whoever wrote `record`.
    pub(super) fn look(&self, system: &dyn System, record: &str) -> OwnerView {
        let record: Value = serde_json::from_str(record).unwrap_or_default();
        let owner = Owner::read(&record);
        let is_over = record.get("environment").and_then(Value::as_str).is_some_and(environment::is_over);
        let status = match judge(&owner, &self.identity, |pid| system.look(pid)) {
            Verdict::Dead { .. } => OwnerStatus::Dead,
            _ if is_over => OwnerStatus::Dead,
            Verdict::Alive(_) => OwnerStatus::Alive,
            Verdict::Unknown(_) => OwnerStatus::Unknown,
        };
        OwnerView { pid: owner.pid, status }
    }

    /// Whether whoever wrote `record` is provably gone.
    pub(super) fn is_dead(&self, system: &dyn System, record: &str) -> bool {
        self.look(system, record).status == OwnerStatus::Dead
    }
}
