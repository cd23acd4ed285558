//! The errors of the CNI plugin as users see them in the events of a pod:
//! `usnet[102 NoVolume]: …`. Each code with its reason is one row, with what it means and what to
//! do; `docs/errors.md` has a heading for each row, and tests of the plugin compare what it prints
//! with the rows.

mod call;
mod engine;
mod ipam;
mod pod;
mod remedy;

pub use {call::*, engine::*, ipam::*, pod::*};

/// An error.
#[derive(Debug)]
pub struct CniError {
    /// The `code` of the CNI specification; from 100 on that of the plugin.
    pub code: u32,
    /// The reason in one word.
    pub reason: &'static str,
    /// The meaning in Markdown, as a sentence.
    pub meaning: &'static str,
    /// The cases that the meaning does not tell apart.
    pub cases: &'static [Case],
}

/// One of the cases in which an error occurs.
#[derive(Debug)]
pub struct Case {
    /// The case in Markdown, without a full stop.
    pub when: &'static str,
    /// The beginning of the message, or a part of it; empty where the case says enough.
    pub message: &'static str,
    /// What to do, without a full stop; empty where the message says it.
    pub remedy: &'static str,
}

impl CniError {
    /// The heading of the error in `docs/errors.md`.
    pub fn heading(&self) -> String {
        format!("{} {}", self.code, self.reason)
    }

    /// The anchor of that heading, such as `102-novolume`.
    pub fn anchor(&self) -> String {
        format!("{}-{}", self.code, self.reason.to_ascii_lowercase())
    }
}

/// Declares a table of errors: the constant, the value and the code of each reason, what it means,
/// and its cases with a part of the message and, after the arrow, what to do.
macro_rules! errors {
    ($table:ident; $($constant:ident = $code:literal $reason:literal $meaning:literal {
        $($when:literal $(says $message:literal)? $(=> $remedy:literal)?;)*
    })+) => {
        $(pub const $constant: &str = $reason;)+

        pub(super) const $table: &[super::CniError] = &[$(super::CniError {
            code: $code,
            reason: $reason,
            meaning: $meaning,
            cases: &[$(super::Case {
                when: $when,
                message: super::errors!(@text $($message)?),
                remedy: super::errors!(@text $($remedy)?),
            }),*],
        }),+];
    };
    (@text $text:literal) => { $text };
    (@text) => { "" };
}
use errors;

/// All errors; not in the order of their codes.
pub fn all() -> impl Iterator<Item = &'static CniError> {
    [CALL, ENGINE, POD, IPAM].into_iter().flatten()
}

/// The error with a code and a reason, as they stand in the brackets of a message. Some have a
/// reason of another table: [`UNAVAILABLE`] that of a network on a node, those of IPAM the code of
/// an IPAM plugin, and what STATUS prints that of its cause.
pub fn find(code: u32, reason: &str) -> Option<&'static CniError> {
    let exactly = |error: &&CniError| error.code == code && error.reason == reason;
    let is_of_ipam = code < 100 && [IPAM_FAILED, ADDRESSES_EXHAUSTED].contains(&reason);
    let of_ipam_plugin = |error: &&CniError| is_of_ipam && error.reason == reason;
    let of_other_reasons = |error: &&CniError| {
        error.code == code && [UNAVAILABLE, NOT_AVAILABLE, LIMITED_CONNECTIVITY].contains(&error.reason)
    };
    all().find(exactly).or_else(|| all().find(of_ipam_plugin)).or_else(|| all().find(of_other_reasons))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_code_and_reason_has_one_row_and_one_anchor() {
        let anchors: Vec<String> = all().map(CniError::anchor).collect();
        assert_eq!(anchors.iter().collect::<BTreeSet<_>>().len(), anchors.len());
        assert!(anchors.contains(&"102-novolume".to_owned()), "{anchors:?}");
    }

    #[test]
    fn what_is_in_the_brackets_of_a_message_is_found() {
        let found = |code, reason| find(code, reason).map(CniError::anchor);
        assert_eq!(found(102, "NoVolume").as_deref(), Some("102-novolume"));
        assert_eq!(found(11, "NodeNotSelected").as_deref(), Some("11-nodenotselected"));
        assert_eq!(found(11, "EngineUnreachable").as_deref(), Some("11-tryagainlater"));
        assert_eq!(found(5, "IpamFailed").as_deref(), Some("105-ipamfailed"));
        assert_eq!(found(50, "NetworkDraining").as_deref(), Some("50-notavailable"));
        assert_eq!(found(102, "Other"), None);
        assert_eq!(found(3, "Other"), None);
    }
}
