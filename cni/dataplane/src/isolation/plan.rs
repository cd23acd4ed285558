//! The diff of the chains that there are and those that there should be. No IO.

use super::guard::{Frames, Guard, PRIORITY};
use crate::nftables::{Batch, ObservedChain};
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::EngineKind;

/// A chain of usnet that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedGuard {
    pub chain: ObservedChain,
    /// What its rules do; none if a rule is something else.
    pub frames: Option<Frames>,
}

impl ObservedGuard {
    fn is(&self, guard: &Guard) -> bool {
        let ObservedChain { name, devices, priority, drops, uses: _ } = &self.chain;
        *name == guard.chain()
            && devices.iter().map(String::as_str).eq([guard.device()])
            && *priority == PRIORITY
            && *drops == guard.frames().are_dropped()
            && self.frames.as_ref() == Some(guard.frames())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardOp {
    /// Creates the chain of a device.
    Create(Guard),
    /// Recreates it: the one that there is lets something pass.
    Replace(Guard),
    /// Removes a chain whose device is gone, or is no port any more.
    Remove(String),
}

impl GuardOp {
    /// Adds it to a batch.
    pub fn add_to(&self, batch: &mut Batch) {
        match self {
            Self::Create(guard) => guard.add_to(batch),
            Self::Replace(guard) => {
                batch.delete_chain(super::TABLE, &guard.chain());
                guard.add_to(batch);
            }
            Self::Remove(chain) => batch.delete_chain(super::TABLE, chain),
        }
    }

    /// Whether a device was open until now that should have been isolated.
    pub const fn isolates(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Replace(_))
    }
}

impl fmt::Display for GuardOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(guard) | Self::Replace(guard) => write!(formatter, "isolate device {guard} from the node"),
            Self::Remove(chain) => write!(formatter, "remove chain {chain}, whose device is no port any more"),
        }
    }
}

/// The changes that turn the observed chains into the desired ones.
///
/// `present` are the names of all devices, read after the chains: a chain without a device is one
/// whose device is gone. A chain of a device that is there, and that is not known as a port, is
/// left if usnet made the device: the plugin is just making it. That of a borrowed one is removed
/// only if the borrower is among `known`, the engines of which it is known what they have.
pub fn diff(
    desired: &[Guard],
    observed: &[ObservedGuard],
    present: &BTreeSet<String>,
    known: &BTreeSet<EngineKind>,
) -> Vec<GuardOp> {
    let names: BTreeSet<String> = desired.iter().map(Guard::chain).collect();
    let is_stale = |found: &&ObservedGuard| {
        let ObservedChain { name, devices, .. } = &found.chain;
        let is_gone = !devices.iter().any(|device| present.contains(device));
        !names.contains(name) && (is_gone || Guard::is_borrowed_by(known, name))
    };
    let removals = observed.iter().filter(is_stale).map(|found| GuardOp::Remove(found.chain.name.clone()));
    let missing = desired.iter().filter(|guard| !observed.iter().any(|found| found.is(guard)));
    let changes = missing.map(|guard| {
        let exists = observed.iter().any(|found| found.chain.name == guard.chain());
        if exists { GuardOp::Replace(guard.clone()) } else { GuardOp::Create(guard.clone()) }
    });
    changes.chain(removals).collect()
}

#[cfg(test)]
mod tests {
    use super::super::NicGuard;
    use super::*;
    use usnet_crds::EngineKind::{OpenVswitch, Vpp};

    fn observed(guard: &Guard) -> ObservedGuard {
        let (name, devices) = (guard.chain(), vec![guard.device().to_owned()]);
        let drops = guard.frames().are_dropped();
        let chain = ObservedChain { name, devices, priority: PRIORITY, drops, uses: 0 };
        ObservedGuard { chain, frames: Some(guard.frames().clone()) }
    }

    fn borrowed(device: &str, frames: NicGuard) -> Guard {
        Guard::borrowed(OpenVswitch, device, frames)
    }

    fn both() -> BTreeSet<EngineKind> {
        [OpenVswitch, Vpp].into()
    }

    fn present(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn texts(operations: &[GuardOp]) -> Vec<String> {
        operations.iter().map(|operation| format!("{operation:?}").split('(').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn what_is_missing_or_lets_something_pass_is_made_and_what_is_right_is_left() {
        let vlans = NicGuard::Vlans([7, 8].into());
        let desired = [Guard::port("vhu1"), borrowed("eth1", vlans), borrowed("br-blue", NicGuard::All)];
        let all: Vec<_> = desired.iter().map(observed).collect();
        let names = present(&["vhu1", "eth1", "br-blue"]);
        assert_eq!(diff(&desired, &all, &names, &both()), []);
        assert_eq!(texts(&diff(&desired, &[], &names, &both())), ["Create"; 3]);
        let broken = |change: fn(&mut ObservedGuard)| {
            let mut all = all.clone();
            change(&mut all[1]);
            change(&mut all[0]);
            texts(&diff(&desired, &all, &names, &both()))
        };
        assert_eq!(broken(|found| found.chain.drops ^= true), ["Replace"; 2]);
        assert_eq!(broken(|found| found.chain.priority = 0), ["Replace"; 2]);
        assert_eq!(broken(|found| found.chain.devices.clear()), ["Replace"; 2]);
        assert_eq!(broken(|found| found.frames = None), ["Replace"; 2], "a rule that accepts");
        assert_eq!(broken(|found| found.frames = Some(Frames::VlansDropped([7].into()))), ["Replace"; 2]);
        assert_eq!(broken(|found| found.frames = Some(Frames::Forwarded(7))), ["Replace"; 2]);
    }

    #[test]
    fn a_chain_of_a_device_that_is_gone_goes_and_that_of_a_pod_that_is_attaching_stays() {
        let chains = [observed(&Guard::port("gone")), observed(&Guard::port("new"))];
        assert_eq!(diff(&[], &chains, &present(&["new"]), &both()), [GuardOp::Remove("gone".to_owned())]);
    }

    #[test]
    fn a_nic_is_given_back_once_it_is_known_what_the_engine_has() {
        let chains = [observed(&borrowed("eth1", NicGuard::All))];
        let present = present(&["eth1"]);
        assert_eq!(diff(&[], &chains, &present, &[Vpp].into()), []);
        assert_eq!(texts(&diff(&[], &chains, &present, &both())), ["Remove"]);
    }

    #[test]
    fn a_device_whose_frames_go_to_a_device_that_was_made_anew_gets_another_chain() {
        let chains = [observed(&Guard::forwarding("v", 7))];
        let diff = |guard| texts(&diff(&[guard], &chains, &present(&["v"]), &both()));
        assert_eq!(diff(Guard::forwarding("v", 7)), Vec::<String>::new());
        assert_eq!(diff(Guard::forwarding("v", 8)), ["Replace"]);
        assert_eq!(diff(Guard::port("v")), ["Replace"]);
    }

    #[test]
    fn a_renamed_device_is_isolated_by_its_new_name() {
        let chains = [observed(&Guard::port("old"))];
        let operations = diff(&[Guard::port("new")], &chains, &present(&["new"]), &both());
        assert_eq!(texts(&operations), ["Create", "Remove"]);
    }
}
