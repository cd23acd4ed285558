//! What to do about a reason that an agent or the controller reports: docs/errors.md in one
//! sentence each. Their messages often say the same with names; that is then the why.

/// Reasons, and what to do.
const REMEDIES: [(&str, &str); 56] = [
    (
        "BridgeExists",
        "remove the bridge that usnet does not own from the node, or create a network with another spec.bridge.name or spec.bridge.id",
    ),
    (
        "BridgeConflict",
        "give one of the two networks another bridge (create it again: a bridge cannot change), or other nodes",
    ),
    (
        "BridgeMissing",
        "create the bridge that the network adopts on the node, or exclude the node with spec.nodeSelector",
    ),
    ("BridgeUnusable", "change the adopted bridge as the message says, or create a network that adopts another one"),
    ("GatewayExists", "remove the interface that usnet does not own from the bridge domain, or remove spec.gateway"),
    (
        "GatewayHeld",
        "find the pod that claims so many addresses and delete it; the gateway comes back by itself, later each time",
    ),
    (
        "PeersUnknown",
        "give the Node an InternalIP that a device of the node has; with an API server it then recovers by itself",
    ),
    ("NodePrefixExhausted", "append a range to spec.ipam.ranges, or use another spec.ipam.nodePrefix"),
    (
        "UnderlayExhausted",
        "use a larger spec.underlay.subnet of the uplink, or exclude the node with spec.nodeSelector",
    ),
    ("EngineRefused", "look at the log of the engine on the node; the agent retries, at most 30 s apart"),
    (
        "EngineUnreachable",
        "start the engine on the node (ovsdb-server and ovs-vswitchd, or VPP); everything else recovers by itself",
    ),
    (
        "Disconnected",
        "start the engine on the node (ovsdb-server and ovs-vswitchd, or VPP); everything else recovers by itself",
    ),
    ("NotActing", "start ovs-vswitchd on the node and look at its log; for VPP use a release from 23.06 to 26.06"),
    ("NeverSeen", "start the engine on the node, or give the networks a spec.nodeSelector without this node"),
    ("MissingPrivilege", "install config/default, whose agents have CAP_NET_ADMIN, or set spec.topology to NodeLocal"),
    ("UplinkNotReady", "look at the uplink: kubectl describe usu NAME"),
    ("UplinkMissing", "create the UserspaceUplink, or name another one in spec.topology.uplink.name"),
    ("UplinkUnusable", "correct the uplink, or name another one of the network's engine"),
    ("VlanNotAvailable", "use a VLAN that spec.vlans of the uplink lists, or add it there"),
    ("VlanTaken", "use another VLAN, or wait until the other network is gone"),
    ("VniTaken", "leave spec.topology.overlay.vni out, or use another; remove a device that is not usnet's"),
    ("MulticastGroupRequired", "set spec.topology.overlay.multicastGroup, or select fewer nodes"),
    ("PortTaken", "use another spec.topology.overlay.port, or remove the program or device that has it"),
    ("MtuTooLarge", "use a smaller spec.bridge.mtu, or a larger MTU of the node's device"),
    (
        "OverlayUnprotected",
        "load the kernel's module nf_tables on the node, or use a kernel that has it; until then no new overlay is created there",
    ),
    ("DeviceFailed", "act on the kernel's error in the message; the agent retries, at most 30 s apart"),
    ("PortFailed", "act on the engine's error in the message: it names the port; look at the log of the engine"),
    (
        "EngineUnsuitable",
        "as the message says: start Open vSwitch with DPDK, or load VPP's plugin; everything else recovers by itself",
    ),
    ("StateNotWritable", "free space in /var/lib/usnet and /run/usnet on the node, or mount them writable"),
    (
        "AddressTaken",
        "end the other program of the node, or set another port: agent.metricsPort of the chart, or --listen-metrics of the agent",
    ),
    ("Unreadable", "use the same release of usnet for controllers and agents"),
    ("AgentFailed", "check the disk and the mounts of the file that the message names"),
    (
        "NicMissing",
        "connect the NIC, correct its device in the uplink, or exclude the node with spec.nics[].nodeSelector",
    ),
    ("NicCarriesNode", "use another NIC, or nodeTraffic: Shared with networks that have a VLAN"),
    ("NicTaken", "remove the NIC from the other bridge or uplink, or use another NIC"),
    ("NicLost", "connect the NIC again; everything else recovers by itself"),
    (
        "NicMergesPackets",
        "switch off what merges received packets, with the command in the message (`ethtool -K`), or use another NIC",
    ),
    ("UplinkUnsupported", "use what this release supports, as the message says"),
    ("Invalid", "correct the field that the message names"),
    (
        "AddressesNotUnique",
        "set spec.ipam.nodePrefix, or use an IPAM plugin with one pool for all nodes, such as whereabouts",
    ),
    (
        "NameConflict",
        "rename or delete the NetworkAttachmentDefinition that usnet does not own, or exclude its namespace with spec.namespaceSelector",
    ),
    (
        "DefinitionRefused",
        "raise the quota or change the admission policy of the namespace that the message quotes, or exclude the namespace with spec.namespaceSelector",
    ),
    ("Unavailable", "install Multus, whose CRD is missing, or see docs/without-multus.md"),
    ("CompiledNetworkRefused", "shorten what the message names, such as the list of namespaces or spec.attachments"),
    ("InUse", "delete the pods that still use it; the message names up to 10"),
    ("ForeignPorts", "remove the ports that usnet does not own from the bridge on the node"),
    (
        "RecordUnreadable",
        "upgrade usnet on the node, or move the record away that the agent's log names if its pod is gone",
    ),
    (
        "NotConnected",
        "make the program take the side of the socket that the message names (net1.json in the volume has it as role), and have its container remove the old socket before it starts: rm -f",
    ),
    ("DeviceMissing", "delete the pod, whose successor gets a new interface; find out what deleted the device"),
    (
        "SocketUnusable",
        "remove what the pod has left at the path of the socket in its volume; the agent retries, at most 30 s apart",
    ),
    ("Waiting", "wait; if it stays, look at the log of the agent of the node"),
    ("Pending", "wait; if it stays, look at the log of the agent of the node"),
    ("Starting", "wait; if it stays, look at the log of the agent of the node"),
    ("Syncing", "wait; if it stays, look at the log of the agent of the node"),
    ("WaitingForController", "wait; if it stays, look at the log of the controller that leads"),
    ("Terminating", "wait; if it stays, look at the log of the controller that leads"),
];

/// What to do about a reason. Reasons of other releases have an answer as well.
pub(crate) fn remedy(reason: &str) -> &'static str {
    let found = REMEDIES.iter().find(|(known, _)| *known == reason);
    found.map_or("act on the message; docs/errors.md has each reason", |(_, remedy)| remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::conditions::reason;

    const NEED_AN_OPERATOR: &[&str] = &[
        reason::BRIDGE_EXISTS,
        reason::BRIDGE_CONFLICT,
        reason::BRIDGE_MISSING,
        reason::BRIDGE_UNUSABLE,
        reason::GATEWAY_EXISTS,
        reason::PEERS_UNKNOWN,
        reason::NODE_PREFIX_EXHAUSTED,
        reason::ENGINE_REFUSED,
        reason::ENGINE_UNSUITABLE,
        reason::ENGINE_UNREACHABLE,
        reason::ENGINE_STALLED,
        reason::NEVER_SEEN,
        reason::DISCONNECTED,
        reason::MISSING_PRIVILEGE,
        reason::UPLINK_NOT_READY,
        reason::UPLINK_MISSING,
        reason::UPLINK_UNUSABLE,
        reason::VLAN_NOT_AVAILABLE,
        reason::VLAN_TAKEN,
        reason::VNI_TAKEN,
        reason::MULTICAST_GROUP_REQUIRED,
        reason::PORT_TAKEN,
        reason::MTU_TOO_LARGE,
        reason::DEVICE_FAILED,
        reason::PORT_FAILED,
        reason::STATE_NOT_WRITABLE,
        reason::ADDRESS_TAKEN,
        reason::UNREADABLE,
        reason::AGENT_FAILED,
        reason::NIC_MISSING,
        reason::NIC_CARRIES_NODE,
        reason::NIC_TAKEN,
        reason::NIC_LOST,
        reason::NIC_MERGES_PACKETS,
        reason::OVERLAY_UNPROTECTED,
        reason::UPLINK_UNSUPPORTED,
        reason::INVALID,
        reason::ADDRESSES_NOT_UNIQUE,
        reason::NAME_CONFLICT,
        reason::DEFINITION_REFUSED,
        reason::UNAVAILABLE,
        reason::COMPILED_NETWORK_REFUSED,
        reason::IN_USE,
        reason::FOREIGN_PORTS,
        reason::RECORD_UNREADABLE,
        reason::NOT_CONNECTED,
        reason::DEVICE_MISSING,
        reason::SOCKET_UNUSABLE,
        reason::WAITING,
    ];

    #[test]
    fn every_reason_that_needs_an_operator_has_a_remedy_of_its_own() {
        let fallback = remedy("SomethingElse");
        for reason in NEED_AN_OPERATOR {
            assert_ne!(remedy(reason), fallback, "{reason}");
        }
    }
}
