//! Encodings of keys and values, for `-s` and in formats.
//!
//! Numbers have a fixed size in big-endian order, as written by Kafka's serializers.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};

/// The representation of bytes as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Encoding {
    /// The bytes themselves.
    #[default]
    Text,
    /// Two hexadecimal digits per byte.
    Hex,
    /// Base64, padded.
    Base64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// Bytes formatted as two hexadecimal digits each.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

/// Text that is invalid in its encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' does not fit the encoding {encoding}")]
pub(super) struct Misfit {
    text: String,
    encoding: Encoding,
}

/// The encodings of a command's records.
#[derive(Debug, Args)]
pub(super) struct Encodings {
    /// Encoding of keys and values, or of one of them as in key=i64: i8 to i64, u8 to u64, f32, f64
    /// (big-endian), hex, base64 or text
    #[arg(short = 's', long = "encoding", value_name = "[PART=]ENCODING")]
    parts: Vec<Part>,
}

/// An encoding, and the parts of a record that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    is_of_key: bool,
    is_of_value: bool,
    encoding: Encoding,
}

impl Encodings {
    /// The encoding of keys; the last option wins.
    pub(super) fn of_key(&self) -> Encoding {
        self.last(|part| part.is_of_key)
    }

    /// The encoding of values.
    pub(super) fn of_value(&self) -> Encoding {
        self.last(|part| part.is_of_value)
    }

    fn last(&self, is_meant: fn(&Part) -> bool) -> Encoding {
        let found = self.parts.iter().rev().find(|part| is_meant(part));
        found.map(|part| part.encoding).unwrap_or_default()
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (part, name) = text.split_once('=').unwrap_or(("", text));
        let (is_of_key, is_of_value) = match part {
            "key" => (true, false),
            "value" => (false, true),
            "" if name == text => (true, true),
            _ => return Err(format!("'{part}' is neither key nor value")),
        };
        Ok(Self { is_of_key, is_of_value, encoding: name.parse()? })
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(name, false).map_err(|_| {
            let names: Vec<String> = Self::value_variants().iter().map(Self::to_string).collect();
            format!("'{name}' is not an encoding: use {}", names.join(", "))
        })
    }
}

impl Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

impl Encoding {
    /// Returns true for encodings of numbers.
    pub(super) fn is_numeric(self) -> bool {
        !matches!(self, Self::Text | Self::Hex | Self::Base64)
    }

    /// Converts text to bytes. Surrounding spaces are significant only for the text encoding.
    pub(super) fn encode(self, text: Vec<u8>) -> Result<Vec<u8>, Misfit> {
        if self == Self::Text {
            return Ok(text);
        }
        let encoded = str::from_utf8(&text).ok().and_then(|text| {
            let text = text.trim();
            match self {
                Self::Text => None,
                Self::Hex => bytes_of_hex(text),
                Self::Base64 => STANDARD.decode(text).ok(),
                Self::I8 => packed(text, i8::to_be_bytes),
                Self::I16 => packed(text, i16::to_be_bytes),
                Self::I32 => packed(text, i32::to_be_bytes),
                Self::I64 => packed(text, i64::to_be_bytes),
                Self::U8 => packed(text, u8::to_be_bytes),
                Self::U16 => packed(text, u16::to_be_bytes),
                Self::U32 => packed(text, u32::to_be_bytes),
                Self::U64 => packed(text, u64::to_be_bytes),
                Self::F32 => packed(text, f32::to_be_bytes),
                Self::F64 => packed(text, f64::to_be_bytes),
            }
        });
        encoded.ok_or_else(|| Misfit {
            text: String::from_utf8_lossy(&text).into_owned(),
            encoding: self,
        })
    }

    /// Converts bytes to text; `None` if they are invalid in the encoding.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        let text = match self {
            Self::Text => return str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Hex => Some(Hex(bytes).to_string()),
            Self::Base64 => Some(STANDARD.encode(bytes)),
            Self::I8 => unpacked(bytes, i8::from_be_bytes),
            Self::I16 => unpacked(bytes, i16::from_be_bytes),
            Self::I32 => unpacked(bytes, i32::from_be_bytes),
            Self::I64 => unpacked(bytes, i64::from_be_bytes),
            Self::U8 => unpacked(bytes, u8::from_be_bytes),
            Self::U16 => unpacked(bytes, u16::from_be_bytes),
            Self::U32 => unpacked(bytes, u32::from_be_bytes),
            Self::U64 => unpacked(bytes, u64::from_be_bytes),
            Self::F32 => unpacked(bytes, f32::from_be_bytes),
            Self::F64 => unpacked(bytes, f64::from_be_bytes),
        };
        text.map(Cow::Owned)
    }
}

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

fn packed<T: FromStr, const N: usize>(text: &str, pack: fn(T) -> [u8; N]) -> Option<Vec<u8>> {
    text.parse().ok().map(|number| pack(number).to_vec())
}

fn unpacked<T: Display, const N: usize>(bytes: &[u8], unpack: fn([u8; N]) -> T) -> Option<String> {
    bytes.try_into().ok().map(|bytes| unpack(bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(name: &str) -> Encoding {
        name.parse().unwrap()
    }

    #[test]
    fn encoded_text_is_decoded_to_itself() {
        for (name, text, bytes) in [
            ("i64", "-2", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe][..]),
            ("i8", "-128", &[0x80]),
            ("i16", "258", &[1, 2]),
            ("i32", "-1", &[0xff; 4]),
            ("u8", "255", &[255]),
            ("u16", "258", &[1, 2]),
            ("u32", "4294967295", &[0xff; 4]),
            ("u64", "18446744073709551615", &[0xff; 8]),
            ("f32", "0.5", &[0x3f, 0, 0, 0]),
            ("f64", "-2.5", &[0xc0, 4, 0, 0, 0, 0, 0, 0]),
            ("hex", "00ff", &[0, 255]),
            ("base64", "AP8=", &[0, 255]),
            ("text", " x", b" x"),
        ] {
            let encoding = encoding(name);
            assert_eq!(encoding.encode(text.into()).as_deref(), Ok(bytes), "{name}");
            assert_eq!(encoding.decode(bytes).as_deref(), Some(text));
            assert_eq!(encoding.to_string(), name);
        }
        assert_eq!(encoding("hex").encode(b"0xFf ".to_vec()), Ok(vec![255]));
    }

    #[test]
    fn invalid_text_is_reported_with_its_encoding() {
        for (name, text) in [
            ("i8", "128"),
            ("i8", "-129"),
            ("u16", "65536"),
            ("u8", "-1"),
            ("i32", "x"),
            ("i32", ""),
            ("hex", "0"),
            ("hex", "zz"),
            ("hex", "+1"),
            ("base64", "?"),
        ] {
            let words = encoding(name).encode(text.into()).unwrap_err().to_string();
            assert_eq!(words, format!("'{text}' does not fit the encoding {name}"));
        }
        assert_eq!(encoding("i32").decode(b"12345"), None);
        assert_eq!(encoding("text").decode(b"\xff"), None);
    }

    #[test]
    fn an_encoding_applies_to_keys_or_values_or_both() {
        let of = |texts: &[&str]| {
            let parts = texts.iter().map(|text| text.parse()).collect::<Result<_, String>>()?;
            let encodings = Encodings { parts };
            Ok::<_, String>((encodings.of_key(), encodings.of_value()))
        };
        assert_eq!(of(&[]), Ok((Encoding::Text, Encoding::Text)));
        assert_eq!(of(&["key=i64"]), Ok((Encoding::I64, Encoding::Text)));
        assert_eq!(of(&["i64", "value=hex"]), Ok((Encoding::I64, Encoding::Hex)));
        assert!(of(&["kay=i64"]).unwrap_err().contains("neither key nor value"));
        for name in ["i7", "x", "", "=i64"] {
            assert!(of(&[name]).is_err(), "{name}");
        }
        assert!(of(&["i7"]).unwrap_err().contains("u64, f32, f64"));
    }
}
