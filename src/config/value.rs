//! The text forms of values, and the bounds of numbers.

use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use crate::config::{ByteSize, Kind};
use crate::types::BrokerId;

/// A value of a setting.
pub trait SettingValue: Sized {
    /// Parses the text form.
    ///
    /// # Errors
    /// A description of the valid values.
    fn parse(text: &str) -> Result<Self, String>;

    /// The text form, which [`Self::parse`] reads back.
    fn show(&self) -> String;
}

/// A value that is a number in the unit of its setting.
pub trait Number: Sized {
    /// The smallest number of a setting without a lower bound.
    const LEAST: i64 = 0;

    /// Parses a number.
    fn read(text: &str) -> Option<i64> {
        text.parse().ok()
    }

    /// The value for a number; `None` if the type cannot hold it.
    fn from_number(number: i64) -> Option<Self>;

    /// The number for the value.
    fn number(&self) -> i64;

    /// Returns true if a setting accepts this number whatever its bounds.
    fn is_exempt(_number: i64) -> bool {
        false
    }

    /// A description of the valid numbers; `range` is empty, or a text such as ` from 1 to 5`.
    fn expected(range: &str) -> String {
        format!("a whole number{range}")
    }
}

impl<T: Number> SettingValue for T {
    fn parse(text: &str) -> Result<Self, String> {
        within(text, Kind::Long, ..)
    }

    fn show(&self) -> String {
        self.number().to_string()
    }
}

/// Parses a number that must lie within `bounds`; without an upper bound, it must not exceed the
/// largest number of `kind`.
///
/// # Errors
/// A description of the valid values.
pub fn within<T: Number>(
    text: &str,
    kind: Kind,
    bounds: impl RangeBounds<i64>,
) -> Result<T, String> {
    let least = match bounds.start_bound() {
        Bound::Included(least) => *least,
        Bound::Excluded(below) => below.saturating_add(1),
        Bound::Unbounded => T::LEAST,
    };
    let most = match bounds.end_bound() {
        Bound::Included(most) => *most,
        Bound::Excluded(above) => above.saturating_sub(1),
        Bound::Unbounded => kind.largest(),
    };
    let is_valid = |number: &i64| (least..=most).contains(number) || T::is_exempt(*number);
    let value = T::read(text.trim()).filter(is_valid).and_then(T::from_number);
    value.ok_or_else(|| match (least, most) {
        (i64::MIN, i64::MAX) => T::expected(""),
        (least, i64::MAX) => T::expected(&format!(" from {least}")),
        (least, most) => T::expected(&format!(" from {least} to {most}")),
    })
}

macro_rules! whole_numbers {
    ($($type:ty: $least:expr),+) => {
        $(impl Number for $type {
            const LEAST: i64 = $least;

            fn from_number(number: i64) -> Option<Self> {
                number.try_into().ok()
            }

            fn number(&self) -> i64 {
                i64::try_from(*self).unwrap_or(i64::MAX)
            }
        })+
    };
}

whole_numbers!(i16: -32_768, i32: -2_147_483_648, u64: 0, usize: 0);

impl Number for BrokerId {
    fn from_number(number: i64) -> Option<Self> {
        number.try_into().ok().map(Self)
    }

    fn number(&self) -> i64 {
        self.0.into()
    }
}

impl Number for ByteSize {
    fn read(text: &str) -> Option<i64> {
        i64::try_from(text.parse::<Self>().ok()?.0).ok()
    }

    fn from_number(number: i64) -> Option<Self> {
        number.try_into().ok().map(Self)
    }

    fn number(&self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    fn expected(range: &str) -> String {
        format!("a number of bytes{range}, or a size such as '1 MiB'")
    }
}

/// The number is in milliseconds.
impl Number for Duration {
    fn from_number(number: i64) -> Option<Self> {
        number.try_into().ok().map(Self::from_millis)
    }

    fn number(&self) -> i64 {
        i64::try_from(self.as_millis()).unwrap_or(i64::MAX)
    }

    fn expected(range: &str) -> String {
        format!("a number of milliseconds{range}")
    }
}

/// A time in whole minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minutes(pub u32);

impl From<Minutes> for Duration {
    fn from(minutes: Minutes) -> Self {
        Self::from_mins(minutes.0.into())
    }
}

impl Number for Minutes {
    fn from_number(number: i64) -> Option<Self> {
        number.try_into().ok().map(Self)
    }

    fn number(&self) -> i64 {
        self.0.into()
    }

    fn expected(range: &str) -> String {
        format!("a number of minutes{range}")
    }
}

/// −1 is `None`, whatever the bounds.
impl<T: Number> Number for Option<T> {
    const LEAST: i64 = T::LEAST;

    fn read(text: &str) -> Option<i64> {
        if text == "-1" { Some(-1) } else { T::read(text) }
    }

    fn from_number(number: i64) -> Option<Self> {
        if number == -1 { Some(None) } else { T::from_number(number).map(Some) }
    }

    fn number(&self) -> i64 {
        self.as_ref().map_or(-1, T::number)
    }

    fn is_exempt(number: i64) -> bool {
        number == -1
    }

    fn expected(range: &str) -> String {
        format!("{}, or -1", T::expected(range))
    }
}

impl SettingValue for bool {
    fn parse(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|_| "true or false".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// Empty is `None`.
impl SettingValue for Option<bool> {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() { Ok(None) } else { bool::parse(text).map(Some) }
    }

    fn show(&self) -> String {
        self.map(|is_on| is_on.to_string()).unwrap_or_default()
    }
}

impl SettingValue for String {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

/// Empty is `None`.
impl SettingValue for Option<String> {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    fn show(&self) -> String {
        self.clone().unwrap_or_default()
    }
}

/// A fraction.
impl SettingValue for f64 {
    fn parse(text: &str) -> Result<Self, String> {
        let number = text.trim().parse().ok().filter(|number| (0.0..=1.0).contains(number));
        number.ok_or_else(|| "a number from 0 to 1, such as 0.5".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// The value of a setting that can only be false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlwaysFalse;

impl SettingValue for AlwaysFalse {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "false" => Ok(Self),
            _ => Err("false, the only value there is".to_owned()),
        }
    }

    fn show(&self) -> String {
        false.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn refusal<T: Number + Debug>(text: &str, bounds: impl RangeBounds<i64>) -> String {
        within::<T>(text, Kind::Int, bounds).unwrap_err()
    }

    #[test]
    fn a_number_out_of_its_bounds_or_its_kind_is_refused_with_both() {
        assert_eq!(within(" 7 ", Kind::Int, 1..=7), Ok(7_usize));
        assert_eq!(refusal::<usize>("8", 1..=7), "a whole number from 1 to 7");
        assert_eq!(refusal::<i32>("x", ..), "a whole number from -2147483648 to 2147483647");
        assert_eq!(refusal::<u64>("-1", 0..8), "a whole number from 0 to 7");
        let words = "a number of milliseconds from 5 to 2147483647";
        assert_eq!(refusal::<Duration>("2147483648", 5..), words);
        let largest = Duration::from_millis(2_147_483_648);
        assert_eq!(within("2147483648", Kind::Long, 5..), Ok(largest));
        assert_eq!(Duration::parse("-1"), Err("a number of milliseconds from 0".to_owned()));
    }

    #[test]
    fn sizes_have_units_and_minus_one_may_stand_for_none() {
        let bounds = 1 << 20..=1 << 30;
        assert_eq!(within("1 MiB", Kind::Long, bounds.clone()), Ok(ByteSize(1 << 20)));
        assert_eq!(within("-1", Kind::Long, bounds.clone()), Ok(None::<ByteSize>));
        let words = "a number of bytes from 1048576 to 1073741824, or a size such as '1 MiB'";
        assert_eq!(refusal::<ByteSize>("-1", bounds.clone()), words);
        assert_eq!(refusal::<Option<ByteSize>>("1", bounds), format!("{words}, or -1"));
        assert!(ByteSize::parse("9223372036854775808").is_err());
        assert_eq!(None::<Duration>.show(), "-1");
        assert_eq!(Minutes::parse("90").map(Duration::from), Ok(Duration::from_mins(90)));
    }
}
