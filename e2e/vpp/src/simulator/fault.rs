//! Faults that are injected on demand.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

/// A fault. Its text (`slow 50`) is used on the command line and at the control socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// `slow MILLISECONDS`: each message takes this long. No other client is served meanwhile, as
    /// in VPP.
    Slow(Duration),
    /// `fail N RETVAL`: the Nth changing message from now on is refused with this number and not
    /// executed. 1 is the next.
    Fail {
        /// Counts changing messages.
        nth: u64,
        /// VPP's negative number.
        retval: i32,
    },
    /// `drop before 3`, `die after 2`, `restart after 1`: the Nth message from now on breaks the
    /// connection.
    Break {
        how: Breakage,
        when: Moment,
        /// Counts all messages but those that open and close a connection. 1 is the next.
        nth: u64,
    },
    /// `hang`: connections are accepted and nothing is answered.
    Hang,
    /// `missing NAME`: the message is not in the table of connections from now on, as in an old
    /// VPP.
    Missing(String),
    /// `without FILE`: none of the plugin's messages is in the table of connections from now on.
    WithoutPlugin(String),
}

/// The way in which a message breaks the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakage {
    /// The connection is closed; VPP goes on.
    Drop,
    /// VPP ends, as if killed with SIGKILL.
    Die,
    /// VPP ends and starts again with an empty state and the same socket path.
    Restart,
}

/// Whether the message that breaks the connection is executed. It is not answered in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Before,
    After,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a fault; use one of: slow MILLISECONDS, fail N RETVAL, drop|die|restart before|after N, hang, missing \
     MESSAGE, without PLUGIN_FILE"
)]
pub struct ParseFaultError(String);

impl FromStr for Fault {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        parse(&words).ok_or_else(|| ParseFaultError(text.to_owned()))
    }
}

fn parse(words: &[&str]) -> Option<Fault> {
    Some(match *words {
        ["slow", milliseconds] => Fault::Slow(Duration::from_millis(milliseconds.parse().ok()?)),
        ["fail", nth, retval] => Fault::Fail { nth: nth.parse().ok()?, retval: retval.parse().ok()? },
        ["hang"] => Fault::Hang,
        ["missing", message] => Fault::Missing(message.to_owned()),
        ["without", plugin] => Fault::WithoutPlugin(plugin.to_owned()),
        [how, when, nth] => {
            let how = match how {
                "drop" => Breakage::Drop,
                "die" => Breakage::Die,
                "restart" => Breakage::Restart,
                _ => return None,
            };
            let when = match when {
                "before" => Moment::Before,
                "after" => Moment::After,
                _ => return None,
            };
            Fault::Break { how, when, nth: nth.parse().ok()? }
        }
        _ => return None,
    })
}

impl Display for Fault {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow(duration) => write!(formatter, "slow {}", duration.as_millis()),
            Self::Fail { nth, retval } => write!(formatter, "fail {nth} {retval}"),
            Self::Break { how, when, nth } => {
                let (how, when) = (format!("{how:?}").to_lowercase(), format!("{when:?}").to_lowercase());
                write!(formatter, "{how} {when} {nth}")
            }
            Self::Hang => formatter.write_str("hang"),
            Self::Missing(message) => write!(formatter, "missing {message}"),
            Self::WithoutPlugin(plugin) => write!(formatter, "without {plugin}"),
        }
    }
}

/// The faults in effect.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    pub(crate) slow: Duration,
    pub(crate) hang: bool,
    /// Pairs of a number of changing messages, counting the refused one, and the code of its
    /// refusal.
    fails: Vec<(u64, i32)>,
    /// The first number counts messages up to and including the one that breaks the connection.
    breaks: Vec<(u64, Breakage, Moment)>,
    missing: Vec<String>,
    without: Vec<String>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        match fault {
            Fault::Slow(duration) => self.slow = duration,
            Fault::Fail { nth, retval } => self.fails.push((nth, retval)),
            Fault::Break { how, when, nth } => self.breaks.push((nth, how, when)),
            Fault::Hang => self.hang = true,
            Fault::Missing(message) => self.missing.push(message),
            Fault::WithoutPlugin(plugin) => self.without.push(plugin),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Counts a message. Returns what it breaks.
    pub(crate) fn count(&mut self) -> Option<(Breakage, Moment)> {
        let due = take_due(&mut self.breaks, |(left, ..)| left);
        due.map(|(_, how, when)| (how, when))
    }

    /// Counts a changing message. Returns the code with which it is refused.
    pub(crate) fn count_changing(&mut self) -> Option<i32> {
        take_due(&mut self.fails, |(left, _)| left).map(|(_, retval)| retval)
    }

    /// Whether a message is in the table of new connections.
    pub(crate) fn knows(&self, name: &str, plugin: Option<&str>) -> bool {
        !self.missing.iter().any(|missing| missing == name)
            && !plugin.is_some_and(|plugin| self.without.iter().any(|without| without == plugin))
    }
}

/// Counts down, and removes an entry that has reached 0.
fn take_due<T>(counted: &mut Vec<T>, left: impl Fn(&mut T) -> &mut u64) -> Option<T> {
    for entry in counted.iter_mut() {
        let left = left(entry);
        *left = left.saturating_sub(1);
    }
    let due = counted.iter_mut().position(|entry| *left(entry) == 0)?;
    Some(counted.swap_remove(due))
}

#[cfg(test)]
mod tests {
    use super::{Breakage, Fault, Faults, Moment};

    #[test]
    fn words_and_faults_belong_together() {
        for words in [
            "slow 50",
            "fail 3 -14",
            "drop before 3",
            "die after 2",
            "restart after 1",
            "hang",
            "missing a",
            "without b",
        ] {
            let fault: Fault = words.parse().expect("a fault");
            assert_eq!(fault.to_string(), words);
        }
        for words in ["", "slow", "slow x", "fail 1", "die 3", "explode before 1", "hang 1"] {
            assert!(words.parse::<Fault>().is_err(), "{words}");
        }
    }

    #[test]
    fn nth_is_counted_from_when_the_fault_was_added_and_happens_once() {
        let mut faults = Faults::default();
        faults.add(Fault::Break { how: Breakage::Drop, when: Moment::After, nth: 2 });
        faults.add(Fault::Fail { nth: 1, retval: -14 });
        assert_eq!((faults.count(), faults.count_changing()), (None, Some(-14)));
        assert_eq!((faults.count(), faults.count_changing()), (Some((Breakage::Drop, Moment::After)), None));
        assert_eq!(faults.count(), None);
    }
}
