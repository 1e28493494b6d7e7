//! Text formats of messages, with the percent letters of kcat and rpk.
//!
//! | letters | meaning |
//! |---|---|
//! | `%t` `%p` `%o` | topic, partition, offset |
//! | `%T` `%d` | timestamp in milliseconds, time as `2026-11-01T08:00:00Z` (`-` without one) |
//! | `%k` `%K` | key, its length (−1 without a key) |
//! | `%s` or `%v`, `%S` or `%V` | value, its length (−1 for a tombstone) |
//! | `%k{i64}` `%v{hex}` | key or value in this encoding |
//! | `%R` | the length of the value as four bytes, the highest first |
//! | `%h` | headers as `name=value`, with commas between |
//! | `%%` `\\` | a percent sign, a backslash |
//! | `\n` `\t` `\r` `\0` | newline, tab, carriage return, a zero byte |
//! | `\x1f` | the byte of this hexadecimal number |

use std::io::{self, Write};
use std::str::{Chars, FromStr};

use clap::{Args, ValueEnum};
use jiff::SignedDuration;

use crate::cli::output::Output;
use crate::cli::position::UNIX_EPOCH;
use crate::cli::records::encoding::{Encoding, Encodings, Hex};
use crate::client::Message;
use crate::types::Timestamp;

/// The percent letters, for error messages.
const LETTERS: &str = "%t %p %o %T %d %k %K %s %S %R %h";

/// Options for the text form of a record.
#[derive(Debug, Args)]
pub(super) struct Shape {
    /// Text after each record instead of a newline; supports the escapes \n, \t, \0 and \x1f
    #[arg(short = 'D', long, value_name = "TEXT", conflicts_with_all = ["format", "output"])]
    delimiter: Option<Escaped>,
    #[command(flatten)]
    encodings: Encodings,
}

/// A parsed format.
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
    Key(Option<Encoding>),
    KeyLength,
    Value(Option<Encoding>),
    ValueLength,
    BinaryLength,
    Headers,
}

/// Non-empty bytes typed as text with escapes.
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

/// The presentation of keys, values and headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) key: Encoding,
    pub(super) value: Encoding,
    /// True if bytes that are not UTF-8 are shown as digits: a terminal could take them for control
    /// sequences.
    is_for_people: bool,
}

impl Shape {
    /// The default format: the value, followed by the delimiter.
    pub(super) fn format(&self) -> Format {
        let delimiter = self.delimiter.as_ref().map_or(b"\n".to_vec(), |text| text.0.clone());
        Format(vec![Piece::Value(None), Piece::Text(delimiter)])
    }

    /// The presentation on a terminal or elsewhere.
    pub(super) fn look(&self, is_terminal: bool) -> Look {
        let (key, value) = (self.encodings.of_key(), self.encodings.of_value());
        Look { key, value, is_for_people: is_terminal }
    }
}

impl Look {
    /// Writes bytes in their encoding, or as `0x` and hexadecimal digits.
    fn write(
        &self,
        out: &mut dyn Write,
        encoding: Encoding,
        part: Option<&[u8]>,
    ) -> io::Result<()> {
        let Some(part) = part else { return Ok(()) };
        if encoding == Encoding::Text && !self.is_for_people {
            return out.write_all(part);
        }
        match encoding.decode(part) {
            Some(text) => out.write_all(text.as_bytes()),
            None => write!(out, "0x{}", Hex(part)),
        }
    }

    fn write_headers(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
        for (number, header) in message.headers().enumerate() {
            if number > 0 {
                out.write_all(b",")?;
            }
            self.write(out, Encoding::Text, Some(header.key))?;
            out.write_all(b"=")?;
            self.write(out, Encoding::Text, header.value)?;
        }
        Ok(())
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
                    let Some(piece) = Piece::of(&mut letters, &mut plain)? else { continue };
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
    /// Parses the piece after a percent sign; `None` for `%%`, whose sign is appended to `plain`.
    fn of(letters: &mut Chars<'_>, plain: &mut Vec<u8>) -> Result<Option<Self>, String> {
        Ok(Some(match letters.next() {
            Some('t') => Self::Topic,
            Some('p') => Self::Partition,
            Some('o') => Self::Offset,
            Some('T') => Self::Timestamp,
            Some('d') => Self::Time,
            Some('k') => Self::Key(braced(letters)?),
            Some('K') => Self::KeyLength,
            Some('s' | 'v') => Self::Value(braced(letters)?),
            Some('S' | 'V') => Self::ValueLength,
            Some('R') => Self::BinaryLength,
            Some('h') => Self::Headers,
            Some('%') => {
                plain.push(b'%');
                return Ok(None);
            }
            Some(other) => {
                return Err(format!("%{other} has no meaning: use {LETTERS} or %%"));
            }
            None => return Err("a letter is missing after %".to_owned()),
        }))
    }

    fn write(&self, out: &mut dyn Write, message: &Message, look: &Look) -> io::Result<()> {
        let length = |bytes: Option<&[u8]>| bytes.map_or("-1".to_owned(), |b| b.len().to_string());
        match self {
            Self::Text(text) => out.write_all(text),
            Self::Topic => write!(out, "{}", message.topic()),
            Self::Partition => write!(out, "{}", message.partition().0),
            Self::Offset => write!(out, "{}", message.offset()),
            Self::Timestamp => write!(out, "{}", message.timestamp()),
            Self::Time => out.write_all(time(message.timestamp()).as_bytes()),
            Self::Key(named) => look.write(out, named.unwrap_or(look.key), message.key()),
            Self::KeyLength => out.write_all(length(message.key()).as_bytes()),
            Self::Value(named) => look.write(out, named.unwrap_or(look.value), message.value()),
            Self::ValueLength => out.write_all(length(message.value()).as_bytes()),
            Self::BinaryLength => {
                let length = message.value().map(|value| i32::try_from(value.len()));
                out.write_all(&length.map_or(-1, |length| length.unwrap_or(i32::MAX)).to_be_bytes())
            }
            Self::Headers => look.write_headers(out, message),
        }
    }
}

impl Format {
    /// Writes a message.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        message: &Message,
        look: &Look,
    ) -> io::Result<()> {
        self.0.iter().try_for_each(|piece| piece.write(out, message, look))
    }
}

/// The time of a record; `-` if it has none, or one that no calendar shows.
fn time(timestamp: Timestamp) -> String {
    let time = Some(timestamp).filter(|timestamp| *timestamp != Timestamp::NONE);
    let time = time.and_then(|time| {
        let since_1970 = SignedDuration::from_millis(time.millis());
        UNIX_EPOCH.checked_add(since_1970).ok()
    });
    time.map_or_else(|| "-".to_owned(), |time| format!("{time}Z"))
}

/// The error for a format without letters.
fn letterless(text: &str) -> String {
    match Output::from_str(text, true) {
        Ok(_) => format!("`-o {text}` writes {text}; a format has letters as in '%k: %s\\n'"),
        Err(_) => {
            format!("it has no letter after %, so all records would look the same: {LETTERS}")
        }
    }
}

/// Parses an encoding in braces, if there is one.
fn braced(letters: &mut Chars<'_>) -> Result<Option<Encoding>, String> {
    let Some(rest) = letters.as_str().strip_prefix('{') else { return Ok(None) };
    let (name, after) =
        rest.split_once('}').ok_or_else(|| format!("a closing brace is missing: {{{rest}"))?;
    *letters = after.chars();
    name.parse().map(Some)
}

/// Parses the byte after a backslash.
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
            byte.ok_or_else(|| format!("\\x{digits} is not a byte: use two hexadecimal digits"))
        }
        Some(other) => Err(format!("\\{other} has no meaning: use \\n \\t \\r \\0 \\x1f or \\\\")),
        None => Err("a letter is missing after \\".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_escapes_are_distinguished_from_text() {
        let format: Format = "%t/%p: %s 100%%\\n".parse().unwrap();
        let expected = [
            Piece::Topic,
            Piece::Text(b"/".to_vec()),
            Piece::Partition,
            Piece::Text(b": ".to_vec()),
            Piece::Value(None),
            Piece::Text(b" 100%\n".to_vec()),
        ];
        assert_eq!(format.0, expected);
    }

    #[test]
    fn any_byte_can_be_written_in_hexadecimal() {
        let format: Format = "\\x1f%R\\xFF".parse().unwrap();
        let expected = [Piece::Text(vec![0x1f]), Piece::BinaryLength, Piece::Text(vec![0xff])];
        assert_eq!(format.0, expected);
        assert!("\\xg1".parse::<Format>().unwrap_err().contains("\\xg1"));
        assert!("\\x1".parse::<Format>().is_err());
    }

    #[test]
    fn a_letter_may_have_an_encoding() {
        let format: Format = "%k{i64}{%v{hex}".parse().unwrap();
        let expected = [
            Piece::Key(Some(Encoding::I64)),
            Piece::Text(b"{".to_vec()),
            Piece::Value(Some(Encoding::Hex)),
        ];
        assert_eq!(format.0, expected);
        assert!("%v{i7}".parse::<Format>().unwrap_err().contains("i64"));
        assert!("%v{hex".parse::<Format>().unwrap_err().contains("{hex"));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_shown_as_digits_on_a_terminal() {
        let shown = |is_for_people: bool, encoding: Encoding, part: &[u8]| {
            let look = Look { key: Encoding::Text, value: Encoding::Text, is_for_people };
            let mut out = Vec::new();
            look.write(&mut out, encoding, Some(part)).unwrap();
            out
        };
        assert_eq!(shown(true, Encoding::Text, b"\xff\x00a"), b"0xff0061");
        assert_eq!(shown(true, Encoding::Text, "ü".as_bytes()), "ü".as_bytes());
        assert_eq!(shown(false, Encoding::Text, b"\xff"), b"\xff");
        assert_eq!(shown(false, Encoding::I16, b"\x01\x02"), b"258");
        assert_eq!(shown(false, Encoding::I16, b"\xff"), b"0xff");
    }

    #[test]
    fn a_record_without_a_timestamp_has_no_time() {
        assert_eq!(time(Timestamp::from_millis(0)), "1970-01-01T00:00:00Z");
        assert_eq!(time(Timestamp::from_millis(-2)), "1969-12-31T23:59:59.998Z");
        let last = 253_402_300_799_999;
        assert_eq!(time(Timestamp::from_millis(last)), "9999-12-31T23:59:59.999Z");
        assert_eq!(time(Timestamp::from_millis(last + 1)), "-");
        for none in [Timestamp::NONE, Timestamp::from_millis(i64::MAX)] {
            assert_eq!(time(none), "-");
        }
    }

    #[test]
    fn an_invalid_letter_or_escape_is_named() {
        assert!("%x".parse::<Format>().unwrap_err().contains("%x"));
        assert!("%".parse::<Format>().is_err());
        assert!("json".parse::<Format>().unwrap_err().contains("`-o json`"));
        assert!("x\\n".parse::<Format>().unwrap_err().contains("%s"));
        assert_eq!("\\n--\\x00".parse(), Ok(Escaped(b"\n--\0".to_vec())));
        assert!("\\x".parse::<Format>().unwrap_err().contains("\\x"));
    }
}
