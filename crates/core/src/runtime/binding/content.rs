//! A binding as plain data.
//!
//! Input: checked values. Output: the JSON that JavaScript gets. Invariant: words are those of `ts/runtime/binding.ts`.
//! Never: holds a value that [`new_binding`](super::new_binding) would refuse.

use serde::Serialize;

use super::ids::{NativeSessionId, ProductSessionId};
use crate::contract::Moment;
use crate::json::Json;

/// An enum whose values have words, the same in Rust, JavaScript, the store and the docs.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $value,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// Its word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// The value with this word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }
    };
}

words! {
    /// How far a binding has come.
    BindingState {
        /// Frozen to an instance, and nothing durable is native yet.
        Unbound = "unbound",
        /// The recorded native session is the one to use.
        Bound = "bound",
        /// The adapter could not find the recorded native session.
        Missing = "missing",
        /// The adapter met a fault that lasts.
        Error = "error",
    }
}

words! {
    /// Which changes an update may make.
    Mode {
        /// Those of everyday work.
        Normal = "normal",
        /// Also back from `missing` and `error`.
        Repair = "repair",
        /// Any: another instance, adapter or native session.
        Rebind = "rebind",
    }
}

words! {
    /// How an adapter finds the native state.
    LocatorKind {
        /// A file of this machine.
        LocalFile = "local-file",
        /// A directory of this machine.
        LocalDirectory = "local-directory",
        /// An address.
        Uri = "uri",
        /// Elsewhere.
        Remote = "remote",
        /// The adapter knows by itself.
        AdapterResolved = "adapter-resolved",
    }
}

/// Where the native state is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Locator {
    /// How it is found.
    pub kind: LocatorKind,
    /// Its text, for the adapter only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Why a binding is in its state. The texts are redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What is wrong.
    pub code: String,
    /// What was being done.
    pub phase: String,
    /// When.
    pub at: Moment,
    /// For people; at most 4,000 UTF-16 code units.
    pub message: String,
}

/// What a host decides about a binding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// Whose binding it is.
    pub product_session_id: ProductSessionId,
    /// The configured instance.
    pub runtime_instance_id: String,
    /// The adapter's type.
    pub adapter_id: String,
    /// The harness' session. Recorded, it is claimed: in whatever state, only a rebind changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_session_id: Option<NativeSessionId>,
    /// How far it has come.
    pub state: BindingState,
    /// The adapter's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The adapter's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter_version: Option<String>,
    /// Where the native state is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// A JSON object with its names in order, for the adapter only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Why it is in its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<Diagnostic>,
}

/// A binding as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// What the host decided.
    #[serde(flatten)]
    pub content: Content,
    /// 1 at creation, 1 more with each change.
    pub revision: u64,
    /// 0 until the first claim, 1 more with each.
    pub generation: u64,
    /// When it was made.
    pub created_at: Moment,
    /// When it was last changed.
    pub updated_at: Moment,
}
