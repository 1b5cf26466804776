//! Whether the model that runs a session may delegate.
//!
//! Input: the model, how it was selected, and the model of the routing profile. Output: a decision with its reason.
//! Invariant: only a profile that names exactly this model lets it delegate. Never: selects a model, changes a profile.

use serde::Serialize;

use crate::contract::identity::trim;

/// How the runtime's model was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Somebody named it.
    Explicit,
    /// It is the runtime's own, configured or not.
    Implicit,
}

impl Selection {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Explicit, Self::Implicit];

    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Implicit => "implicit",
        }
    }

    /// The selection with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|selection| selection.as_str() == word)
    }
}

/// What is decided on.
#[derive(Clone, Copy, Debug)]
pub struct Routing<'a> {
    /// The model that runs the session, where it is known.
    pub runtime_model: Option<&'a str>,
    /// How it was selected.
    pub selection: Selection,
    /// The model that the routing profile names, where there is a profile.
    pub profile: Option<&'a str>,
}

/// How a runtime's model and a routing profile stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RoutingStatus {
    /// The profile names exactly this model.
    Match,
    /// There is a profile, and it does not name this model.
    Mismatch,
    /// There is no profile.
    Unprofiled,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// How they stand to each other.
    pub status: RoutingStatus,
    /// Whether a child may be delegated.
    pub may_delegate: bool,
    /// Why, as a sentence.
    pub reason: &'static str,
}

impl Routing<'_> {
    /// The decision. Names are compared as they are: neither case nor white space is forgiven.
    #[must_use]
    pub fn decide(self) -> Decision {
        use RoutingStatus::{Match, Mismatch, Unprofiled};
        let model = self.runtime_model.filter(|model| !trim(model).is_empty());
        let (status, reason) = match (self.profile, model, self.selection) {
            (None, None, _) => {
                (Unprofiled, "the runtime model is not known, and there is no routing profile")
            }
            (None, Some(_), Selection::Explicit) => {
                (Unprofiled, "the explicitly selected runtime model has no routing profile")
            }
            (None, Some(_), Selection::Implicit) => {
                (Unprofiled, "the configured runtime model has no routing profile")
            }
            (Some(_), None, _) => {
                (Mismatch, "the runtime model is not known, so that no routing profile can match it")
            }
            (Some(profile), Some(model), _) if profile == model => {
                (Match, "the routing profile names exactly the runtime model")
            }
            (Some(_), Some(_), _) => (Mismatch, "the routing profile names another model than the runtime's"),
        };
        Decision { status, may_delegate: status == Match, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::RoutingStatus::{Match, Mismatch, Unprofiled};
    use super::{Routing, Selection};

    #[test]
    fn only_an_exact_match_may_delegate() {
        let names = [
            None,
            Some(""),
            Some(" "),
            Some("\u{feff}"),
            Some("opus"),
            Some("Opus"),
            Some("opus "),
            Some("gpt"),
        ];
        let mut matches = 0;
        for runtime_model in names {
            for profile in names {
                for selection in Selection::ALL {
                    let decision = Routing { runtime_model, selection, profile }.decide();
                    let is_named = !matches!(runtime_model, None | Some("" | " " | "\u{feff}"));
                    let expected = match profile {
                        None => Unprofiled,
                        Some(profile) if is_named && Some(profile) == runtime_model => Match,
                        Some(_) => Mismatch,
                    };
                    assert_eq!(decision.status, expected, "{runtime_model:?} {profile:?}");
                    assert_eq!(decision.may_delegate, expected == Match);
                    matches += usize::from(decision.may_delegate);
                }
            }
        }
        // Four names that are something, selected in two ways.
        assert_eq!(matches, 8);
    }

    #[test]
    fn each_reason_says_what_is_so() {
        for (runtime_model, selection, profile, reason) in [
            (
                Some("opus"),
                Selection::Explicit,
                None,
                "the explicitly selected runtime model has no routing profile",
            ),
            (Some("opus"), Selection::Implicit, None, "the configured runtime model has no routing profile"),
            (
                None,
                Selection::Implicit,
                None,
                "the runtime model is not known, and there is no routing profile",
            ),
            (
                None,
                Selection::Implicit,
                Some("opus"),
                "the runtime model is not known, so that no routing profile can match it",
            ),
            (
                Some("gpt"),
                Selection::Explicit,
                Some("opus"),
                "the routing profile names another model than the runtime's",
            ),
            (
                Some("opus"),
                Selection::Explicit,
                Some("opus"),
                "the routing profile names exactly the runtime model",
            ),
        ] {
            assert_eq!(Routing { runtime_model, selection, profile }.decide().reason, reason);
        }
    }
}
