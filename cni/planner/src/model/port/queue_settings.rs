//! How an engine serves the queues of a port's program.

use super::difference::Difference;
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::{Polling, Queues, TransmitRetries};

/// What an engine should do with the queues of a pod's program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSettings {
    /// Whether it sends frames to all queues, by their flows. Otherwise engines send what comes
    /// from one of their threads to one queue.
    pub are_spread: bool,
    /// `None` leaves it to the engine.
    pub polling: Option<Polling>,
    /// `None` means the engine's default.
    pub transmit_retries: Option<TransmitRetries>,
}

/// What an engine reports of these settings. VPP has them only while a program is connected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedQueues {
    /// `None` if there is nothing to change: no second queue yet, or an engine that does not tell.
    pub are_spread: Option<bool>,
    /// How the queues are read, if there are any.
    pub polling: BTreeSet<Polling>,
    /// As it is set, whether it is valid or not.
    pub transmit_retries: Option<String>,
}

impl QueueSettings {
    /// Those of a program with so many queues.
    pub fn new(queues: Queues, polling: Option<Polling>, transmit_retries: Option<TransmitRetries>) -> Self {
        Self { are_spread: queues.get() > 1, polling, transmit_retries }
    }
}

impl From<QueueSettings> for ObservedQueues {
    /// What an engine reports that needs no update.
    fn from(QueueSettings { are_spread, polling, transmit_retries }: QueueSettings) -> Self {
        Self {
            are_spread: Some(are_spread),
            polling: polling.into_iter().collect(),
            transmit_retries: transmit_retries.map(|retries| retries.to_string()),
        }
    }
}

impl ObservedQueues {
    pub(super) fn match_desired(&self, desired: QueueSettings) -> bool {
        self.differences(desired).next().is_none()
    }

    /// The settings that an update changes, as text.
    pub(super) fn changes(&self, desired: QueueSettings) -> Vec<String> {
        self.differences(desired).map(|difference| format!("{} {}", difference.setting, difference.desired)).collect()
    }

    pub(super) fn differences(&self, desired: QueueSettings) -> impl Iterator<Item = Difference> {
        let QueueSettings { are_spread, polling, transmit_retries } = desired;
        let spread = self.are_spread.filter(|found| *found != are_spread).map(|found| Difference {
            setting: "the spreading over queues",
            observed: on_or_off(found).to_owned(),
            desired: on_or_off(are_spread).to_owned(),
        });
        let polling = polling.filter(|mode| self.polling.iter().any(|found| found != mode)).map(|mode| Difference {
            setting: "the polling",
            observed: self.polling.iter().map(|found| found.as_str()).collect::<Vec<_>>().join(" and "),
            desired: mode.as_str().to_owned(),
        });
        let text = |retries: Option<&str>| retries.unwrap_or("the default").to_owned();
        let retries = transmit_retries.map(|retries| retries.to_string());
        let retries = (self.transmit_retries != retries).then(|| Difference {
            setting: "the transmit retries",
            observed: text(self.transmit_retries.as_deref()),
            desired: text(retries.as_deref()),
        });
        [spread, polling, retries].into_iter().flatten()
    }
}

const fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

impl fmt::Display for QueueSettings {
    /// What differs from the defaults, each after a comma.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.are_spread {
            formatter.write_str(", spread over queues")?;
        }
        if let Some(polling) = self.polling {
            write!(formatter, ", polling {}", polling.as_str())?;
        }
        match self.transmit_retries {
            Some(retries) => write!(formatter, ", {retries} transmit retries"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(observed: &ObservedQueues, desired: QueueSettings) -> String {
        observed.changes(desired).join("; ")
    }

    #[test]
    fn a_port_without_a_program_has_nothing_to_change() {
        let many = QueueSettings::new(Queues::try_from(2).unwrap(), Some(Polling::Interrupt), None);
        assert!(ObservedQueues::default().match_desired(many));
        assert_eq!(many.to_string(), ", spread over queues, polling Interrupt");
    }

    #[test]
    fn what_differs_is_named_and_what_is_left_to_the_engine_is_not() {
        let connected = ObservedQueues {
            are_spread: Some(false),
            polling: [Polling::Polling, Polling::Interrupt].into(),
            transmit_retries: Some("99".to_owned()),
        };
        let many = QueueSettings::new(Queues::try_from(2).unwrap(), Some(Polling::Interrupt), None);
        assert_eq!(
            changes(&connected, many),
            "the spreading over queues on; the polling Interrupt; the transmit retries the default"
        );
        let one = QueueSettings::new(Queues::default(), None, TransmitRetries::try_from(0).ok());
        assert_eq!(changes(&connected, one), "the transmit retries 0");
        assert!(ObservedQueues::from(one).match_desired(one));
    }
}
