//! JSON objects of a known shape whose members are not trusted.
//!
//! Input: any JSON value. Output: a [`Shape`]. Invariant: a value of another kind is an absent shape, unknown members are skipped,
//! the last duplicate counts. Never: fails on valid JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A shape that takes one member at a time.
pub(super) trait Members<'de>: Default {
    type Field: Deserialize<'de>;
    fn set<A: MapAccess<'de>>(&mut self, field: Self::Field, map: &mut A) -> Result<(), A::Error>;
}

macro_rules! members {
    ($shape:ident, $field:ident { $($variant:ident = $name:literal => $member:ident),* $(,)? }) => {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier)]
        pub(in crate::providers) enum $field {
            $(#[serde(rename = $name)] $variant,)*
            #[serde(other)]
            Unknown,
        }

        impl<'de> $crate::providers::shape::Members<'de> for $shape<'de> {
            type Field = $field;
            fn set<A: serde::de::MapAccess<'de>>(&mut self, field: $field, map: &mut A) -> Result<(), A::Error> {
                match field {
                    $($field::$variant => self.$member = map.next_value()?,)*
                    $field::Unknown => { map.next_value::<serde::de::IgnoredAny>()?; }
                }
                Ok(())
            }
        }
    };
}

pub(super) use members;

/// An object of a known shape; `None` for any other value in its place.
#[derive(Debug)]
pub(super) struct Shape<T>(pub(super) Option<T>);

impl<T> Default for Shape<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct ShapeVisitor<T>(PhantomData<T>);

/// The values that are neither object nor array, each read as `$other`.
macro_rules! scalars_are {
    ($other:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($other)
        }
    };
}

pub(super) use scalars_are;

impl<'de, T: Members<'de>> Visitor<'de> for ShapeVisitor<T> {
    type Value = Shape<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    scalars_are!(Shape(None));

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Shape(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut shape = T::default();
        while let Some(field) = map.next_key()? {
            shape.set(field, &mut map)?;
        }
        Ok(Shape(Some(shape)))
    }
}

impl<'de, T: Members<'de>> Deserialize<'de> for Shape<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor(PhantomData))
    }
}
