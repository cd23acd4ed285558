//! What can happen in a week of life. Numbers name things; what they are called is [`crate::soak::steps::names`]' business.

pub(crate) mod names;
pub(crate) mod seed;
pub(crate) mod stopped;

use usnet_crds::EngineKind;

/// Networks that people write and whose bridges usnet makes. Some share a bridge, which only one of them can have.
const MANAGED: usize = 14;
/// Networks that adopt a bridge that somebody else makes and takes away.
const ADOPTED: usize = 4;
/// Networks that follow from definitions of the older userspace CNI. The last two are of bridges that networks of people want as well.
const OLD: usize = 6;
const JOINING: usize = 2;
/// All networks: managed ones, adopting ones, those of definitions. Even ones are of Open vSwitch, odd ones of VPP.
pub(crate) const NETWORKS: usize = FIRST_OLD + OLD;
/// The networks that people write come before this one.
pub(crate) const FIRST_OLD: usize = MANAGED + ADOPTED;
/// Namespaces that come, go and change their team.
pub(crate) const NAMESPACES: usize = 5;
/// Namespaces, the first ones, that have definitions of the older userspace CNI, and how many each has for one bridge.
pub(crate) const OLD_NAMESPACES: usize = 3;
pub(crate) const OLD_COPIES: usize = 2;
/// Pods that attach and leave; even ones are on the first node.
pub(crate) const PODS: usize = 24;
/// Nodes without anything behind them.
pub(crate) const GHOSTS: usize = 4;
/// Bridges of somebody else that no network asks for.
pub(crate) const FOREIGN: usize = 6;
const BRIDGES: usize = 5;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Not of a network that follows from definitions.
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
    /// The Node object goes while its kubelet and its agent run.
    DeleteNode {
        node: usize,
    },
    /// The kubelet of such a node starts again, and makes another Node object.
    ReturnNode {
        node: usize,
    },
    AddGhost {
        ghost: usize,
        zone: Option<&'static str>,
    },
    RemoveGhost {
        ghost: usize,
    },
    /// A definition that somebody made.
    AddDefinition(ByHand),
    RemoveDefinition(ByHand),
    EditGenerated {
        namespace: usize,
        network: usize,
    },
    DeleteGenerated {
        namespace: usize,
        network: usize,
    },
    /// Somebody deletes what the controller wrote for the agents.
    DeleteCompiled {
        network: usize,
    },
    /// Somebody changes it; `setting` is counted round.
    EditCompiled {
        network: usize,
        setting: usize,
    },
    /// Somebody deletes the state of a node.
    DeleteState {
        node: usize,
    },
    /// Somebody changes the labels in it.
    EditState {
        node: usize,
    },
    /// A definition of the older userspace CNI, new or changed.
    ApplyOld {
        old: Old,
        is_other: bool,
    },
    DeleteOld {
        old: Old,
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
    KillControllers,
    KillLeader,
    StopEngine {
        node: usize,
        part: Part,
    },
    StartEngine {
        node: usize,
        part: Part,
    },
    StopApiServer,
    StartApiServer,
    AddForeignBridge {
        node: usize,
        place: Place,
    },
    RemoveForeignBridge {
        node: usize,
        place: Place,
    },
    /// Somebody puts a port of theirs on the bridge of a network.
    AddForeignPort {
        node: usize,
        network: usize,
    },
    RemoveForeignPort {
        node: usize,
        network: usize,
    },
    /// Somebody takes away a bridge of ours.
    RemoveBridge {
        node: usize,
        network: usize,
    },
    /// Somebody takes away the port number `port` of ours, counted round, of a network.
    RemovePort {
        node: usize,
        network: usize,
        port: usize,
    },
    /// Somebody changes something of such a port.
    ChangePort {
        node: usize,
        network: usize,
        port: usize,
    },
    /// Somebody changes the bridge of a network, which is ours; `setting` is counted round.
    ChangeBridge {
        node: usize,
        network: usize,
        setting: usize,
    },
}

/// Where somebody makes a bridge: where nobody else wants one, or where a network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Even ones are of Open vSwitch, odd ones of VPP.
    Own(usize),
    OfNetwork(usize),
}

/// A definition that somebody writes for a network or beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ByHand {
    pub(crate) namespace: usize,
    pub(crate) network: usize,
    /// Whether it names the network, for our plugin. If not it has the name of the network, for a plugin of theirs.
    pub(crate) is_for_us: bool,
}

/// Which definition of the older userspace CNI: for the bridge of that network, in that namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Old {
    pub(crate) namespace: usize,
    pub(crate) network: usize,
    pub(crate) copy: usize,
}

/// Programs of an engine that end together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Vpp,
    OpenVswitch,
    /// `ovsdb-server` alone.
    Database,
    /// `ovs-vswitchd` alone.
    Switch,
}

impl Part {
    pub(crate) const fn engine(self) -> EngineKind {
        match self {
            Self::Vpp => EngineKind::Vpp,
            Self::OpenVswitch | Self::Database | Self::Switch => EngineKind::OpenVswitch,
        }
    }
}

/// What a network asks for this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) mtu: i64,
    pub(crate) age: i64,
    /// The mode and, where it has one, the tag. VPP takes only the mode `Access`.
    pub(crate) vlan: Option<(&'static str, Option<i64>)>,
    pub(crate) rate: Option<i64>,
    /// A pod whose name fixes its VLAN and its rate.
    pub(crate) fixed: Option<usize>,
    pub(crate) zone: Option<&'static str>,
    pub(crate) team: Option<&'static str>,
    pub(crate) vhost_user: bool,
}

/// The engine of a network.
pub(crate) const fn engine(network: usize) -> EngineKind {
    if network.is_multiple_of(2) { EngineKind::OpenVswitch } else { EngineKind::Vpp }
}

/// Whether a network adopts its bridge.
pub(crate) const fn is_adopted(network: usize) -> bool {
    MANAGED <= network && network < FIRST_OLD
}

/// The networks that adopt their bridges.
pub(crate) fn adopted() -> impl Iterator<Item = usize> {
    (0..NETWORKS).filter(|network| is_adopted(*network))
}

/// Which of its engine's bridges a network asks for.
pub(crate) const fn bridge(network: usize) -> usize {
    const FIRST_JOINING: usize = NETWORKS - JOINING;
    match network {
        0..MANAGED => (network / 2) % BRIDGES,
        FIRST_JOINING..NETWORKS => bridge(network - FIRST_JOINING),
        _ => network,
    }
}

#[test]
fn networks_of_people_share_some_bridges_among_each_other_and_with_definitions() {
    let sharing = |one: usize| {
        let others = (0..NETWORKS).filter(|other| engine(*other) == engine(one) && bridge(*other) == bridge(one));
        others.collect::<Vec<_>>()
    };
    assert_eq!(sharing(0), [0, 10, 22]);
    assert_eq!(sharing(1), [1, 11, 23]);
    assert_eq!(sharing(4), [4]);
    assert!(adopted().chain(FIRST_OLD..NETWORKS - JOINING).all(|network| sharing(network) == [network]));
}
