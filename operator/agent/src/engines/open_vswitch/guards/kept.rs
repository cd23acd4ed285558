//! What is known of the flows of guarded bridges, and when to look at them again. Pure.

use super::desired::Desired;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use usnet_dataplane::ovs::BridgeFlows;
use usnet_openflow::PortNumber;

/// Delay between attempts while a bridge has no flows, during which it forwards nothing: the first
/// ones come one by one with the start of a switch.
const RETRY: Duration = Duration::from_millis(5);
/// Delay after [`RETRY_SHORT`] attempts: the switch may be gone for long.
const RETRY_LATER: Duration = Duration::from_millis(250);
const RETRY_SHORT: u32 = 1_000;
/// When new ports of bridges with policies are looked at again: the plugin closes them, and may do
/// so after their flows were written.
const NEW_PORTS_DELAYS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// The flows that bridges have, by the names of the bridges.
#[derive(Debug, Default)]
pub(super) struct Kept {
    flows: BTreeMap<String, Arc<BridgeFlows>>,
    /// The bridges that enforce policies of before the start of the agent, while those of now are
    /// not known.
    of_others: BTreeSet<String>,
    new_ports: Vec<NewPorts>,
    retry: Option<Instant>,
    attempts: u32,
}

/// New ports of a bridge that are looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewPorts {
    pub(super) bridge: String,
    pub(super) numbers: BTreeSet<PortNumber>,
    due: Instant,
    /// How often they were looked at.
    looks: usize,
}

impl Kept {
    /// The process of the switch ended or began.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.flows.retain(|name, _| is_there(name));
        self.of_others.retain(|name| is_there(name));
        self.new_ports.retain(|ports| is_there(&ports.bridge));
    }

    pub(super) fn flows(&self, bridge: &str) -> Option<&Arc<BridgeFlows>> {
        self.flows.get(bridge)
    }

    /// Whether a bridge is left as it is, because it enforces policies and those of now are not
    /// known. None if that has to be looked up.
    pub(super) fn is_left(&self, bridge: &str, desired: &Desired) -> Option<bool> {
        if desired.is_known {
            return Some(false);
        }
        if self.of_others.contains(bridge) {
            return Some(true);
        }
        self.flows(bridge).map(|flows| flows.knows_ports())
    }

    /// A bridge enforces policies of before.
    pub(super) fn leave(&mut self, bridge: &str) {
        self.of_others.insert(bridge.to_owned());
    }

    /// Whether a bridge has what it should have, unless others changed it.
    pub(super) fn has(&self, bridge: &str, desired: &Desired) -> bool {
        self.flows(bridge).is_some_and(|flows| flows.are_for(&desired.ports, desired.policies.as_ref()))
    }

    /// A bridge has these flows now.
    pub(super) fn set(&mut self, bridge: &str, flows: Arc<BridgeFlows>, now: Instant) {
        self.of_others.remove(bridge);
        let numbers = self.flows(bridge).map(|before| flows.new_ports(before)).unwrap_or_default();
        if !numbers.is_empty() {
            let due = now + NEW_PORTS_DELAYS[0];
            self.new_ports.push(NewPorts { bridge: bridge.to_owned(), numbers, due, looks: 0 });
        }
        self.flows.insert(bridge.to_owned(), flows);
    }

    /// What a bridge has is not known any more.
    pub(super) fn remove(&mut self, bridge: &str) {
        self.flows.remove(bridge);
    }

    /// The new ports that are due.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<NewPorts> {
        let due: Vec<NewPorts> = self.new_ports.extract_if(.., |ports| ports.due <= now).collect();
        for ports in &due {
            if let Some(delay) = NEW_PORTS_DELAYS.get(ports.looks + 1) {
                let (due, looks) = (now + *delay, ports.looks + 1);
                self.new_ports.push(NewPorts { due, looks, ..ports.clone() });
            }
        }
        due
    }

    /// When something is to be done although nothing changes.
    pub(super) fn next(&self) -> Option<Instant> {
        self.retry.into_iter().chain(self.new_ports.iter().map(|ports| ports.due)).min()
    }

    /// Sets when to try again, given whether a bridge failed and whether all namespaces are known.
    pub(super) fn reschedule(&mut self, failed: bool, is_complete: bool, now: Instant) {
        self.attempts = if failed { self.attempts.saturating_add(1) } else { 0 };
        let delay = if !failed || self.attempts > RETRY_SHORT { RETRY_LATER } else { RETRY };
        self.retry = (failed || !is_complete).then(|| now + delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_dataplane::ovs::{FrameSource, GuardedPorts, NetworkPolicies, PortOwner};

    /// What a bridge with these ports should have.
    fn desired(numbers: &[u16], is_known: bool) -> Desired {
        let attachment = |number: u16| usnet_dataplane::testing::attachment(&format!("c{number}"));
        let pod = |number: u16| FrameSource::Pod {
            guard: format!("02:00:00:00:00:{number:02x} 10.9.0.{number}").parse().unwrap(),
            is_trunk: false,
            is_in_vlan: false,
            attachment: attachment(number),
        };
        let ports: GuardedPorts =
            numbers.iter().map(|number| (PortNumber::new(*number).unwrap(), pod(*number))).collect();
        let owner = |number: u16| PortOwner { namespace: "db".parse().unwrap(), uid: format!("uid-{number}") };
        let owners = numbers.iter().filter(|_| is_known);
        let owners = owners.map(|number| (attachment(*number), owner(*number))).collect();
        let policies = Some(NetworkPolicies { zone: 1, policies: [].into(), pods: Arc::default(), owners });
        Desired { ports, policies, is_known }
    }

    fn flows(desired: &Desired) -> Arc<BridgeFlows> {
        Arc::new(BridgeFlows::new(desired.ports.clone(), desired.policies.clone()))
    }

    #[test]
    fn new_ports_are_looked_at_twice() {
        let (mut kept, began) = (Kept::default(), Instant::now());
        let at = |milliseconds| began + Duration::from_millis(milliseconds);
        kept.set("br-blue", flows(&desired(&[1], true)), began);
        assert_eq!((kept.next(), kept.take_due(at(9_999))), (None, vec![]), "all were compared");
        kept.set("br-blue", flows(&desired(&[1, 2], true)), began);
        assert!(kept.has("br-blue", &desired(&[1, 2], true)) && !kept.has("br-blue", &desired(&[1], true)));
        assert_eq!((kept.next(), kept.take_due(at(99))), (Some(at(100)), vec![]));
        for due in [100, 1_100] {
            assert_eq!(kept.next(), Some(at(due)));
            let [ports] = kept.take_due(at(due)).try_into().unwrap();
            assert_eq!(ports.numbers, [PortNumber::new(2).unwrap()].into());
        }
        assert_eq!((kept.next(), kept.take_due(at(9_999))), (None, vec![]));
        kept.set("br-blue", flows(&desired(&[1, 3], true)), began);
        kept.retain(|_| false);
        assert_eq!((kept.next(), kept.flows("br-blue")), (None, None));
    }

    #[test]
    fn a_bridge_that_enforces_policies_is_left_while_those_of_now_are_unknown() {
        let (known, unknown) = (desired(&[1], true), desired(&[1], false));
        let mut kept = Kept::default();
        assert_eq!([&known, &unknown].map(|it| kept.is_left("br-blue", it)), [Some(false), None]);
        kept.leave("br-blue");
        assert_eq!([&known, &unknown].map(|it| kept.is_left("br-blue", it)), [Some(false), Some(true)]);
        kept.set("br-blue", flows(&known), Instant::now());
        assert_eq!(kept.is_left("br-blue", &unknown), Some(true), "it has the last that were known");
        kept.set("br-blue", flows(&unknown), Instant::now());
        assert_eq!(kept.is_left("br-blue", &unknown), Some(false), "all is closed: new ports have to be");
        kept.forget();
        assert_eq!(kept.is_left("br-blue", &unknown), None);
    }

    #[test]
    fn a_bridge_that_fails_is_tried_again_soon_and_then_seldom() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        let mut after = |failed, is_complete| {
            kept.reschedule(failed, is_complete, now);
            kept.next().map(|next| next - now)
        };
        assert_eq!([after(false, true), after(false, false)], [None, Some(RETRY_LATER)]);
        assert!((0..RETRY_SHORT).all(|_| after(true, true) == Some(RETRY)));
        assert_eq!((after(true, true), after(false, true), after(true, true)), (Some(RETRY_LATER), None, Some(RETRY)));
    }
}
