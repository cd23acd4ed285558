//! What happens in a week of life: steps that follow from a seed alone, so that a week that went wrong can be lived again.

use fastrand::Rng;
use std::collections::BTreeMap;
use usnet_crds::Engine;

/// Networks that come and go; even ones are of Open vSwitch, odd ones of VPP. Some share a bridge, which only one of them can have.
pub(super) const NETWORKS: usize = 14;
/// Namespaces that come, go and change their team.
pub(super) const NAMESPACES: usize = 5;
/// Pods that attach and leave; even ones are on the first node.
pub(super) const PODS: usize = 24;
/// Nodes without anything behind them.
pub(super) const GHOSTS: usize = 4;
/// Bridges of somebody else.
pub(super) const FOREIGN: usize = 6;
const BRIDGES: usize = 5;

/// One step. Numbers name things; what they are called is [`super::names`]' business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    ApplyNetwork {
        network: usize,
        wishes: Wishes,
    },
    DeleteNetwork {
        network: usize,
    },
    ApplyNamespace {
        namespace: usize,
        team: Option<&'static str>,
    },
    DeleteNamespace {
        namespace: usize,
    },
    LabelNode {
        node: usize,
        zone: Option<&'static str>,
    },
    AddGhost {
        ghost: usize,
        zone: Option<&'static str>,
    },
    RemoveGhost {
        ghost: usize,
    },
    /// A definition with the name of a network, made by somebody.
    AddForeignDefinition {
        namespace: usize,
        network: usize,
    },
    RemoveForeignDefinition {
        namespace: usize,
        network: usize,
    },
    EditDefinition {
        namespace: usize,
        network: usize,
    },
    DeleteDefinition {
        namespace: usize,
        network: usize,
    },
    Attach {
        pod: usize,
        namespace: usize,
        network: usize,
    },
    /// An ADD that is killed so many milliseconds after its start.
    KilledAttach {
        pod: usize,
        namespace: usize,
        network: usize,
        after: u64,
    },
    Detach {
        pod: usize,
    },
    KillAgent {
        node: usize,
    },
    KillController,
    StopEngine {
        node: usize,
        engine: Engine,
    },
    StartEngine {
        node: usize,
        engine: Engine,
    },
    StopApiServer,
    StartApiServer,
    AddForeignBridge {
        node: usize,
        engine: Engine,
        place: Place,
    },
    RemoveForeignBridge {
        node: usize,
        engine: Engine,
        place: Place,
    },
    /// Somebody takes away a bridge of ours.
    RemoveBridge {
        node: usize,
        network: usize,
    },
    /// Somebody takes away the port number `port` of a network of ours, counted round.
    RemovePort {
        node: usize,
        network: usize,
        port: usize,
    },
    /// Somebody changes a field of such a port, or the MTU of the bridge.
    ChangeField {
        node: usize,
        network: usize,
        port: usize,
    },
}

/// Where somebody makes a bridge: where nobody else wants one, or where a network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Own(usize),
    OfNetwork(usize),
}

/// What a network asks for this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wishes {
    pub(super) mtu: i64,
    pub(super) age: i64,
    pub(super) tag: Option<i64>,
    pub(super) zone: Option<&'static str>,
    pub(super) team: Option<&'static str>,
    pub(super) vhost_user: bool,
}

/// The engine of a network.
pub(super) const fn engine(network: usize) -> Engine {
    if network.is_multiple_of(2) { Engine::OpenVswitch } else { Engine::Vpp }
}

/// Which of its engine's bridges a network asks for.
pub(super) const fn bridge(network: usize) -> usize {
    (network / 2) % BRIDGES
}

/// What is off, and for how many steps more; and which pods are attached as far as the steps know.
struct Life {
    rng: Rng,
    engines_off: BTreeMap<(usize, Engine), usize>,
    api_server_off: Option<usize>,
    attached: [bool; PODS],
}

/// The steps of a week. All that was stopped is started again by the end.
pub(super) fn steps(seed: u64, count: usize) -> Vec<Step> {
    let mut life =
        Life { rng: Rng::with_seed(seed), engines_off: BTreeMap::new(), api_server_off: None, attached: [false; PODS] };
    let mut steps: Vec<Step> = (0..NAMESPACES).map(|namespace| life.apply_namespace(namespace)).collect();
    steps.extend((0..NETWORKS).map(|network| life.apply_network(network)));
    while steps.len() < count {
        let step = life.due().unwrap_or_else(|| life.any());
        steps.push(step);
    }
    steps.extend(life.engines_off.keys().map(|&(node, engine)| Step::StartEngine { node, engine }));
    steps.extend(life.api_server_off.map(|_| Step::StartApiServer));
    steps
}

impl Life {
    /// What was stopped some steps ago.
    fn due(&mut self) -> Option<Step> {
        if let Some(left) = &mut self.api_server_off {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.api_server_off = None;
                return Some(Step::StartApiServer);
            }
        }
        self.engines_off.values_mut().for_each(|left| *left = left.saturating_sub(1));
        let (&(node, engine), _) = self.engines_off.iter().find(|(_, left)| **left == 0)?;
        self.engines_off.remove(&(node, engine));
        Some(Step::StartEngine { node, engine })
    }

    fn any(&mut self) -> Step {
        loop {
            let step = match self.rng.usize(..100) {
                0..38 => self.pod(),
                38..52 => self.foreign(),
                52..54 => self.parts(),
                // What follows asks the API server.
                _ if self.api_server_off.is_some() => continue,
                54..76 => self.network(),
                76..84 => self.definition(),
                84..91 => self.namespace(),
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
        let place = match self.rng.u8(..3) {
            0 => Place::OfNetwork(network),
            _ => Place::Own(self.rng.usize(..FOREIGN)),
        };
        let engine = match place {
            Place::OfNetwork(network) => engine(network),
            Place::Own(number) => engine(number),
        };
        Some(match self.rng.u8(..10) {
            0..3 => Step::AddForeignBridge { node, engine, place },
            3 | 4 => Step::RemoveForeignBridge { node, engine, place },
            5 => Step::RemoveBridge { node, network },
            6 | 7 => Step::RemovePort { node, network, port },
            _ => Step::ChangeField { node, network, port },
        })
    }

    /// A part of usnet, or one that it needs, goes.
    fn parts(&mut self) -> Option<Step> {
        let node = self.rng.usize(..2);
        match self.rng.u8(..12) {
            0..4 if self.api_server_off.is_none() => Some(Step::KillAgent { node }),
            4 | 5 if self.api_server_off.is_none() => Some(Step::KillController),
            6 if self.api_server_off.is_none() => {
                self.api_server_off = Some(self.rng.usize(5..20));
                Some(Step::StopApiServer)
            }
            7..12 => {
                let engine = if self.rng.bool() { Engine::OpenVswitch } else { Engine::Vpp };
                if self.engines_off.contains_key(&(node, engine)) {
                    return None;
                }
                self.engines_off.insert((node, engine), self.rng.usize(2..15));
                Some(Step::StopEngine { node, engine })
            }
            _ => None,
        }
    }

    fn network(&mut self) -> Option<Step> {
        let network = self.rng.usize(..NETWORKS);
        Some(match self.rng.u8(..7) {
            0 => Step::DeleteNetwork { network },
            _ => self.apply_network(network),
        })
    }

    fn apply_network(&mut self, network: usize) -> Step {
        let wishes = Wishes {
            mtu: self.one_of(&[1400, 1500, 1500, 9000]),
            age: self.one_of(&[300, 600]),
            tag: self.one_of(&[None, Some(7), Some(100)]),
            zone: self.zone(),
            team: self.one_of(&[None, None, None, Some("red")]),
            vhost_user: self.rng.bool(),
        };
        Step::ApplyNetwork { network, wishes }
    }

    fn definition(&mut self) -> Option<Step> {
        let (namespace, network) = (self.rng.usize(..NAMESPACES), self.rng.usize(..NETWORKS));
        Some(match self.rng.u8(..6) {
            0 | 1 => Step::AddForeignDefinition { namespace, network },
            2 => Step::RemoveForeignDefinition { namespace, network },
            3 | 4 => Step::EditDefinition { namespace, network },
            _ => Step::DeleteDefinition { namespace, network },
        })
    }

    fn namespace(&mut self) -> Option<Step> {
        let namespace = self.rng.usize(..NAMESPACES);
        Some(match self.rng.u8(..5) {
            0 => Step::DeleteNamespace { namespace },
            _ => self.apply_namespace(namespace),
        })
    }

    fn apply_namespace(&mut self, namespace: usize) -> Step {
        Step::ApplyNamespace { namespace, team: self.team() }
    }

    fn node(&mut self) -> Option<Step> {
        let (node, ghost, zone) = (self.rng.usize(..2), self.rng.usize(..GHOSTS), self.zone());
        Some(match self.rng.u8(..3) {
            0 => Step::LabelNode { node, zone },
            1 => Step::AddGhost { ghost, zone },
            _ => Step::RemoveGhost { ghost },
        })
    }

    fn zone(&mut self) -> Option<&'static str> {
        self.one_of(&[None, None, None, Some("east"), Some("west")])
    }

    fn team(&mut self) -> Option<&'static str> {
        self.one_of(&[None, Some("red"), Some("red"), Some("blue")])
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
        let stopped = count(|step| matches!(step, Step::StopEngine { .. } | Step::StopApiServer));
        assert_eq!(stopped, count(|step| matches!(step, Step::StartEngine { .. } | Step::StartApiServer)));
    }
}
