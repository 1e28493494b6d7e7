//! How a message is written as text: kcat's and rpk's letters after a percent sign.
//!
//! | letters | stand for |
//! |---|---|
//! | `%t` `%p` `%o` | topic, partition, offset |
//! | `%T` `%d` | timestamp in milliseconds, time as `2026-11-01T08:00:00Z` |
//! | `%k` `%K` | key, its length (−1 without a key) |
//! | `%s` or `%v`, `%S` or `%V` | value, its length (−1 for a tombstone) |
//! | `%R` | the length of the value as four bytes, the highest first |
//! | `%h` | headers as `name=value`, with commas between |
//! | `%%` `\n` `\t` `\r` `\0` `\\` | themselves |
//! | `\x1f` | the byte of this hexadecimal number |

use std::io::{self, Write};
use std::str::{Chars, FromStr};

use clap::ValueEnum;

use crate::cli::output::Output;
use crate::client::Message;

/// What may stand after a percent sign, for errors.
const LETTERS: &str = "%t %p %o %T %d %k %K %s %S %R %h";

/// A format, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Topic,
    Partition,
    Offset,
    Timestamp,
    Time,
    Key,
    KeyLength,
    Value,
    ValueLength,
    BinaryLength,
    Headers,
}

/// Bytes as people type them, with escapes; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Escaped(pub(super) Vec<u8>);

impl FromStr for Escaped {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut bytes, mut letters) = (Vec::new(), text.chars());
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => bytes.push(escaped(&mut letters)?),
                other => bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if bytes.is_empty() { Err("expected a text".to_owned()) } else { Ok(Self(bytes)) }
    }
}

/// The look of bytes that are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    /// Themselves, for programs.
    Raw,
    /// `0x` and two digits for each, for people: a terminal would take them for commands.
    Hex,
}

impl Bytes {
    fn write(self, out: &mut dyn Write, part: Option<&[u8]>) -> io::Result<()> {
        let part = part.unwrap_or_default();
        if self == Self::Raw || str::from_utf8(part).is_ok() {
            return out.write_all(part);
        }
        out.write_all(b"0x")?;
        part.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl Default for Format {
    fn default() -> Self {
        Self(vec![Piece::Value, Piece::Text(b"\n".to_vec())])
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '%' => {
                    let Some(piece) = Piece::of(letters.next(), &mut plain)? else { continue };
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(piece);
                }
                '\\' => plain.push(escaped(&mut letters)?),
                other => plain.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if pieces.is_empty() {
            return Err(letterless(text));
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }
}

impl Piece {
    /// What a letter stands for; `None` for a percent sign, which goes to `plain`.
    fn of(letter: Option<char>, plain: &mut Vec<u8>) -> Result<Option<Self>, String> {
        Ok(Some(match letter {
            Some('t') => Self::Topic,
            Some('p') => Self::Partition,
            Some('o') => Self::Offset,
            Some('T') => Self::Timestamp,
            Some('d') => Self::Time,
            Some('k') => Self::Key,
            Some('K') => Self::KeyLength,
            Some('s' | 'v') => Self::Value,
            Some('S' | 'V') => Self::ValueLength,
            Some('R') => Self::BinaryLength,
            Some('h') => Self::Headers,
            Some('%') => {
                plain.push(b'%');
                return Ok(None);
            }
            Some(other) => {
                return Err(format!("%{other} stands for nothing: use {LETTERS} or %%"));
            }
            None => return Err("a letter is missing after %".to_owned()),
        }))
    }

    fn write(&self, out: &mut dyn Write, message: &Message, bytes: Bytes) -> io::Result<()> {
        let length = |bytes: Option<&[u8]>| bytes.map_or("-1".to_owned(), |b| b.len().to_string());
        match self {
            Self::Text(text) => out.write_all(text),
            Self::Topic => write!(out, "{}", message.topic()),
            Self::Partition => write!(out, "{}", message.partition().0),
            Self::Offset => write!(out, "{}", message.offset()),
            Self::Timestamp => write!(out, "{}", message.timestamp()),
            Self::Time => match jiff::Timestamp::from_millisecond(message.timestamp().millis()) {
                Ok(time) => write!(out, "{time}"),
                Err(_) => write!(out, "-"),
            },
            Self::Key => bytes.write(out, message.key()),
            Self::KeyLength => out.write_all(length(message.key()).as_bytes()),
            Self::Value => bytes.write(out, message.value()),
            Self::ValueLength => out.write_all(length(message.value()).as_bytes()),
            Self::BinaryLength => {
                let length = message.value().map(|value| i32::try_from(value.len()));
                out.write_all(&length.map_or(-1, |length| length.unwrap_or(i32::MAX)).to_be_bytes())
            }
            Self::Headers => write_headers(out, message, bytes),
        }
    }
}

impl Format {
    /// Writes a message.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        message: &Message,
        bytes: Bytes,
    ) -> io::Result<()> {
        self.0.iter().try_for_each(|piece| piece.write(out, message, bytes))
    }
}

/// Why a format without a letter is none.
fn letterless(text: &str) -> String {
    match Output::from_str(text, true) {
        Ok(_) => format!("`-o {text}` writes {text}; a format has letters as in '%k: %s\\n'"),
        Err(_) => format!("no letter stands in it, so that all records look the same: {LETTERS}"),
    }
}

fn write_headers(out: &mut dyn Write, message: &Message, bytes: Bytes) -> io::Result<()> {
    for (number, header) in message.headers().enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        bytes.write(out, Some(header.key))?;
        out.write_all(b"=")?;
        bytes.write(out, header.value)?;
    }
    Ok(())
}

/// The byte that stands after a backslash.
fn escaped(letters: &mut Chars<'_>) -> Result<u8, String> {
    match letters.next() {
        Some('n') => Ok(b'\n'),
        Some('t') => Ok(b'\t'),
        Some('r') => Ok(b'\r'),
        Some('0') => Ok(b'\0'),
        Some('\\') => Ok(b'\\'),
        Some('x') => {
            let digits: String = letters.take(2).collect();
            let is_byte = digits.len() == 2 && !digits.starts_with('+');
            let byte = u8::from_str_radix(&digits, 16).ok().filter(|_| is_byte);
            byte.ok_or_else(|| format!("\\x{digits} is no byte: it takes two hexadecimal digits"))
        }
        Some(other) => {
            Err(format!("\\{other} stands for nothing: use \\n \\t \\r \\0 \\x1f or \\\\"))
        }
        None => Err("a letter is missing after \\".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_escapes_are_told_from_text() {
        let format: Format = "%t/%p: %s 100%%\\n".parse().unwrap();
        let expected = [
            Piece::Topic,
            Piece::Text(b"/".to_vec()),
            Piece::Partition,
            Piece::Text(b": ".to_vec()),
            Piece::Value,
            Piece::Text(b" 100%\n".to_vec()),
        ];
        assert_eq!(format.0, expected);
    }

    #[test]
    fn any_byte_can_be_written_by_its_number() {
        let format: Format = "\\x1f%R\\xFF".parse().unwrap();
        let expected = [Piece::Text(vec![0x1f]), Piece::BinaryLength, Piece::Text(vec![0xff])];
        assert_eq!(format.0, expected);
        assert!("\\xg1".parse::<Format>().unwrap_err().contains("\\xg1"));
        assert!("\\x1".parse::<Format>().is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_to_people_as_digits() {
        let shown = |bytes: Bytes, part: &[u8]| {
            let mut out = Vec::new();
            bytes.write(&mut out, Some(part)).unwrap();
            out
        };
        assert_eq!(shown(Bytes::Hex, b"\xff\x00a"), b"0xff0061");
        assert_eq!(shown(Bytes::Hex, "ü".as_bytes()), "ü".as_bytes());
        assert_eq!(shown(Bytes::Raw, b"\xff"), b"\xff");
    }

    #[test]
    fn what_stands_for_nothing_is_named() {
        assert!("%x".parse::<Format>().unwrap_err().contains("%x"));
        assert!("%".parse::<Format>().is_err());
        assert!("json".parse::<Format>().unwrap_err().contains("`-o json`"));
        assert!("x\\n".parse::<Format>().unwrap_err().contains("%s"));
        assert_eq!("\\n--\\x00".parse(), Ok(Escaped(b"\n--\0".to_vec())));
        assert!("\\x".parse::<Format>().unwrap_err().contains("\\x"));
    }
}
