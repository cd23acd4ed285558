//! What the bridge checks.

use super::{BRIDGE, PORTS};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::ovs::{BridgeFlows, FrameSource, GuardedPorts, NetworkPolicies, PortOwner, guarded_flows};
use usnet_dataplane::port::{Guard, GuardedAddresses};
use usnet_openflow::PortNumber;
use usnet_test_openvswitch::OpenVswitch;

const TIMEOUT: Duration = Duration::from_secs(10);
const ZONE: u16 = 65_000;
/// The namespace of both pods.
const NAMESPACE: &str = "pods";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A switch that learns.
    Off,
    Guards,
    /// Guards, and policies for other pods.
    PoliciesOfOthers,
    /// Guards, and a policy that allows these packets by a block of addresses.
    Policies,
}

impl Mode {
    /// The first is what others are compared with.
    pub(super) const ALL: [Self; 4] = [Self::Off, Self::Guards, Self::PoliciesOfOthers, Self::Policies];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Off => "neither",
            Self::Guards => "antiSpoofing: Address",
            Self::PoliciesOfOthers => "policies for other pods",
            Self::Policies => "a policy for both pods",
        }
    }

    /// How many bursts each port sends, so that in each mode as many frames are on their way: those
    /// of the second port have the address of the first one, and are dropped where that is checked.
    pub(super) const fn bursts(self) -> u32 {
        match self {
            Self::Off => 4,
            Self::Guards | Self::PoliciesOfOthers | Self::Policies => 8,
        }
    }

    /// How many times the cycles of the first one are enough.
    pub(super) const fn at_most(self) -> Option<f64> {
        match self {
            Self::Off => None,
            Self::Guards => Some(1.05),
            Self::PoliciesOfOthers => Some(1.1),
            Self::Policies => Some(2.3),
        }
    }

    /// Has the bridge check that from now on.
    pub(super) fn begin(self, switch: &OpenVswitch) {
        let fail_mode = if self == Self::Off { "standalone" } else { "secure" };
        let words = ["set", "Bridge", BRIDGE, &format!("fail_mode={fail_mode}")];
        switch.vsctl(&words).expect("the bridge changes");
        if self == Self::Off {
            // The flows of policies are not those of a switch that learns.
            switch.vsctl(&["set", "Bridge", BRIDGE, "fail_mode=secure"]).expect("the bridge changes");
            switch.vsctl(&words).expect("the bridge changes");
            return;
        }
        let socket = usnet_openflow::socket(switch.folder(), BRIDGE);
        let policies = self.policies();
        guarded_flows::restore(&socket, TIMEOUT, &BridgeFlows::new(ports(), policies)).expect("the flows are written");
    }

    fn policies(self) -> Option<NetworkPolicies> {
        let namespace = match self {
            Self::Off | Self::Guards => return None,
            Self::PoliciesOfOthers => "others",
            Self::Policies => NAMESPACE,
        };
        let peers = PeerAddresses::Within(["10.9.0.0/24".parse().expect("a block")].into());
        let rule = PolicyRule { peers, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any };
        let policy = Policy {
            namespace: namespace.parse().expect("a name"),
            name: "bench".to_owned(),
            pods: None,
            ingress: Some(vec![rule.clone()]),
            egress: Some(vec![rule]),
        };
        let owner = |place: usize| PortOwner { namespace: NAMESPACE.parse().expect("a name"), uid: place.to_string() };
        let owners = (0..PORTS.len()).map(|place| (attachment(place), owner(place))).collect();
        Some(NetworkPolicies { zone: ZONE, policies: [policy].into(), pods: Default::default(), owners })
    }
}

fn attachment(place: usize) -> AttachmentId {
    format!("{place:064x}.net1").parse().expect("an attachment")
}

fn ports() -> GuardedPorts {
    let pods = PORTS.iter().enumerate().map(|(place, port)| {
        let addresses = [port.address.parse().expect("an address")].into();
        let guard = Guard {
            mac: port.mac.parse().expect("an address"),
            addresses: GuardedAddresses::Only { addresses, dhcp: false },
            pairs: Default::default(),
        };
        let source = FrameSource::Pod { guard, is_trunk: false, is_in_vlan: false, attachment: attachment(place) };
        (PortNumber::new(port.number).expect("a number"), source)
    });
    pods.chain([(PortNumber::LOCAL, FrameSource::Network)]).collect::<BTreeMap<_, _>>()
}
