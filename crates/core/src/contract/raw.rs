//! One event as it stands in JSON, before any rule is applied.
//!
//! Input: JSON text. Output: every known member with whatever type it has; unknown members are read and dropped.
//! Invariant: the last duplicate of a member counts. Never: judges a value.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::limits::DETAILS_DEPTH;
use crate::json::{self, Json, Scalar};

/// An object member of a known shape, or something else in its place.
#[derive(Debug, Default)]
pub(crate) enum Nested<T> {
    #[default]
    Absent,
    Object(T),
    Other,
}

#[derive(Debug, Default)]
pub(crate) struct RawEvent<'a> {
    pub schema_version: Scalar<'a>,
    pub event_id: Scalar<'a>,
    pub source: Scalar<'a>,
    pub source_epoch: Scalar<'a>,
    pub child_id: Scalar<'a>,
    pub lineage: Nested<RawLineage<'a>>,
    pub kind: Scalar<'a>,
    pub state: Scalar<'a>,
    pub waiting_reason: Scalar<'a>,
    pub observed_at: Scalar<'a>,
    pub sequence: Scalar<'a>,
    pub activity: Scalar<'a>,
    /// `Object(None)` is an object deeper than the limit.
    pub details: Nested<Option<Json>>,
    pub capabilities: Nested<RawCapabilities<'a>>,
}

impl<'a> Nested<RawEvent<'a>> {
    /// The event in `text`. It is large, so that everything is read into its place and nothing is moved.
    pub(crate) fn read(&mut self, text: &'a str) -> Result<(), serde_json::Error> {
        if json::quick::read(text, &mut *self).is_some() {
            return Ok(());
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        self.deserialize(&mut reader)?;
        reader.end()
    }
}

/// A snapshot; each child is read as the event that it is like.
#[derive(Debug, Default)]
pub(crate) struct RawSnapshot<'a> {
    pub complete: Scalar<'a>,
    pub source: Scalar<'a>,
    pub source_epoch: Scalar<'a>,
    pub snapshot_id: Scalar<'a>,
    pub observed_at: Scalar<'a>,
    pub advances_epoch: Scalar<'a>,
    pub coverage: RawList<Scalar<'a>>,
    pub children: RawList<Nested<RawEvent<'a>>>,
}

/// What a journal adds to an event.
#[derive(Debug, Default)]
pub(crate) struct RawJournalLine<'a> {
    pub journal_sequence: Scalar<'a>,
    pub received_at: Scalar<'a>,
}

/// A list, or the text in its place, or something else.
#[derive(Debug, Default)]
pub(crate) enum RawList<T> {
    #[default]
    Absent,
    Text(String),
    List(Vec<T>),
    Other,
}

#[derive(Debug, Default)]
pub(crate) struct RawLineage<'a> {
    pub root_child_id: Scalar<'a>,
    pub parent_child_id: Scalar<'a>,
    pub attempt: Scalar<'a>,
    pub external: Scalar<'a>,
    pub adopted_at: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(crate) struct RawCapabilities<'a> {
    pub history: Scalar<'a>,
    pub heartbeat: Scalar<'a>,
    pub snapshot: Scalar<'a>,
    pub cancel: Scalar<'a>,
    pub terminal_cause: Scalar<'a>,
}

/// What is read from an object.
pub(crate) trait Shape<'de>: Default {
    /// Reads the object into the empty shape.
    fn read<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error>;
}

macro_rules! members {
    ($shape:ident, $field:ident { $($variant:ident = $name:literal => $member:ident),* $(,)? }) => {
        #[derive(Deserialize)]
        #[serde(field_identifier)]
        enum $field {
            $(#[serde(rename = $name)] $variant,)*
            #[serde(other)]
            Unknown,
        }

        impl<'de> Shape<'de> for $shape<'de> {
            fn read<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
                while let Some(field) = map.next_key()? {
                    match field {
                        $($field::$variant => map.next_value_seed(&mut self.$member)?,)*
                        $field::Unknown => { map.next_value::<IgnoredAny>()?; }
                    }
                }
                Ok(())
            }
        }
    };
}

members!(RawEvent, EventField {
    SchemaVersion = "schemaVersion" => schema_version,
    EventId = "eventId" => event_id,
    Source = "source" => source,
    SourceEpoch = "sourceEpoch" => source_epoch,
    ChildId = "childId" => child_id,
    Lineage = "lineage" => lineage,
    Kind = "kind" => kind,
    State = "state" => state,
    WaitingReason = "waitingReason" => waiting_reason,
    ObservedAt = "observedAt" => observed_at,
    Sequence = "sequence" => sequence,
    Activity = "activity" => activity,
    Details = "details" => details,
    Capabilities = "capabilities" => capabilities,
});
members!(RawSnapshot, SnapshotField {
    Complete = "complete" => complete,
    Source = "source" => source,
    SourceEpoch = "sourceEpoch" => source_epoch,
    SnapshotId = "snapshotId" => snapshot_id,
    ObservedAt = "observedAt" => observed_at,
    AdvancesEpoch = "advancesEpoch" => advances_epoch,
    Coverage = "coverage" => coverage,
    Children = "children" => children,
});
members!(RawJournalLine, JournalLineField {
    JournalSequence = "journalSequence" => journal_sequence,
    ReceivedAt = "receivedAt" => received_at,
});
members!(RawLineage, LineageField {
    RootChildId = "rootChildId" => root_child_id,
    ParentChildId = "parentChildId" => parent_child_id,
    Attempt = "attempt" => attempt,
    External = "external" => external,
    AdoptedAt = "adoptedAt" => adopted_at,
});
members!(RawCapabilities, CapabilitiesField {
    History = "history" => history,
    Heartbeat = "heartbeat" => heartbeat,
    Snapshot = "snapshot" => snapshot,
    Cancel = "cancel" => cancel,
    TerminalCause = "terminalCause" => terminal_cause,
});

impl<'de> Shape<'de> for Option<Json> {
    fn read<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        *self = Json::seed(DETAILS_DEPTH).visit_map(map)?;
        Ok(())
    }
}

impl<'de, T: Shape<'de>> DeserializeSeed<'de> for &mut Nested<T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(NestedVisitor(self))
    }
}

/// Accepts any JSON value: an object is read, everything else is [`Nested::Other`].
struct NestedVisitor<'r, T>(&'r mut Nested<T>);

impl<T> NestedVisitor<'_, T> {
    #[expect(clippy::unnecessary_wraps, reason = "every visit answers so")]
    fn other<E>(self) -> Result<(), E> {
        *self.0 = Nested::Other;
        Ok(())
    }
}

impl<'de, T: Shape<'de>> Visitor<'de> for NestedVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.other()
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.other()
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.other()
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.other()
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.other()
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.other()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.other()
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        *self.0 = Nested::Object(T::default());
        match self.0 {
            Nested::Object(shape) => shape.read(map),
            Nested::Absent | Nested::Other => Ok(()),
        }
    }
}

impl<'de, T: Default> DeserializeSeed<'de> for &mut RawList<T>
where
    for<'r> &'r mut T: DeserializeSeed<'de, Value = ()>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(ListVisitor(self))
    }
}

/// Accepts any JSON value: a list is read item by item, a text kept, everything else is [`RawList::Other`].
struct ListVisitor<'r, T>(&'r mut RawList<T>);

impl<T> ListVisitor<'_, T> {
    #[expect(clippy::unnecessary_wraps, reason = "every visit answers so")]
    fn set<E>(self, value: RawList<T>) -> Result<(), E> {
        *self.0 = value;
        Ok(())
    }
}

impl<'de, T: Default> Visitor<'de> for ListVisitor<'_, T>
where
    for<'r> &'r mut T: DeserializeSeed<'de, Value = ()>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.set(RawList::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.set(RawList::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.set(RawList::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.set(RawList::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.set(RawList::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.set(RawList::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.set(RawList::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut items = Vec::new();
        loop {
            let mut item = T::default();
            if seq.next_element_seed(&mut item)?.is_none() {
                break;
            }
            items.push(item);
        }
        self.set(RawList::List(items))
    }
}
