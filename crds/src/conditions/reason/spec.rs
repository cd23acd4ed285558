//! Reasons of the conditions Accepted and DefinitionsReady: what the controller says about a spec.

use super::reasons;

reasons! {
    SPEC;
    VALID = "Valid" {
        Network "Accepted True": "the spec is valid and conflicts with no other. With `host-local` the message says that addresses are [unique on each node only](networks-across-nodes.md#addresses)"
        Uplink "Accepted True": "the same"
        Node "ManifestsAccepted True": "every file of manifests can be used"
    }
    INVALID = "Invalid" {
        Network "Accepted False": "a field is invalid, possibly only for this engine"
        Uplink "Accepted False": "the same"
        Attachment "Ready False": "the same"
        Reservation "Ready False": "a field is invalid"
        Engine "Ready False": "the same"
        Node "ManifestsAccepted False": "a manifest cannot be used, and its objects keep their previous version; `manifestProblems` has file, document, line and field"
        => "correct the field that the message names; an attachment has to be deleted and created again"
    }
    SUBNET_TAKEN = "SubnetTaken" {
        Network "Accepted False": "a subnet of `spec.gateway.addresses` overlaps with another one in the same routing domain"
        => "use another subnet in spec.gateway and spec.ipam, another spec.gateway.routingDomain or none, or delete the other network"
    }
    MULTICAST_GROUP_REQUIRED = "MulticastGroupRequired" {
        Network "Accepted False": "the overlay has more than 250 nodes, each of which would send broadcasts to all others. New nodes join all the same"
        => "set spec.topology.overlay.multicastGroup, or select fewer nodes"
    }
    ADDRESSES_NOT_UNIQUE = "AddressesNotUnique" {
        Network "Accepted False": "the network connects nodes, and host-local [counts on each by itself](networks-across-nodes.md#addresses)"
        => "set spec.ipam.nodePrefix, or use an IPAM plugin with one pool for all nodes, such as whereabouts, or spec.attachments"
    }
    UPLINK_MISSING = "UplinkMissing" {
        Network "Accepted False": "there is no UserspaceUplink of that name"
        => "create the UserspaceUplink, or name another one in spec.topology.uplink.name"
    }
    UPLINK_UNUSABLE = "UplinkUnusable" {
        Network "Accepted False": "the uplink is of the other engine, being deleted or not valid, is `Shared` and the network has no VLAN, or lacks an `underlay` of the overlay's family; the message says which"
        => "correct the uplink, or name another one of the network's engine"
    }
    VLAN_NOT_AVAILABLE = "VlanNotAvailable" {
        Network "Accepted False": "`vlans` of the uplink lacks the VLAN of the network; reducing it interrupts nothing"
        => "use a VLAN that spec.vlans of the uplink lists, or add it there"
    }
    VLAN_IN_USE = "VlanInUse" {
        Uplink "Accepted False": "networks have VLANs that `vlans` no longer lists, or that `underlay` has. They stay on the nodes"
        => "add these VLANs again, or set another vlan in the networks"
    }
    SYNCED = "Synced" {
        Network "DefinitionsReady True": "each selected namespace, or with `definitions: Shared` `usnet-system`, has the NAD. The message names the required labels"
    }
    SYNCING = "Syncing" ends within 300 {
        Network "DefinitionsReady False": "some NADs are not written yet"
        => "wait; then look at the log of the leading controller"
    }
    NAME_CONFLICT = "NameConflict" {
        Network "DefinitionsReady False": "the namespace in the message has a NAD of this name that is not owned by usnet"
        => "rename or delete the NetworkAttachmentDefinition that usnet does not own, or exclude its namespace with spec.namespaceSelector"
    }
    DEFINITION_REFUSED = "DefinitionRefused" {
        Network "DefinitionsReady False": "a quota, admission policy or webhook refuses the NAD in namespaces of which the message names up to five"
        => "raise the quota or change the admission policy of the namespace that the message quotes, or exclude the namespace with spec.namespaceSelector"
    }
    UNAVAILABLE = "Unavailable" {
        Network "DefinitionsReady False": "NADs cannot be read"
        => "install Multus, whose CRD is missing, or see docs/without-multus.md"
    }
}
