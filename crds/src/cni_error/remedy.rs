//! What to do about an error, by the case that its message tells. Pure.

use super::{Case, CniError};

/// How many successive words a message shares with the example of its case, at least.
const COMMON_MIN: usize = 3;
/// The most cases of which all remedies are returned.
const CASES_MAX: usize = 2;

impl CniError {
    /// Returns what to do in plain text, with the heading of `docs/errors.md` that says more.
    pub fn remedy(&self, message: &str) -> String {
        let said = self.cases.iter().map(|case| (common_words(case.message, message), case));
        let closest = said.filter(|(common, _)| *common >= COMMON_MIN).max_by_key(|(common, _)| *common);
        let cases: Vec<&Case> = match closest {
            Some((_, case)) => vec![case],
            None => self.cases.iter().collect(),
        };
        let with_remedy = || cases.iter().filter(|case| !case.remedy.is_empty());
        let what = match with_remedy().count() {
            1 => with_remedy().map(|case| plain(case.remedy)).collect(),
            2..=CASES_MAX => {
                let each: Vec<String> =
                    with_remedy().map(|case| format!("if {}: {}", plain(case.when), plain(case.remedy))).collect();
                each.join("; ")
            }
            _ => "act on the message".to_owned(),
        };
        format!("{what} (docs/errors.md#{})", self.anchor())
    }
}

/// The length of the longest run of words that both texts have.
fn common_words(example: &str, message: &str) -> usize {
    let (example, message): (Vec<&str>, Vec<&str>) =
        (example.split_whitespace().collect(), message.split_whitespace().collect());
    let run = |from: usize, at: usize| {
        let pairs = example.iter().skip(from).zip(message.iter().skip(at));
        pairs.take_while(|(one, other)| one == other).count()
    };
    let starts = (0..example.len()).flat_map(|from| (0..message.len()).map(move |at| (from, at)));
    starts.map(|(from, at)| run(from, at)).max().unwrap_or_default()
}

/// Returns Markdown without its marks: code, and links to pages.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        let (outside, label) = before.rsplit_once('[').unwrap_or((before, ""));
        text.extend([outside, label]);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::super::{all, find};
    use super::*;

    fn remedy(code: u32, reason: &str, message: &str) -> String {
        find(code, reason).unwrap().remedy(message)
    }

    #[test]
    fn the_case_that_the_message_tells_says_what_to_do() {
        for (code, reason, message, expected) in [
            (108, "AddressesExhausted", "IPAM plugin host-local has no address left", "extend the ranges of spec.ipam"),
            (104, "PortRejected", "port vhu1 could not be configured: the engine reports \"no\"", "engine's log"),
            (104, "PortRejected", "something new", "act on the message"),
            (102, "NoVolume", "pod web/a has no volume", "add volumes: [{name: usnet, emptyDir: {}}] to the pod"),
            (103, "AlreadyAttached", "interface net1 is attached", "choose another interface"),
            (5, "IpamFailed", "no such file", "request an address in the ranges"),
            (6, "DecodingFailure", "expected value", "act on the message"),
            (
                7,
                "InvalidConfiguration",
                "the pod requests address 10.56.92.25, and interface net1 of pod web/holder already has it",
                "request another address, or none",
            ),
        ] {
            let found = remedy(code, reason, message);
            assert!(found.contains(expected), "{code} {reason}: {found}");
        }
        assert!(remedy(102, "NoVolume", "").ends_with(" (docs/errors.md#102-novolume)"));
    }

    #[test]
    fn every_error_has_a_remedy_in_plain_text() {
        for error in all() {
            for message in error.cases.iter().map(|case| case.message).chain([""]) {
                let found = error.remedy(message);
                assert!(!found.contains('`') && !found.contains("]("), "{found}");
                assert!(found.ends_with(&format!("{})", error.anchor())), "{found}");
            }
        }
    }

    #[test]
    fn links_and_code_are_read_without_their_marks() {
        assert_eq!(plain("see [hot plug](hot-plug.md), [`a`](b.md#c) and `d: [e]`"), "see hot plug, a and d: [e]");
    }
}
