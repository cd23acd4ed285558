//! Validated numbers: the form in which their types are written, and ranges that depend on the
//! engine.

use std::fmt;

/// Why a number was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value} is out of range: use {minimum} to {maximum}")]
pub struct OutOfRange {
    pub(crate) what: &'static str,
    pub(crate) value: i64,
    pub(crate) minimum: u32,
    pub(crate) maximum: u32,
}

/// The values of a number that one engine accepts, of those that its type has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineRange {
    pub minimum: u16,
    pub maximum: u16,
    /// All values are multiples of it.
    pub step: u16,
    /// What is counted, as `seconds`.
    pub unit: &'static str,
}

impl EngineRange {
    /// Whether the engine accepts a number.
    pub fn contains(self, number: i64) -> bool {
        let fits = |number: u16| (self.minimum..=self.maximum).contains(&number) && number.is_multiple_of(self.step);
        u16::try_from(number).is_ok_and(fits)
    }
}

impl fmt::Display for EngineRange {
    /// What the engine does, and what to do: the rest of a sentence after its name.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minimum, maximum, step, unit } = self;
        match (step, *unit) {
            (1, _) => write!(formatter, "takes {minimum} to {maximum} {unit}"),
            (60, "seconds") => {
                write!(formatter, "counts minutes: use a multiple of 60 from {minimum} to {maximum}")
            }
            _ => write!(formatter, "takes multiples of {step} {unit}: use one from {minimum} to {maximum}"),
        }
    }
}

/// A type of numbers, of 16 bits unless it says otherwise, with a range, which the CRD's schema
/// has, too.
macro_rules! number {
    ($(#[$docs:meta])* $name:ident, $what:literal, $minimum:literal, $maximum:literal) => {
        $crate::types::number::number!($(#[$docs])* $name: u16, $what, $minimum, $maximum);
    };
    ($(#[$docs:meta])* $name:ident: $bits:ty, $what:literal, $minimum:literal, $maximum:literal) => {
        $(#[$docs])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $name($bits);

        impl $name {
            pub const MINIMUM: $bits = $minimum;
            pub const MAXIMUM: $bits = $maximum;

            pub const fn get(self) -> $bits {
                self.0
            }
        }

        impl TryFrom<i64> for $name {
            type Error = $crate::types::number::OutOfRange;
            fn try_from(value: i64) -> Result<Self, Self::Error> {
                match <$bits>::try_from(value) {
                    Ok(number) if (Self::MINIMUM..=Self::MAXIMUM).contains(&number) => Ok(Self(number)),
                    _ => Err($crate::types::number::OutOfRange { what: $what, value, minimum: $minimum, maximum: $maximum }),
                }
            }
        }

        impl From<$name> for i64 {
            fn from(number: $name) -> Self {
                Self::from(number.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(formatter)
            }
        }

        #[cfg(feature = "api")]
        $crate::types::number::number_schema!($name);
    };
}

/// The schema of a type of numbers, with its `MINIMUM` and `MAXIMUM`.
#[cfg(feature = "api")]
macro_rules! number_schema {
    ($name:ident) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "integer", "format": "int64", "minimum": Self::MINIMUM, "maximum": Self::MAXIMUM
                })
            }
        }
    };
}

pub(crate) use number;
#[cfg(feature = "api")]
pub(crate) use number_schema;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_an_engine_says_which_numbers_it_contains() {
        let seconds = |minimum, maximum, step| EngineRange { minimum, maximum, step, unit: "seconds" };
        let minutes = seconds(60, 15_300, 60);
        assert!([60, 120, 15_300].into_iter().all(|number| minutes.contains(number)));
        assert!(![0, 59, 61, 15_360, -60, 65_536 + 64].into_iter().any(|number| minutes.contains(number)));
        assert_eq!(minutes.to_string(), "counts minutes: use a multiple of 60 from 60 to 15300");
        assert_eq!(seconds(15, 3600, 1).to_string(), "takes 15 to 3600 seconds");
        assert_eq!(seconds(10, 90, 10).to_string(), "takes multiples of 10 seconds: use one from 10 to 90");
    }
}
