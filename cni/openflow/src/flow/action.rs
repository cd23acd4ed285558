//! What becomes of frames that match.

use super::Step;

/// `OFPIT_GOTO_TABLE`.
const GOTO_TABLE: u16 = 1;
/// `OFPIT_APPLY_ACTIONS`.
const APPLY_ACTIONS: u16 = 4;
const GOTO_LENGTH: u16 = 8;
const APPLY_HEADER: usize = 8;

/// The instructions of a flow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    Drop,
    Output(super::Output),
    /// Steps in their order; then frames are matched in another table, if there is one.
    Apply {
        steps: Vec<Step>,
        next: Option<u8>,
    },
}

/// Encoded instructions, as a switch has them. Those of usnet are read back as they were written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instructions(Vec<u8>);

impl Action {
    /// Frames are matched in another table, which has to be a later one.
    #[must_use]
    pub const fn goto(table: u8) -> Self {
        Self::Apply { steps: Vec::new(), next: Some(table) }
    }

    /// The instructions in OpenFlow 1.1 and later: none drops.
    #[must_use]
    pub fn encode(&self) -> Instructions {
        let (steps, next) = match self {
            Self::Drop => return Instructions::default(),
            Self::Output(output) => (Step::Output(*output).encode(), None),
            Self::Apply { steps, next } => (steps.iter().flat_map(Step::encode).collect(), *next),
        };
        let mut bytes = Vec::new();
        if !steps.is_empty() {
            // Flows have far fewer steps than there is room for.
            let length = u16::try_from(APPLY_HEADER + steps.len()).unwrap_or(u16::MAX);
            bytes.extend([APPLY_ACTIONS, length, 0, 0].map(u16::to_be_bytes).concat());
            bytes.extend(steps);
        }
        if let Some(table) = next {
            bytes.extend([GOTO_TABLE, GOTO_LENGTH].map(u16::to_be_bytes).concat());
            bytes.extend([table, 0, 0, 0]);
        }
        Instructions(bytes)
    }
}

impl Instructions {
    /// Instructions of any kind. What they are is left to the switch.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// The instructions, one after the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether frames are dropped.
    #[must_use]
    pub const fn is_drop(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Output;

    #[test]
    fn instructions_are_written_as_the_standard_says() {
        assert!(Action::Drop.encode().is_drop());
        let output = [0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfa, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Action::Output(Output::Normal).encode().bytes(), output);
        assert_eq!(Action::goto(7).encode().bytes(), [0, 1, 0, 8, 7, 0, 0, 0]);
        let both = Action::Apply { steps: vec![Step::Output(Output::Normal)], next: Some(7) };
        assert_eq!(both.encode().bytes(), [&output[..], &[0, 1, 0, 8, 7, 0, 0, 0]].concat());
    }
}
