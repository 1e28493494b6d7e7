//! The `structure!` macro: one declaration generates a message's type, its defaults, and its codec.
//!
//! A declaration has a row for each field, in wire order; [`structure`] explains the syntax. The
//! rows say in which versions a field exists, and the macro [`row`] expands them. The parts that a
//! row cannot express are written by hand, with their own checks of the version: the header of a
//! frame, and the decoding of produce requests and encoding of their responses in place.

use super::writer::Tag;
use super::{Layout, Nullable, Reader, Wire, WireError, Writer};

/// Declares a structure of a message.
///
/// ```text
/// structure! {
///     /// A sentence about the structure.
///     Name {
///         everywhere: i32,                              // in every version
///         newer: i64 [4..] = -1,                        // from version 4; elsewhere −1
///         older: Vec<String> [..=5],                    // up to version 5
///         text: Option<String> [0.., nullable 7..],     // null is legal from version 7
///         rare: i64 [3.., tag 1] = -1,                  // a tagged field
///     }
/// }
/// ```
///
/// A field that the version lacks is not encoded, and gets its default when decoded: the value
/// after `=`, or else `Default::default()`. A tagged field is encoded only if it differs from its
/// default; tagged fields come last, in ascending order of their tags, and unknown tags are
/// skipped. If the type is an `Option`, null is legal in all versions of the field, or only in
/// those that `nullable` lists. In other versions `None` is encoded as the empty value, since a
/// client would close the connection on a null.
macro_rules! structure {
    (
        $(#[$about:meta])*
        $name:ident {
            $(
                $(#[$field_about:meta])*
                $field:ident: $type:ty
                    $([$versions:expr $(, nullable $nullable:expr)? $(, tag $tag:literal)?])?
                    $(= $default:expr)?
            ),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::wire::structure::row!(default $type $(, $default)?),)* }
            }
        }

        impl $crate::wire::Wire for $name {
            fn min_size(layout: $crate::wire::Layout) -> usize {
                let mut size = usize::from(layout.flexible);
                $(size = size.saturating_add($crate::wire::structure::row!(
                    min_size $type, layout $(, $versions $(, tag $tag)?)?
                ));)*
                size
            }

            fn decode(
                reader: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::wire::WireError> {
                let mut value = Self::default();
                $($crate::wire::structure::row!(
                    decode value.$field, reader
                    $(, $versions $(, nullable $nullable)? $(, tag $tag)?)?
                );)*
                reader.read_tags(|_tag, _reader| {
                    $($($(
                        if _tag == $tag && _reader.layout().is_in($versions) {
                            value.$field = $crate::wire::Wire::decode(_reader)?;
                            return Ok(true);
                        }
                    )?)?)*
                    Ok(false)
                })?;
                Ok(value)
            }

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                $($crate::wire::structure::row!(
                    encode self.$field, writer
                    $(, $versions $(, nullable $nullable)? $(, tag $tag)?)?
                );)*
                writer.write_tags(&[$($($(
                    $crate::wire::structure::tag(
                        $tag,
                        &self.$field,
                        writer.layout().is_in($versions) && self.$field != Self::default().$field,
                        writer.layout(),
                    ),
                )?)?)*]);
            }
        }

        #[cfg(test)]
        impl $crate::wire::sample::Sample for $name {
            fn sample(samples: &mut $crate::wire::sample::Samples) -> Self {
                let mut value = Self::default();
                $($crate::wire::structure::row!(
                    sample value.$field, samples
                    $(, $versions $(, nullable $nullable)? $(, tag $tag)?)?
                );)*
                value
            }
        }
    };
}

/// Expands one field of a structure for one purpose (`default`, `min_size`, `decode`, `encode`,
/// `sample`), depending on its versions, the versions in which it may be null, and its tag.
macro_rules! row {
    (default $type:ty) => {
        <$type>::default()
    };
    (default $type:ty, $default:expr) => {
        $default
    };

    (min_size $type:ty, $layout:ident) => {
        <$type as $crate::wire::Wire>::min_size($layout)
    };
    (min_size $type:ty, $layout:ident, $versions:expr, tag $tag:literal) => {
        0
    };
    (min_size $type:ty, $layout:ident, $versions:expr) => {
        if $layout.is_in($versions) { <$type as $crate::wire::Wire>::min_size($layout) } else { 0 }
    };

    (decode $place:expr, $reader:ident) => {
        $place = $crate::wire::Wire::decode($reader)?
    };
    (decode $place:expr, $reader:ident, $versions:expr, tag $tag:literal) => {};
    (decode $place:expr, $reader:ident, $versions:expr) => {
        if $reader.layout().is_in($versions) {
            $place = $crate::wire::Wire::decode($reader)?;
        }
    };
    (decode $place:expr, $reader:ident, $versions:expr, nullable $nullable:expr) => {
        if $reader.layout().is_in($versions) {
            let nullable = $reader.layout().is_in($nullable);
            $place = $crate::wire::structure::decode_nullable($reader, nullable)?;
        }
    };

    (encode $place:expr, $writer:ident) => {
        $crate::wire::Wire::encode(&$place, $writer)
    };
    (encode $place:expr, $writer:ident, $versions:expr, tag $tag:literal) => {};
    (encode $place:expr, $writer:ident, $versions:expr) => {
        if $writer.layout().is_in($versions) {
            $crate::wire::Wire::encode(&$place, $writer);
        }
    };
    (encode $place:expr, $writer:ident, $versions:expr, nullable $nullable:expr) => {
        if $writer.layout().is_in($versions) {
            let nullable = $writer.layout().is_in($nullable);
            $crate::wire::structure::encode_nullable($place.as_ref(), nullable, $writer);
        }
    };

    (sample $place:expr, $samples:ident) => {
        $place = $crate::wire::sample::Sample::sample($samples)
    };
    (sample $place:expr, $samples:ident, $versions:expr $(, tag $tag:literal)?) => {
        if $samples.layout().is_in($versions) {
            $place = $crate::wire::sample::Sample::sample($samples);
        }
    };
    (sample $place:expr, $samples:ident, $versions:expr, nullable $nullable:expr) => {
        if $samples.layout().is_in($versions) {
            $place = $crate::wire::sample::Sample::sample($samples);
            if !$samples.layout().is_in($nullable) {
                $place.get_or_insert_default();
            }
        }
    };
}

/// Declares the API and versions of a request and its response: `Key, 0..=4, A => B`.
macro_rules! api {
    ($key:ident, $versions:expr, $request:ident => $response:ident) => {
        impl $crate::wire::Message for $request {
            const KEY: $crate::wire::ApiKey = $crate::wire::ApiKey::$key;
            const VERSIONS: std::ops::RangeInclusive<i16> = $versions;
            type Response = $response;
        }
    };
}

/// A tagged field, if it has to be written.
pub(super) fn tag(number: u32, value: &impl Wire, present: bool, layout: Layout) -> Option<Tag> {
    present.then(|| Tag::new(number, layout, |writer| value.encode(writer)))
}

/// Decodes a field that may be null only in some versions.
pub(super) fn decode_nullable<T: Nullable>(
    reader: &mut Reader<'_>,
    nullable: bool,
) -> Result<Option<T>, WireError> {
    if nullable { T::decode_nullable(reader) } else { T::decode(reader).map(Some) }
}

/// Encodes a field that may be null only in some versions.
pub(super) fn encode_nullable<T: Nullable + Default>(
    value: Option<&T>,
    nullable: bool,
    writer: &mut Writer,
) {
    match value {
        Some(value) => value.encode(writer),
        None if nullable => T::encode_null(writer),
        None => T::default().encode(writer),
    }
}

pub(super) use {api, row, structure};
