//! How a message is written as text: kcat's and rpk's letters after a percent sign.
//!
//! | letters | stand for |
//! |---|---|
//! | `%t` `%p` `%o` | topic, partition, offset |
//! | `%T` `%d` | timestamp in milliseconds, time as `2026-11-01T08:00:00Z` |
//! | `%k` `%K` | key, its length (−1 without a key) |
//! | `%s` or `%v`, `%S` or `%V` | value, its length (−1 for a tombstone) |
//! | `%h` | headers as `name=value`, with commas between |
//! | `%%` `\n` `\t` `\r` `\0` `\\` | themselves |

use std::io::{self, Write};
use std::str::FromStr;

use crate::client::Message;

/// A format, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Topic,
    Partition,
    Offset,
    Timestamp,
    Time,
    Key,
    KeyLength,
    Value,
    ValueLength,
    Headers,
}

impl Default for Format {
    fn default() -> Self {
        Self(vec![Piece::Value, Piece::Text("\n".to_owned())])
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
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
                '\\' => plain.push(escaped(letters.next())?),
                other => plain.push(other),
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
    fn of(letter: Option<char>, plain: &mut String) -> Result<Option<Self>, String> {
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
            Some('h') => Self::Headers,
            Some('%') => {
                plain.push('%');
                return Ok(None);
            }
            Some(other) => {
                return Err(format!(
                    "%{other} stands for nothing: use %t %p %o %T %d \
                                               %k %K %s %S %h or %%"
                ));
            }
            None => return Err("a letter is missing after %".to_owned()),
        }))
    }

    fn write(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
        let length = |bytes: Option<&[u8]>| bytes.map_or("-1".to_owned(), |b| b.len().to_string());
        match self {
            Self::Text(text) => out.write_all(text.as_bytes()),
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

fn escaped(letter: Option<char>) -> Result<char, String> {
    match letter {
        Some('n') => Ok('\n'),
        Some('t') => Ok('\t'),
        Some('r') => Ok('\r'),
        Some('0') => Ok('\0'),
        Some('\\') => Ok('\\'),
        Some(other) => Err(format!("\\{other} stands for nothing: use \\n \\t \\r \\0 or \\\\")),
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
            Piece::Text("/".to_owned()),
            Piece::Partition,
            Piece::Text(": ".to_owned()),
            Piece::Value,
            Piece::Text(" 100%\n".to_owned()),
        ];
        assert_eq!(format.0, expected);
    }

    #[test]
    fn what_stands_for_nothing_is_named() {
        assert!("%x".parse::<Format>().unwrap_err().contains("%x"));
        assert!("%".parse::<Format>().is_err());
        assert!("\\x".parse::<Format>().unwrap_err().contains("\\x"));
    }
}
