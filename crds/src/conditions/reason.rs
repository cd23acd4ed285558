//! All reasons of conditions and of networks on a node, in CamelCase as Kubernetes requires.
//! `docs/reference.md` has their doc comments, `docs/errors.md` says what to do about them.

/// Accepted: nothing is wrong with the spec.
pub const VALID: &str = "Valid";
/// Accepted: a field breaks a rule.
pub const INVALID: &str = "Invalid";
/// DefinitionsReady: a NetworkAttachmentDefinition of the network's name is not owned by usnet.
/// Only its namespace is affected.
pub const NAME_CONFLICT: &str = "NameConflict";
/// DefinitionsReady: the API server does not accept the NetworkAttachmentDefinition in a namespace,
/// by a quota or an admission policy. Only that namespace is affected.
pub const DEFINITION_REFUSED: &str = "DefinitionRefused";
/// A network on a node, and Accepted where it is so on every node: another network has the same
/// bridge there.
pub const BRIDGE_CONFLICT: &str = "BridgeConflict";
/// Accepted, and a network on a node: another network or device has the same VNI and UDP port.
pub const VNI_TAKEN: &str = "VniTaken";
/// Accepted: an overlay of more than 250 nodes has no multicast group.
pub const MULTICAST_GROUP_REQUIRED: &str = "MulticastGroupRequired";
/// Accepted: another network of the same routing domain has a subnet that overlaps.
pub const SUBNET_TAKEN: &str = "SubnetTaken";
/// Accepted: pods on different nodes of one segment would get the same addresses.
pub const ADDRESSES_NOT_UNIQUE: &str = "AddressesNotUnique";
/// A network on a node: the addresses of this node or of its peers in the overlay are not known.
pub const PEERS_UNKNOWN: &str = "PeersUnknown";
/// A network on a node: there is no part of its ranges of addresses for the number of the node.
pub const NODE_PREFIX_EXHAUSTED: &str = "NodePrefixExhausted";
/// A network on a node: the underlay of its uplink has no address for the number of the node.
pub const UNDERLAY_EXHAUSTED: &str = "UnderlayExhausted";
/// DefinitionsReady: all exist.
pub const SYNCED: &str = "Synced";
/// DefinitionsReady: some are still to be written.
pub const SYNCING: &str = "Syncing";
/// DefinitionsReady: NetworkAttachmentDefinitions cannot be read, usually because Multus is not
/// installed.
pub const UNAVAILABLE: &str = "Unavailable";
/// Ready, Programmed: every selected node that is reachable carries the network.
pub const ALL_NODES: &str = "AllNodes";
/// Ready, Programmed: no node is selected, so there is nothing to wait for.
pub const NO_MATCHING_NODES: &str = "NoMatchingNodes";
/// Programmed: nodes have not finished yet.
pub const PENDING: &str = "Pending";
/// Ready: no controller has seen it yet. It is the default of the CRD and never written.
pub const WAITING_FOR_CONTROLLER: &str = "WaitingForController";
/// Ready of a node: an engine has not been observed yet.
pub const STARTING: &str = "Starting";
/// Ready, Reconciling: it is being deleted.
pub const TERMINATING: &str = "Terminating";
/// DeletionBlocked, and a network on a node that is being deleted: pods still use it.
pub const IN_USE: &str = "InUse";
/// The condition of an engine: the agent is connected.
pub const CONNECTED: &str = "Connected";
/// The condition of an engine: the engine was never reached on this node.
pub const NEVER_SEEN: &str = "NeverSeen";
/// The condition of an engine: the connection was lost.
pub const DISCONNECTED: &str = "Disconnected";
/// A network on a node, and an event of a pod: its engine is not connected, or does not carry out
/// changes.
pub const ENGINE_UNREACHABLE: &str = "EngineUnreachable";
/// A network on a node: a bridge of that name, or a bridge domain of that id, exists and is not
/// owned by the network.
pub const BRIDGE_EXISTS: &str = "BridgeExists";
/// A network on a node: the bridge that it adopts does not exist.
pub const BRIDGE_MISSING: &str = "BridgeMissing";
/// A network on a node: the bridge that it adopts does not support its ports, or belongs to another
/// network.
pub const BRIDGE_UNUSABLE: &str = "BridgeUnusable";
/// A network on a node: its bridge has a gateway that is not owned by usnet.
pub const GATEWAY_EXISTS: &str = "GatewayExists";
/// A network on a node: its gateway is down for a while, because it has so many neighbours that
/// other networks could be without any.
pub const GATEWAY_HELD: &str = "GatewayHeld";
/// Programmed: the API server rejects the CompiledNetwork from which nodes learn of it, for example
/// because it would be too large.
pub const COMPILED_NETWORK_REFUSED: &str = "CompiledNetworkRefused";
/// DeletionBlocked, and a network on a node: its bridge is to be deleted, and has ports that are
/// not owned by usnet.
pub const FOREIGN_PORTS: &str = "ForeignPorts";
/// Ready of a node: every network is as the spec asks.
pub const ALL_PROGRAMMED: &str = "AllProgrammed";
/// Ready of a node: at least one network is not.
pub const NOT_PROGRAMMED: &str = "NotProgrammed";
/// A network on a node: the engine rejected an operation.
pub const ENGINE_REFUSED: &str = "EngineRefused";
/// A network on a node: the engine, as it runs there, has no ports of the network's type.
pub const ENGINE_UNSUITABLE: &str = "EngineUnsuitable";
/// An attachment: the engine does not have its port, or does not run it.
pub const PORT_FAILED: &str = "PortFailed";
/// An attachment: no program in its pod has been connected to the engine for 30 s.
pub const NOT_CONNECTED: &str = "NotConnected";
/// An attachment: the device on the node that is the other end of its interface is gone.
pub const DEVICE_MISSING: &str = "DeviceMissing";
/// An attachment: the engine cannot listen on its socket, because of what its pod has left there.
pub const SOCKET_UNUSABLE: &str = "SocketUnusable";
/// An event of a pod: its network is being removed from its node.
pub const NETWORK_DRAINING: &str = "NetworkDraining";
/// An event of a node state: the process of an engine ended. It names the pods whose programs had
/// connected last.
pub const ENGINE_ENDED: &str = "EngineEnded";
/// A network on a node: operations for it are not complete.
pub const WAITING: &str = "Waiting";
/// A network on a node: the agent cannot read its newest version.
pub const UNREADABLE: &str = "Unreadable";
/// Ready of a node: the agent cannot use a file of its own.
pub const AGENT_FAILED: &str = "AgentFailed";
/// MetricsServed: another program of the node has the address. Networks are served.
pub const ADDRESS_TAKEN: &str = "AddressTaken";
/// Ready of a node, and its networks: the state or run directory of the node is full or read-only,
/// so that no pod can attach.
pub const STATE_NOT_WRITABLE: &str = "StateNotWritable";
/// DeletionBlocked, and a network on a node: its bridge is to be deleted, and may have a port of an
/// attachment whose record cannot be read.
pub const RECORD_UNREADABLE: &str = "RecordUnreadable";
/// The condition of an engine: there is a connection, but the engine does not carry out changes.
pub const ENGINE_STALLED: &str = "NotActing";

/// A network on a node: its overlay needs a privilege that the agent was not given.
pub const MISSING_PRIVILEGE: &str = "MissingPrivilege";
/// A network on a node: its frames do not fit into the underlay.
pub const MTU_TOO_LARGE: &str = "MtuTooLarge";
/// A network on a node: another program or device has the UDP port of its overlay.
pub const PORT_TAKEN: &str = "PortTaken";
/// A network on a node: its VXLAN device could not be created or changed.
pub const DEVICE_FAILED: &str = "DeviceFailed";

/// Accepted: there is no uplink of that name.
pub const UPLINK_MISSING: &str = "UplinkMissing";
/// Accepted: the uplink is of another engine, is being deleted, is not valid, or requires a VLAN.
pub const UPLINK_UNUSABLE: &str = "UplinkUnusable";
/// Accepted: the VLAN is none that networks may have on the uplink.
pub const VLAN_NOT_AVAILABLE: &str = "VlanNotAvailable";
/// Accepted of an uplink: networks use VLANs that it no longer lists.
pub const VLAN_IN_USE: &str = "VlanInUse";
/// An uplink on a node: the node has no such NIC.
pub const NIC_MISSING: &str = "NicMissing";
/// An uplink on a node: the NIC has an address or the default route of the node, or a master.
pub const NIC_CARRIES_NODE: &str = "NicCarriesNode";
/// An uplink on a node: another bridge, bond or uplink has the NIC.
pub const NIC_TAKEN: &str = "NicTaken";
/// An uplink on a node: this release does not support what it asks for.
pub const UPLINK_UNSUPPORTED: &str = "UplinkUnsupported";
/// An uplink on a node: the engine has the NIC, and it is gone, down or without a carrier.
pub const NIC_LOST: &str = "NicLost";
/// A network on a node: nothing keeps strangers out of its overlay, because the kernel has no
/// nftables.
pub const OVERLAY_UNPROTECTED: &str = "OverlayUnprotected";
/// An uplink on a node: the NIC merges packets that it receives, and its driver goes on with it.
pub const NIC_MERGES_PACKETS: &str = "NicMergesPackets";
/// A network on a node: its uplink is not programmed there, or selects no NIC of the node.
pub const UPLINK_NOT_READY: &str = "UplinkNotReady";
/// Accepted, and a network on a node: another network or device has the same VLAN on the NIC.
pub const VLAN_TAKEN: &str = "VlanTaken";

/// Ready of an attachment: the interface is in the pod.
pub const ATTACHED: &str = "Attached";
/// Ready of an attachment: it is requested of the node of the pod, which has not reported yet.
pub const ATTACHING: &str = "Attaching";
/// Ready of an attachment: it is being deleted, and the node still has the interface.
pub const DETACHING: &str = "Detaching";
/// Ready of an attachment: there is no pod of that name in its namespace.
pub const POD_NOT_FOUND: &str = "PodNotFound";
/// Ready of an attachment: the pod has no node yet.
pub const POD_NOT_SCHEDULED: &str = "PodNotScheduled";
/// Ready of an attachment: the pod has ended, or is being deleted.
pub const POD_ENDED: &str = "PodEnded";
/// Ready of an attachment: the pod has the network of its node, and no interfaces of its own.
pub const HOST_NETWORK: &str = "HostNetwork";
/// Ready of an attachment: another interface of the pod has the name.
pub const INTERFACE_TAKEN: &str = "InterfaceTaken";
/// Ready of an attachment: there is no UserspaceNetwork of that name.
pub const NETWORK_UNKNOWN: &str = "NetworkUnknown";
/// Ready of an attachment: the network cannot be used on the node of the pod now.
pub const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";
/// Ready of an attachment: the node does not know the network namespace of the pod.
pub const NO_SANDBOX: &str = "NoSandbox";
/// Ready of an attachment: the CNI plugin rejected it, or failed.
pub const ATTACH_FAILED: &str = "AttachFailed";
/// Ready of an attachment: the CNI plugin could not detach it.
pub const DETACH_FAILED: &str = "DetachFailed";
/// Ready of an attachment: on the node of the pod nothing runs the CNI plugin for the agent.
pub const PLUGIN_UNREACHABLE: &str = "PluginUnreachable";
/// Ready of an attachment: the pod's node has as many as a node may have.
pub const TOO_MANY_ATTACHMENTS: &str = "TooManyAttachments";

/// Whether a network on a node stays as it is until an operator acts: retrying does not help.
pub fn needs_operator(reason: &str) -> bool {
    [BRIDGE_CONFLICT, BRIDGE_EXISTS, BRIDGE_MISSING, BRIDGE_UNUSABLE, NODE_PREFIX_EXHAUSTED].contains(&reason)
        || [ENGINE_UNSUITABLE, MISSING_PRIVILEGE, MTU_TOO_LARGE, PORT_TAKEN, VLAN_TAKEN, VNI_TAKEN].contains(&reason)
        || [NIC_CARRIES_NODE, NIC_MISSING, NIC_TAKEN, UNDERLAY_EXHAUSTED, UPLINK_UNSUPPORTED].contains(&reason)
}
