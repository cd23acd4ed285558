//! VPP breaks down at a chosen message of a call: the simulator by itself, a real VPP with the help of a [`Proxy`].

use super::proxy::Proxy;
use usnet_test_vpp::{Breakage, Fault, Kind, Moment, Simulator, Vpp};

/// More messages than a call sends when it tries again.
const TRIES: usize = 8;

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The connection, and VPP lives on.
    Connection,
    /// The same, and nobody gets through any more.
    EveryConnection,
    /// VPP itself, as of SIGKILL.
    Vpp,
}

/// What is lost at which message. The one that opens a connection and the one that closes it are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breakdown {
    pub(crate) loss: Loss,
    /// Whether the message is done. It is not answered in either case.
    pub(crate) when: Moment,
    /// 1 is the first of the call.
    pub(crate) nth: usize,
}

impl Breakdown {
    /// One for each message of a call that sends so many, before the message is done and after it. A real VPP takes its time to start again,
    /// and is the same after a message as before the next one: it dies once between any two.
    pub(crate) fn each(vpp: &Vpp, loss: Loss, messages: usize) -> Vec<Self> {
        let at = |nth| [Moment::Before, Moment::After].map(|when| Self { loss, when, nth });
        let is_slow = vpp.kind() == Kind::Real && loss == Loss::Vpp;
        let differs = |it: &Self| !is_slow || it.when == Moment::Before || it.nth == messages;
        (1..=messages).flat_map(at).filter(differs).collect()
    }

    fn break_simulator(self, simulator: &Simulator) {
        let add = |how, when, nth: usize| simulator.fault(Fault::Break { how, when, nth: nth.try_into().unwrap() });
        let how = if self.loss == Loss::Vpp { Breakage::Die } else { Breakage::Drop };
        add(how, self.when, self.nth);
        if self.loss == Loss::EveryConnection {
            (1..=TRIES).for_each(|more| add(Breakage::Drop, Moment::Before, self.nth + more));
        }
    }

    /// Makes a call while this happens.
    #[track_caller]
    pub(crate) fn during<T>(self, vpp: &Vpp, call: impl FnOnce() -> T) -> T {
        if let Some(simulator) = vpp.simulator() {
            self.break_simulator(simulator);
        }
        let (answer, messages) = counted(vpp, Some(self), call);
        if let Some(simulator) = vpp.simulator() {
            simulator.well();
        }
        assert!(messages >= self.nth, "{self:?} did not happen in {messages} messages");
        answer
    }
}

/// How many messages VPP gets in a call.
pub(crate) fn count_messages<T>(vpp: &Vpp, call: impl FnOnce() -> T) -> usize {
    counted(vpp, None, call).1
}

fn counted<T>(vpp: &Vpp, breakdown: Option<Breakdown>, call: impl FnOnce() -> T) -> (T, usize) {
    match vpp.simulator() {
        Some(simulator) => {
            let before = simulator.log().len();
            let answer = call();
            (answer, simulator.log().len() - before)
        }
        None => {
            let proxy = Proxy::start(vpp, breakdown);
            let answer = call();
            (answer, proxy.messages())
        }
    }
}
