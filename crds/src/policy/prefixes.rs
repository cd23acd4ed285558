//! Blocks of addresses with exceptions, as the prefixes of what is left. A rule that denied the
//! exceptions instead would take away what another policy allows.

use ipnet::IpNet;

/// Most prefixes of one block. Each of them is a flow on every node.
pub const PREFIXES_MAX: usize = 128;

/// Most exceptions of one block.
pub const EXCEPTIONS_MAX: usize = PREFIXES_MAX;

/// The addresses of a block without its exceptions, in order; `None` if these are more than
/// [`PREFIXES_MAX`] prefixes, or there are more than [`EXCEPTIONS_MAX`] exceptions.
pub fn without(block: IpNet, exceptions: &[IpNet]) -> Option<Vec<IpNet>> {
    let mut left = Vec::new();
    (exceptions.len() <= EXCEPTIONS_MAX && add(block.trunc(), exceptions, &mut left)).then_some(left)
}

/// Halves a block until each part is whole or an exception. Returns whether there is room for all.
fn add(block: IpNet, exceptions: &[IpNet], left: &mut Vec<IpNet>) -> bool {
    // One of two prefixes that have an address in common contains the other.
    let inside: Vec<IpNet> = exceptions.iter().copied().filter(|exception| block.contains(exception)).collect();
    if exceptions.iter().any(|exception| exception.contains(&block)) {
        return true;
    }
    if inside.is_empty() {
        left.push(block);
        return left.len() <= PREFIXES_MAX;
    }
    // A single address contains no exception but itself.
    let Ok(mut halves) = block.subnets(block.prefix_len().saturating_add(1)) else { return true };
    halves.all(|half| add(half, &inside, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(block: &str, exceptions: &[&str]) -> Option<Vec<String>> {
        let exceptions: Vec<IpNet> = exceptions.iter().map(|text| text.parse().unwrap()).collect();
        let left = without(block.parse().unwrap(), &exceptions)?;
        Some(left.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_left_is_the_fewest_prefixes() {
        let some = |prefixes: &[&str]| Some(prefixes.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(left("10.0.0.9/24", &[]), some(&["10.0.0.0/24"]));
        assert_eq!(left("10.0.0.0/24", &["10.0.0.64/26"]), some(&["10.0.0.0/26", "10.0.0.128/25"]));
        assert_eq!(left("10.0.0.0/24", &["10.1.0.0/24", "fd00::/8"]), some(&["10.0.0.0/24"]));
        assert_eq!(left("10.0.0.0/30", &["10.0.0.1/32", "10.0.0.2/32"]), some(&["10.0.0.0/32", "10.0.0.3/32"]));
        assert_eq!(left("10.0.0.0/24", &["10.0.0.0/25", "10.0.0.128/25"]), some(&[]));
        assert_eq!(left("10.0.0.0/24", &["0.0.0.0/0"]), some(&[]));
        assert_eq!(left("fd00::/127", &["fd00::1/128"]), some(&["fd00::/128"]));
        assert_eq!(left("::/0", &["fd00::1/128"]).map(|left| left.len()), Some(128));
    }

    #[test]
    fn more_prefixes_than_have_room_are_none() {
        assert_eq!(left("::/0", &["fd00::1/128", "fd00::4/128"]), None);
        let exceptions: Vec<String> = (0..=EXCEPTIONS_MAX).map(|number| format!("10.0.{number}.0/24")).collect();
        let exceptions: Vec<&str> = exceptions.iter().map(String::as_str).collect();
        assert_eq!(left("10.0.0.0/8", &exceptions), None);
    }
}
