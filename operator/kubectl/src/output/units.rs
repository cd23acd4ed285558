//! Numbers with units, for users. Pure.

/// The prefixes of the International System of Units, each a thousand times the one before.
const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
/// Numbers below are exact.
const EXACT: u64 = 10_000;

/// Returns a number of bytes, such as `1.5 MB`.
pub(crate) fn bytes(number: u64) -> String {
    let (number, prefix) = scaled(number, 1000);
    format!("{number} {prefix}B")
}

/// Returns a count, such as `1234` or `12.3k`.
pub(crate) fn counted(number: u64) -> String {
    let (number, prefix) = scaled(number, EXACT);
    number + prefix
}

/// Returns three digits of a number and their prefix; all digits of one below `exact`.
fn scaled(number: u64, exact: u64) -> (String, &'static str) {
    if number < exact {
        return (number.to_string(), "");
    }
    let mut unit: u64 = 1;
    let mut prefixes = PREFIXES.into_iter();
    let mut prefix = prefixes.next().unwrap_or_default();
    // 999.5 is rounded to the next prefix.
    while let Some(next) =
        (number / unit >= 1000 || u128::from(number) * 2 >= u128::from(unit) * 1999).then(|| prefixes.next()).flatten()
    {
        (unit, prefix) = (unit.saturating_mul(1000), next);
    }
    let tenths = (u128::from(number) * 10 + u128::from(unit) / 2) / u128::from(unit);
    let text = match tenths {
        0..1000 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => ((u128::from(number) + u128::from(unit) / 2) / u128::from(unit)).to_string(),
    };
    (text, prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1500, "1.5 kB"),
            (1_500_336, "1.5 MB"),
            (123_456_789, "123 MB"),
            (999_600, "1.0 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(number), text, "{number}");
        }
        assert_eq!([9999, 10_000, 12_345_678].map(counted), ["9999", "10.0k", "12.3M"]);
    }
}
