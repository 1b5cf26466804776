//! One event as it stands in JSON, before any rule is applied.
//!
//! Input: JSON text. Output: every known member with whatever type it has; unknown members are read and dropped.
//! Invariant: the last duplicate of a member counts. Never: judges a value.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::limits::DETAILS_DEPTH;
use crate::json::{self, Json, Scalar};

/// An object member of a known shape, or something else in its place.
#[derive(Debug, Default)]
pub(super) enum Nested<T> {
    #[default]
    Absent,
    Object(T),
    Other,
}

#[derive(Debug, Default)]
pub(super) struct RawEvent<'a> {
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

impl<'a> RawEvent<'a> {
    /// Reads the members of the object in `text` into this empty event, which is large and stays where it is; answers
    /// whether it is an object.
    pub(super) fn read(&mut self, text: &'a str) -> Result<bool, serde_json::Error> {
        let nested = if let Some(nested) = json::quick::read(text, in_place(self)) {
            nested
        } else {
            *self = Self::default();
            let mut reader = serde_json::Deserializer::from_str(text);
            let nested = in_place(self).deserialize(&mut reader)?;
            reader.end()?;
            nested
        };
        Ok(matches!(nested, Nested::Object(())))
    }
}

#[derive(Debug, Default)]
pub(super) struct RawLineage<'a> {
    pub root_child_id: Scalar<'a>,
    pub parent_child_id: Scalar<'a>,
    pub attempt: Scalar<'a>,
    pub external: Scalar<'a>,
    pub adopted_at: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct RawCapabilities<'a> {
    pub history: Scalar<'a>,
    pub heartbeat: Scalar<'a>,
    pub snapshot: Scalar<'a>,
    pub cancel: Scalar<'a>,
    pub terminal_cause: Scalar<'a>,
}

/// A shape that takes one member at a time.
trait Members<'de>: Default {
    type Field: Deserialize<'de>;
    fn set<A: MapAccess<'de>>(&mut self, field: Self::Field, map: &mut A) -> Result<(), A::Error>;
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

        impl<'de> Members<'de> for $shape<'de> {
            type Field = $field;
            fn set<A: MapAccess<'de>>(&mut self, field: $field, map: &mut A) -> Result<(), A::Error> {
                match field {
                    $($field::$variant => self.$member = map.next_value()?,)*
                    $field::Unknown => { map.next_value::<IgnoredAny>()?; }
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

/// Accepts any JSON value; objects go to `object`, everything else is [`Nested::Other`].
struct NestedVisitor<F, T> {
    object: F,
    shape: PhantomData<T>,
}

impl<'de, F, T> Visitor<'de> for NestedVisitor<F, T>
where
    F: ObjectReader<'de, T>,
{
    type Value = Nested<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Nested::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Nested::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Nested::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Nested::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Nested::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Nested::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Nested::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.object.read(map).map(Nested::Object)
    }
}

trait ObjectReader<'de, T> {
    fn read<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error>;
}

/// Reads the members of a shape into it.
struct InPlace<'r, T>(&'r mut T);

impl<'de, T: Members<'de>> ObjectReader<'de, ()> for InPlace<'_, T> {
    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key()? {
            self.0.set(field, &mut map)?;
        }
        Ok(())
    }
}

fn in_place<T>(shape: &mut T) -> NestedVisitor<InPlace<'_, T>, ()> {
    NestedVisitor { object: InPlace(shape), shape: PhantomData }
}

/// Reads a shape member by member.
struct ByMember;

impl<'de, T: Members<'de>> ObjectReader<'de, T> for ByMember {
    fn read<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let mut shape = T::default();
        InPlace(&mut shape).read(map)?;
        Ok(shape)
    }
}

/// Reads a whole JSON object of bounded depth.
struct Whole;

impl<'de> ObjectReader<'de, Option<Json>> for Whole {
    fn read<A: MapAccess<'de>>(self, map: A) -> Result<Option<Json>, A::Error> {
        Json::seed(DETAILS_DEPTH).visit_map(map)
    }
}

impl<'de> Deserialize<'de> for Nested<RawLineage<'de>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NestedVisitor { object: ByMember, shape: PhantomData }.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Nested<RawCapabilities<'de>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NestedVisitor { object: ByMember, shape: PhantomData }.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Nested<Option<Json>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NestedVisitor { object: Whole, shape: PhantomData }.deserialize(deserializer)
    }
}

impl<'de, F, T> DeserializeSeed<'de> for NestedVisitor<F, T>
where
    F: ObjectReader<'de, T>,
{
    type Value = Nested<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}
