//! The steps of a run. Numbers identify objects; [`crate::soak::steps::names`] has their names.

pub(crate) mod names;
pub(crate) mod seed;
pub(crate) mod stopped;

use usnet_crds::EngineKind;

/// Networks that users declare and whose bridges usnet creates. Some share a bridge, which only one
/// of them can have.
const MANAGED: usize = 14;
/// Networks that adopt a bridge that another client creates and deletes.
const ADOPTED: usize = 4;
/// Networks that follow from NADs of the legacy userspace CNI. The last two have bridges that
/// declared networks have as well.
const OLD: usize = 6;
const JOINING: usize = 2;
/// All networks: managed ones, adopting ones, those of definitions. Even ones are of Open vSwitch,
/// odd ones of VPP.
pub(crate) const NETWORKS: usize = FIRST_OLD + OLD;
/// The networks that users declare come before this one.
pub(crate) const FIRST_OLD: usize = MANAGED + ADOPTED;
/// Namespaces that come, go and change their team.
pub(crate) const NAMESPACES: usize = 5;
/// Namespaces, the first ones, that have NADs of the legacy userspace CNI, and how many each has
/// for one bridge.
pub(crate) const OLD_NAMESPACES: usize = 3;
pub(crate) const OLD_COPIES: usize = 2;
/// Pods that attach and leave; even ones are on the first node.
pub(crate) const PODS: usize = 24;
/// Nodes without anything behind them.
pub(crate) const GHOSTS: usize = 4;
/// Foreign bridges that no network asks for.
pub(crate) const FOREIGN: usize = 6;
const BRIDGES: usize = 5;

/// A step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Not of a network that follows from definitions.
    ApplyNetwork {
        network: usize,
        requested: RequestedNetwork,
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
    /// A NAD of a user.
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
    /// What the controller wrote for the agents is deleted: what the controller wrote for the
    /// agents.
    DeleteCompiled {
        network: usize,
    },
    /// The object is changed manually; `setting` wraps around.
    EditCompiled {
        network: usize,
        setting: usize,
    },
    /// The state of a node is deleted by hand.
    DeleteState {
        node: usize,
    },
    /// The labels in it are changed by hand.
    EditState {
        node: usize,
    },
    /// A NAD of the legacy userspace CNI, new or changed.
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
    /// A foreign port is added to the bridge of a network.
    AddForeignPort {
        node: usize,
        network: usize,
    },
    RemoveForeignPort {
        node: usize,
        network: usize,
    },
    /// A bridge of usnet is deleted at the engine.
    RemoveBridge {
        node: usize,
        network: usize,
    },
    /// The port number `port` of usnet, counted round, of a network is deleted at the engine.
    RemovePort {
        node: usize,
        network: usize,
        port: usize,
    },
    /// A setting of such a port is changed at the engine.
    ChangePort {
        node: usize,
        network: usize,
        port: usize,
    },
    /// The bridge of a network, owned by usnet, is changed at the engine; `setting` is counted
    /// round.
    ChangeBridge {
        node: usize,
        network: usize,
        setting: usize,
    },
}

/// The name of a foreign bridge: one that no network has, or that of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Even ones are of Open vSwitch, odd ones of VPP.
    Own(usize),
    OfNetwork(usize),
}

/// A NAD that a user writes for a network or beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ByHand {
    pub(crate) namespace: usize,
    pub(crate) network: usize,
    /// Whether it names the network, for our plugin. If not it has the name of the network, for a
    /// plugin of theirs.
    pub(crate) is_for_us: bool,
}

/// Which NAD of the legacy userspace CNI: for the bridge of that network, in that namespace.
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

/// The requested settings of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestedNetwork {
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
fn networks_of_users_share_some_bridges_with_each_other_and_with_definitions() {
    let sharing = |one: usize| {
        let others = (0..NETWORKS).filter(|other| engine(*other) == engine(one) && bridge(*other) == bridge(one));
        others.collect::<Vec<_>>()
    };
    assert_eq!(sharing(0), [0, 10, 22]);
    assert_eq!(sharing(1), [1, 11, 23]);
    assert_eq!(sharing(4), [4]);
    assert!(adopted().chain(FIRST_OLD..NETWORKS - JOINING).all(|network| sharing(network) == [network]));
}
