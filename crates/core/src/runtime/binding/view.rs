//! A binding for users of a product.
//!
//! Input: a binding and what is known of its owner. Output: what may be shown.
//! Never: shows a native id, a locator's value or a value of metadata.

use serde::Serialize;

use super::content::{Binding, BindingState, Content, Diagnostic, LocatorKind};
use super::ids::ProductSessionId;
use crate::contract::Moment;
use crate::json::Json;

/// Whether an owner lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnerStatus {
    /// It does, or may.
    Alive,
    /// It provably does not.
    Dead,
    /// Nothing proves either.
    Unknown,
}

/// Who claimed a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OwnerView {
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Whether that lives.
    pub status: OwnerStatus,
}

/// What may be shown of a binding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    product_session_id: ProductSessionId,
    runtime_instance_id: String,
    adapter_id: String,
    has_native_session: bool,
    state: BindingState,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adapter_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locator_kind: Option<LocatorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata_keys: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostic: Option<Diagnostic>,
    revision: u64,
    generation: u64,
    created_at: Moment,
    updated_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<OwnerView>,
}

impl Inspection {
    /// What may be shown of `binding`.
    #[must_use]
    pub fn of(binding: Binding, owner: Option<OwnerView>) -> Self {
        // Without `..`, so that a new member is decided about here.
        let Binding { content, revision, generation, created_at, updated_at } = binding;
        let metadata_keys = content.metadata_keys();
        let Content {
            product_session_id,
            runtime_instance_id,
            adapter_id,
            native_session_id,
            state,
            protocol,
            protocol_version,
            adapter_version,
            locator,
            metadata: _,
            diagnostic,
        } = content;
        Self {
            product_session_id,
            runtime_instance_id,
            adapter_id,
            has_native_session: native_session_id.is_some(),
            state,
            protocol,
            protocol_version,
            adapter_version,
            locator_kind: locator.map(|locator| locator.kind),
            metadata_keys,
            diagnostic,
            revision,
            generation,
            created_at,
            updated_at,
            owner,
        }
    }
}

impl Content {
    /// The names of the members of its metadata.
    #[must_use]
    pub fn metadata_keys(&self) -> Option<Vec<String>> {
        match &self.metadata {
            Some(Json::Object(members)) => Some(members.iter().map(|(name, _)| name.clone()).collect()),
            _ => None,
        }
    }
}
