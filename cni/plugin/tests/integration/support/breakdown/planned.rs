//! A breakdown of VPP at a message of a call.

use usnet_test_vpp::{Breakage, Fault, Kind, Moment, Simulator, Vpp};

/// A number greater than that of the messages that a call sends, including retries.
const TRIES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The connection is lost, and VPP continues to run.
    Connection,
    /// The connection and each new one is lost, and VPP continues to run.
    EveryConnection,
    /// VPP ends, as by SIGKILL.
    Vpp,
}

/// A breakdown at a message. The messages that open and close a connection are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breakdown {
    pub(crate) loss: Loss,
    /// Whether the message is executed. It is not answered in either case.
    pub(crate) when: Moment,
    /// The number of the message, counted from 1 in each call.
    pub(crate) nth: usize,
}

impl Breakdown {
    /// Breakdowns before and after each message of a call with so many messages. A real VPP
    /// restarts slowly, and its state after a message is that before the next one, so it is killed
    /// only once between any two.
    pub(crate) fn each(vpp: &Vpp, loss: Loss, messages: usize) -> Vec<Self> {
        let at = |nth| [Moment::Before, Moment::After].map(|when| Self { loss, when, nth });
        let is_slow = vpp.kind() == Kind::Real && loss == Loss::Vpp;
        let differs = |it: &Self| !is_slow || it.when == Moment::Before || it.nth == messages;
        (1..=messages).flat_map(at).filter(differs).collect()
    }

    pub(super) fn break_simulator(self, simulator: &Simulator) {
        let add = |how, when, nth: usize| simulator.fault(Fault::Break { how, when, nth: nth.try_into().unwrap() });
        let how = if self.loss == Loss::Vpp { Breakage::Die } else { Breakage::Drop };
        add(how, self.when, self.nth);
        if self.loss == Loss::EveryConnection {
            (1..=TRIES).for_each(|more| add(Breakage::Drop, Moment::Before, self.nth + more));
        }
    }
}
