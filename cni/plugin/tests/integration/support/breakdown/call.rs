//! A call of the plugin during which VPP breaks down.

use super::planned::Breakdown;
use super::proxy::Proxy;
use usnet_test_vpp::Vpp;

impl Breakdown {
    /// Executes a call with this breakdown.
    #[track_caller]
    pub(crate) fn during<T>(self, vpp: &Vpp, call: impl FnOnce() -> T) -> T {
        if let Some(simulator) = vpp.simulator() {
            self.break_simulator(simulator);
        }
        let (answer, messages) = counted(vpp, Some(self), call);
        if let Some(simulator) = vpp.simulator() {
            simulator.clear_faults();
        }
        assert!(messages >= self.nth, "{self:?} did not happen in {messages} messages");
        answer
    }
}

/// The number of messages that a call sends to VPP.
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
