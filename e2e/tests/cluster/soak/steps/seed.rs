//! The steps of a run depend only on a seed, so a failed run can be repeated.

use crate::soak::actions::pods::node_of;
use crate::soak::steps::stopped::{StoppedPart, StoppedParts};
use crate::soak::steps::{
    ByHand, FIRST_OLD, FOREIGN, GHOSTS, NAMESPACES, NETWORKS, OLD_COPIES, OLD_NAMESPACES, Old, PODS, Part, Place,
    RequestedNetwork, Step, adopted,
};
use fastrand::Rng;
use std::collections::BTreeSet;

/// What there is as far as the steps know: what can be taken away again is found that way more
/// often than by chance.
struct Life {
    rng: Rng,
    stopped: StoppedParts,
    /// The network that each pod attached to.
    attached: [Option<usize>; PODS],
    /// The networks that users declare.
    networks: BTreeSet<usize>,
    old: BTreeSet<Old>,
    by_hand: Vec<ByHand>,
    /// Foreign ports: node and network.
    ports: Vec<(usize, usize)>,
}

/// The steps of a run. All that was stopped is started again by the end.
pub(crate) fn steps(seed: u64, count: usize) -> Vec<Step> {
    let mut life = Life::new(seed);
    let mut steps: Vec<Step> = (0..NAMESPACES).map(|namespace| life.apply_namespace(namespace)).collect();
    let places = adopted().map(Place::OfNetwork);
    steps.extend(places.flat_map(|place| [0, 1].map(|node| Step::AddForeignBridge { node, place })));
    steps.extend((0..FIRST_OLD).map(|network| life.apply_network(network)));
    let first = (FIRST_OLD..NETWORKS).map(|network| Old { namespace: 0, network, copy: 0 });
    steps.extend(first.map(|old| life.apply_old(old, false)));
    while steps.len() < count {
        let step = life.stopped.due().unwrap_or_else(|| life.any());
        steps.push(step);
    }
    steps.extend(life.stopped.all_back());
    steps
}

impl Life {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            stopped: StoppedParts::default(),
            attached: [None; PODS],
            networks: BTreeSet::new(),
            old: BTreeSet::new(),
            by_hand: Vec::new(),
            ports: Vec::new(),
        }
    }

    fn any(&mut self) -> Step {
        loop {
            let step = match self.rng.usize(..100) {
                0..32 => self.pod(),
                32..49 => self.foreign(),
                49..54 => self.part(),
                // What follows asks the API server.
                _ if !self.stopped.has_api_server() => continue,
                54..71 => self.network(),
                71..74 => Some(self.by_hand()),
                74..80 => self.definition(),
                80..86 => self.old(),
                86..92 => self.namespace(),
                _ => self.node(),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn pod(&mut self) -> Option<Step> {
        let pod = self.rng.usize(..PODS);
        if self.attached[pod].take().is_some() {
            return Some(Step::Detach { pod });
        }
        let (namespace, network) = self.namespace_and_network();
        self.attached[pod] = Some(network);
        Some(match self.rng.u8(..8) {
            0 => Step::KilledAttach { pod, namespace, network, after: self.rng.u64(..30) },
            _ => Step::Attach { pod, namespace, network },
        })
    }

    /// Mostly of a network that is there.
    fn namespace_and_network(&mut self) -> (usize, usize) {
        let any = (self.rng.usize(..NAMESPACES), self.rng.usize(..NETWORKS));
        let old: Vec<Old> = self.old.iter().copied().collect();
        let networks: Vec<usize> = self.networks.iter().copied().collect();
        match self.rng.u8(..8) {
            0..2 if !old.is_empty() => {
                let old = self.one_of(&old);
                (old.namespace, old.network)
            }
            2..7 if !networks.is_empty() => (any.0, self.one_of(&networks)),
            _ => any,
        }
    }

    fn foreign(&mut self) -> Option<Step> {
        let adopted: Vec<usize> = adopted().collect();
        let (node, network) = self.node_and_network();
        let place = match self.rng.u8(..4) {
            0 => Place::OfNetwork(network),
            1 => Place::OfNetwork(self.one_of(&adopted)),
            _ => Place::Own(self.rng.usize(..FOREIGN)),
        };
        let (port, setting) = (self.rng.usize(..PODS), self.rng.usize(..PODS));
        Some(match self.rng.u8(..14) {
            0..3 => Step::AddForeignBridge { node, place },
            3 | 4 => Step::RemoveForeignBridge { node, place },
            5 => {
                self.ports.push((node, network));
                Step::AddForeignPort { node, network }
            }
            6 => {
                let (node, network) = self.ports.pop()?;
                Step::RemoveForeignPort { node, network }
            }
            7 => Step::RemoveBridge { node, network },
            8 | 9 => Step::RemovePort { node, network, port },
            10 | 11 => Step::ChangeBridge { node, network, setting },
            _ => Step::ChangePort { node, network, port },
        })
    }

    /// Mostly where a pod is attached.
    fn node_and_network(&mut self) -> (usize, usize) {
        let attached: Vec<(usize, usize)> =
            self.attached.iter().enumerate().filter_map(|(pod, network)| Some((node_of(pod), (*network)?))).collect();
        match attached.is_empty() || self.rng.u8(..4) == 0 {
            true => (self.rng.usize(..2), self.rng.usize(..NETWORKS)),
            false => self.one_of(&attached),
        }
    }

    /// A part of usnet, or one that it needs, goes.
    fn part(&mut self) -> Option<Step> {
        let node = self.rng.usize(..2);
        match self.rng.u8(..14) {
            0..3 if self.stopped.has_api_server() => Some(Step::KillAgent { node }),
            3 if self.stopped.has_api_server() => Some(Step::KillControllers),
            4 | 5 if self.stopped.has_api_server() => Some(Step::KillLeader),
            6 if self.stopped.has_api_server() => {
                self.stopped.stop(StoppedPart::ApiServer, self.rng.usize(5..20));
                Some(Step::StopApiServer)
            }
            7..14 => {
                let part = self.one_of(&[Part::Vpp, Part::Vpp, Part::OpenVswitch, Part::Database, Part::Switch]);
                if !self.stopped.has_engine(node, part.engine()) {
                    return None;
                }
                self.stopped.stop(StoppedPart::Engine(node, part), self.rng.usize(2..15));
                Some(Step::StopEngine { node, part })
            }
            _ => None,
        }
    }

    fn network(&mut self) -> Option<Step> {
        let network = self.rng.usize(..FIRST_OLD);
        Some(match self.rng.u8(..7) {
            0 => {
                self.networks.remove(&network);
                Step::DeleteNetwork { network }
            }
            // Whatever a person does to a network that follows from definitions is put right again.
            1 if self.rng.bool() => Step::DeleteNetwork { network: self.rng.usize(FIRST_OLD..NETWORKS) },
            _ => self.apply_network(network),
        })
    }

    /// What the controller wrote for agents, mostly of a network that is there.
    fn by_hand(&mut self) -> Step {
        let (node, network) = self.node_and_network();
        let setting = self.rng.usize(..PODS);
        match self.rng.u8(..8) {
            0..2 => Step::DeleteCompiled { network },
            2..6 => Step::EditCompiled { network, setting },
            6 => Step::DeleteState { node },
            _ => Step::EditState { node },
        }
    }

    fn apply_network(&mut self, network: usize) -> Step {
        self.networks.insert(network);
        let vlans = [("Access", Some(7)), ("Access", Some(100)), ("Trunk", None), ("NativeTagged", Some(5))];
        let vlan = self.rng.bool().then(|| self.one_of(&vlans));
        let requested = RequestedNetwork {
            mtu: self.one_of(&[1400, 1500, 1500, 9000]),
            age: self.one_of(&[300, 600]),
            vlan,
            rate: self.one_of(&[None, None, Some(1000), Some(20_000)]),
            fixed: self.rng.bool().then(|| self.rng.usize(..PODS)),
            zone: self.zone(),
            team: self.one_of(&[None, None, None, Some("red")]),
            vhost_user: self.rng.bool(),
        };
        Step::ApplyNetwork { network, requested }
    }

    fn definition(&mut self) -> Option<Step> {
        let (namespace, network) = (self.rng.usize(..NAMESPACES), self.rng.usize(..FIRST_OLD));
        Some(match self.rng.u8(..6) {
            0 | 1 => {
                let by_hand = ByHand { namespace, network, is_for_us: self.rng.bool() };
                self.by_hand.push(by_hand);
                Step::AddDefinition(by_hand)
            }
            2 => Step::RemoveDefinition(self.by_hand.pop()?),
            3 | 4 => Step::EditGenerated { namespace, network },
            _ => Step::DeleteGenerated { namespace, network },
        })
    }

    fn old(&mut self) -> Option<Step> {
        let (namespace, copy) = (self.rng.usize(..OLD_NAMESPACES), self.rng.usize(..OLD_COPIES));
        let old = Old { namespace, network: self.rng.usize(FIRST_OLD..NETWORKS), copy };
        let is_other = self.rng.u8(..4) == 0;
        let there: Vec<Old> = self.old.iter().copied().collect();
        if there.is_empty() || self.rng.bool() {
            return Some(self.apply_old(old, is_other));
        }
        let old = self.one_of(&there);
        self.old.remove(&old);
        Some(Step::DeleteOld { old })
    }

    fn apply_old(&mut self, old: Old, is_other: bool) -> Step {
        self.old.insert(old);
        Step::ApplyOld { old, is_other }
    }

    fn namespace(&mut self) -> Option<Step> {
        let namespace = self.rng.usize(..NAMESPACES);
        Some(match self.rng.u8(..5) {
            0 => {
                self.old.retain(|old| old.namespace != namespace);
                Step::DeleteNamespace { namespace }
            }
            _ => self.apply_namespace(namespace),
        })
    }

    fn apply_namespace(&mut self, namespace: usize) -> Step {
        Step::ApplyNamespace { namespace, team: self.one_of(&[None, Some("red"), Some("red"), Some("blue")]) }
    }

    fn node(&mut self) -> Option<Step> {
        let (node, ghost, zone) = (self.rng.usize(..2), self.rng.usize(..GHOSTS), self.zone());
        Some(match self.rng.u8(..12) {
            0..4 => Step::LabelNode { node, zone },
            4..8 => Step::AddGhost { ghost, zone },
            8..11 => Step::RemoveGhost { ghost },
            _ if !self.stopped.has_node(node) => return None,
            _ => {
                self.stopped.stop(StoppedPart::Node(node), self.rng.usize(1..12));
                Step::DeleteNode { node }
            }
        })
    }

    fn zone(&mut self) -> Option<&'static str> {
        self.one_of(&[None, None, None, None, None, Some("east"), Some("west")])
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }
}

#[test]
fn a_run_follows_from_its_seed_and_ends_with_everything_running() {
    assert_eq!(steps(7, 300), steps(7, 300));
    assert_ne!(steps(7, 300), steps(8, 300));
    for seed in 0..20 {
        let steps = steps(seed, 500);
        let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
        let stopped =
            |step: &Step| matches!(step, Step::StopEngine { .. } | Step::StopApiServer | Step::DeleteNode { .. });
        let started =
            |step: &Step| matches!(step, Step::StartEngine { .. } | Step::StartApiServer | Step::ReturnNode { .. });
        assert_eq!(count(stopped), count(started));
    }
}
