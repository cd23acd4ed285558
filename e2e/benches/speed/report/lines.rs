//! Single lines, for what has no table.

use super::statistics::milliseconds;
use std::time::Duration;

/// A line of the report.
pub(crate) fn report(what: &str, duration: Duration) {
    println!("  {what:<66} {:>9.2} ms", milliseconds(duration));
}

/// A ratio of the report, with what we aim at.
pub(crate) fn ratio(what: &str, one: Duration, other: Duration, aim: &str) {
    println!("  {what:<66} {:>9.2} x   (aim: {aim})", one.as_secs_f64() / other.as_secs_f64());
}
