//! The steps of a week follow from a seed alone, so that a week that went wrong can be lived again.

use super::steps::{
    ByHand, FIRST_OLD, FOREIGN, GHOSTS, NAMESPACES, NETWORKS, OLD_COPIES, OLD_NAMESPACES, Old, PODS, Part, Place, Step,
    Wishes, adopted,
};
use fastrand::Rng;
use std::collections::BTreeMap;

/// What is off, and for how many steps more; and which pods are attached as far as the steps know.
struct Life {
    rng: Rng,
    off: BTreeMap<Off, usize>,
    attached: [bool; PODS],
}

/// What comes back after some steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Off {
    ApiServer,
    Engine(usize, Part),
    Node(usize),
}

impl Off {
    const fn back(self) -> Step {
        match self {
            Self::ApiServer => Step::StartApiServer,
            Self::Engine(node, part) => Step::StartEngine { node, part },
            Self::Node(node) => Step::ReturnNode { node },
        }
    }
}

/// The steps of a week. All that was stopped is started again by the end.
pub(super) fn steps(seed: u64, count: usize) -> Vec<Step> {
    let mut life = Life { rng: Rng::with_seed(seed), off: BTreeMap::new(), attached: [false; PODS] };
    let mut steps: Vec<Step> = (0..NAMESPACES).map(|namespace| life.apply_namespace(namespace)).collect();
    let places = adopted().map(Place::OfNetwork);
    steps.extend(places.flat_map(|place| [0, 1].map(|node| Step::AddForeignBridge { node, place })));
    steps.extend((0..FIRST_OLD).map(|network| life.apply_network(network)));
    let first = |network| Old { namespace: 0, network, copy: 0 };
    steps.extend((FIRST_OLD..NETWORKS).map(|network| Step::ApplyOld { old: first(network), is_other: false }));
    while steps.len() < count {
        let step = life.due().unwrap_or_else(|| life.any());
        steps.push(step);
    }
    // The API server first: nodes need it.
    steps.extend(life.off.into_keys().map(Off::back));
    steps
}

impl Life {
    /// What was stopped some steps ago. A node needs the API server to come back.
    fn due(&mut self) -> Option<Step> {
        self.off.values_mut().for_each(|left| *left = left.saturating_sub(1));
        let can = |off: Off| !matches!(off, Off::Node(_)) || self.has_api_server();
        let (off, _) = self.off.iter().find(|(off, left)| **left == 0 && can(**off))?;
        let off = *off;
        self.off.remove(&off);
        Some(off.back())
    }

    fn has_api_server(&self) -> bool {
        !self.off.contains_key(&Off::ApiServer)
    }

    fn any(&mut self) -> Step {
        loop {
            let step = match self.rng.usize(..100) {
                0..35 => self.pod(),
                35..51 => self.foreign(),
                51..54 => self.part(),
                // What follows asks the API server.
                _ if !self.has_api_server() => continue,
                54..73 => self.network(),
                73..80 => self.definition(),
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
        self.attached[pod] = !self.attached[pod];
        if !self.attached[pod] {
            return Some(Step::Detach { pod });
        }
        let (namespace, network) = (self.rng.usize(..NAMESPACES), self.rng.usize(..NETWORKS));
        Some(match self.rng.u8(..8) {
            0 => Step::KilledAttach { pod, namespace, network, after: self.rng.u64(..30) },
            _ => Step::Attach { pod, namespace, network },
        })
    }

    fn foreign(&mut self) -> Option<Step> {
        let (node, network, port) = (self.rng.usize(..2), self.rng.usize(..NETWORKS), self.rng.usize(..PODS));
        let adopted: Vec<usize> = adopted().collect();
        let place = match self.rng.u8(..4) {
            0 => Place::OfNetwork(network),
            1 => Place::OfNetwork(self.one_of(&adopted)),
            _ => Place::Own(self.rng.usize(..FOREIGN)),
        };
        Some(match self.rng.u8(..14) {
            0..3 => Step::AddForeignBridge { node, place },
            3 | 4 => Step::RemoveForeignBridge { node, place },
            5 => Step::AddForeignPort { node, network },
            6 => Step::RemoveForeignPort { node, network },
            7 => Step::RemoveBridge { node, network },
            8 | 9 => Step::RemovePort { node, network, port },
            10..12 => Step::ChangeBridge { node, network, setting: port },
            _ => Step::ChangePort { node, network, port },
        })
    }

    /// A part of usnet, or one that it needs, goes.
    fn part(&mut self) -> Option<Step> {
        let node = self.rng.usize(..2);
        match self.rng.u8(..14) {
            0..3 if self.has_api_server() => Some(Step::KillAgent { node }),
            3 if self.has_api_server() => Some(Step::KillControllers),
            4 | 5 if self.has_api_server() => Some(Step::KillLeader),
            6 if self.has_api_server() => {
                self.off.insert(Off::ApiServer, self.rng.usize(5..20));
                Some(Step::StopApiServer)
            }
            7..14 => {
                let part = self.one_of(&[Part::Vpp, Part::Vpp, Part::OpenVswitch, Part::Database, Part::Switch]);
                let is_same =
                    |off: &Off| matches!(off, Off::Engine(on, other) if *on == node && other.engine() == part.engine());
                if self.off.keys().any(is_same) {
                    return None;
                }
                self.off.insert(Off::Engine(node, part), self.rng.usize(2..15));
                Some(Step::StopEngine { node, part })
            }
            _ => None,
        }
    }

    fn network(&mut self) -> Option<Step> {
        let network = self.rng.usize(..FIRST_OLD);
        Some(match self.rng.u8(..7) {
            0 => Step::DeleteNetwork { network },
            // Whatever a person does to a network that follows from definitions is put right again.
            1 if self.rng.bool() => Step::DeleteNetwork { network: self.rng.usize(FIRST_OLD..NETWORKS) },
            _ => self.apply_network(network),
        })
    }

    fn apply_network(&mut self, network: usize) -> Step {
        let vlans = [("Access", Some(7)), ("Access", Some(100)), ("Trunk", None), ("NativeTagged", Some(5))];
        let vlan = self.rng.bool().then(|| self.one_of(&vlans));
        let wishes = Wishes {
            mtu: self.one_of(&[1400, 1500, 1500, 9000]),
            age: self.one_of(&[300, 600]),
            vlan,
            rate: self.one_of(&[None, None, Some(1000), Some(20_000)]),
            fixed: self.rng.bool().then(|| self.rng.usize(..PODS)),
            zone: self.zone(),
            team: self.one_of(&[None, None, None, Some("red")]),
            vhost_user: self.rng.bool(),
        };
        Step::ApplyNetwork { network, wishes }
    }

    fn definition(&mut self) -> Option<Step> {
        let (namespace, network) = (self.rng.usize(..NAMESPACES), self.rng.usize(..FIRST_OLD));
        let by_hand = ByHand { namespace, network, is_for_us: self.rng.bool() };
        Some(match self.rng.u8(..6) {
            0 | 1 => Step::AddDefinition(by_hand),
            2 => Step::RemoveDefinition(by_hand),
            3 | 4 => Step::EditGenerated { namespace, network },
            _ => Step::DeleteGenerated { namespace, network },
        })
    }

    fn old(&mut self) -> Option<Step> {
        let (namespace, copy) = (self.rng.usize(..OLD_NAMESPACES), self.rng.usize(..OLD_COPIES));
        let old = Old { namespace, network: self.rng.usize(FIRST_OLD..NETWORKS), copy };
        let is_other = self.rng.u8(..4) == 0;
        Some(if self.rng.bool() { Step::ApplyOld { old, is_other } } else { Step::DeleteOld { old } })
    }

    fn namespace(&mut self) -> Option<Step> {
        let namespace = self.rng.usize(..NAMESPACES);
        Some(match self.rng.u8(..5) {
            0 => Step::DeleteNamespace { namespace },
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
            _ if self.off.contains_key(&Off::Node(node)) => return None,
            _ => {
                self.off.insert(Off::Node(node), self.rng.usize(1..12));
                Step::DeleteNode { node }
            }
        })
    }

    fn zone(&mut self) -> Option<&'static str> {
        self.one_of(&[None, None, None, Some("east"), Some("west")])
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }
}

#[test]
fn a_week_follows_from_its_seed_and_ends_with_everything_running() {
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
