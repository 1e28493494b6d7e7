//! Byte sizes in text form.

use std::fmt;
use std::str::FromStr;

/// A number of bytes: `1048576`, `1 MiB`, `64MB`, `2g`. Units are always binary, as Kafka's
/// defaults are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err("a size such as 1048576 or '1 MiB'".to_owned()),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(1 << shift))
            .map(Self)
            .ok_or_else(|| "a size such as 1048576 or '1 MiB'".to_owned())
    }
}

/// Formats as the plain number of bytes, which every reader of a configuration understands.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, bytes) in [("0", 0), ("1048576", 1 << 20), ("64 MiB", 64 << 20), ("2g", 2 << 30)]
        {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)));
        }
        for text in ["", "MiB", "-1", "1 XB", "99999999999 TiB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text:?} passed");
        }
    }
}
