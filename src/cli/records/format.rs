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

    fn write(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
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
            Self::Key => out.write_all(message.key().unwrap_or_default()),
            Self::KeyLength => out.write_all(length(message.key()).as_bytes()),
            Self::Value => out.write_all(message.value().unwrap_or_default()),
            Self::ValueLength => out.write_all(length(message.value()).as_bytes()),
            Self::BinaryLength => {
                let length = message.value().map(|value| i32::try_from(value.len()));
                out.write_all(&length.map_or(-1, |length| length.unwrap_or(i32::MAX)).to_be_bytes())
            }
            Self::Headers => write_headers(out, message),
        }
    }
}

impl Format {
    /// Writes a message.
    pub(super) fn write(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
        self.0.iter().try_for_each(|piece| piece.write(out, message))
    }
}

fn write_headers(out: &mut dyn Write, message: &Message) -> io::Result<()> {
    for (number, header) in message.headers().enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        out.write_all(header.key)?;
        out.write_all(b"=")?;
        out.write_all(header.value.unwrap_or_default())?;
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
    fn what_stands_for_nothing_is_named() {
        assert!("%x".parse::<Format>().unwrap_err().contains("%x"));
        assert!("%".parse::<Format>().is_err());
        assert!("\\x".parse::<Format>().unwrap_err().contains("\\x"));
    }
}
