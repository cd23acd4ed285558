//! Reasons of the conditions Accepted and DefinitionsReady: what the controller says about a spec.

use super::reasons;

reasons! {
    SPEC;
    VALID = "Valid" {
        Network "Accepted True": "the spec is valid and conflicts with no other network. With `host-local` on several nodes the message says that addresses are unique on each node only: [operations.md](operations.md#addresses-on-several-nodes)"
        Uplink "Accepted True": "the spec is valid"
        Node "ManifestsAccepted True": "in the state file of a node with `--manifests`: every document can be used"
    }
    INVALID = "Invalid" {
        Network "Accepted False": "a field is invalid, possibly only for this engine, and the CRD did not reject it"
        Uplink "Accepted False": "the same"
        Attachment "Ready False": "the same"
        Node "ManifestsAccepted False": "a file or document cannot be used, and its objects keep their previous version; `manifestProblems` has file, document, line and field of each"
        => "correct the field that the message names; an attachment has to be deleted and created again"
    }
    SUBNET_TAKEN = "SubnetTaken" {
        Network "Accepted False": "a subnet of `spec.gateway.addresses` overlaps with that of another network in the same routing domain; the message names both"
        => "use another subnet in spec.gateway and spec.ipam, another spec.gateway.routingDomain or none, or delete the other network"
    }
    MULTICAST_GROUP_REQUIRED = "MulticastGroupRequired" {
        Network "Accepted False": "the overlay has more than 250 nodes, each of which would send each broadcast to all others. New nodes join it all the same. Not available with the encapsulation Engine"
        => "set spec.topology.overlay.multicastGroup, or select fewer nodes"
    }
    ADDRESSES_NOT_UNIQUE = "AddressesNotUnique" {
        Network "Accepted False": "the network is an overlay or has an uplink, and `ipam` is host-local, which counts on each node by itself: [addresses](networks-across-nodes.md#addresses)"
        => "set spec.ipam.nodePrefix, or use an IPAM plugin with one pool for all nodes, such as whereabouts, or spec.attachments"
    }
    UPLINK_MISSING = "UplinkMissing" {
        Network "Accepted False": "there is no UserspaceUplink of the name in `topology.uplink`"
        => "create the UserspaceUplink, or name another one in spec.topology.uplink.name"
    }
    UPLINK_UNUSABLE = "UplinkUnusable" {
        Network "Accepted False": "the uplink is of the other engine, is being deleted, is not valid, shares its NIC with the nodes (`nodeTraffic: Shared`) and the network has no VLAN, or has no `underlay` for an overlay, or one of the other family; the message says which"
        => "correct the uplink, or name another one of the network's engine"
    }
    VLAN_NOT_AVAILABLE = "VlanNotAvailable" {
        Network "Accepted False": "`vlans` of the uplink does not have the VLAN of the network; reducing `vlans` interrupts nothing"
        => "use a VLAN that spec.vlans of the uplink lists, or add it there"
    }
    VLAN_IN_USE = "VlanInUse" {
        Uplink "Accepted False": "networks have VLANs that `vlans` no longer lists, or that `underlay` has; the message names up to 10. They stay on the nodes"
        => "add these VLANs again, or set another vlan in the networks"
    }
    SYNCED = "Synced" {
        Network "DefinitionsReady True": "each selected namespace, or with `definitions: Shared` the namespace `usnet-system`, has the NAD. The message names the labels that `namespaceSelector` requires"
    }
    SYNCING = "Syncing" ends within 300 {
        Network "DefinitionsReady False": "some NADs are not written yet"
        => "wait; if it stays, look at the log of the controller that leads"
    }
    NAME_CONFLICT = "NameConflict" {
        Network "DefinitionsReady False": "a NAD of this name is not owned by usnet; the message names its namespace"
        => "rename or delete the NetworkAttachmentDefinition that usnet does not own, or exclude its namespace with spec.namespaceSelector"
    }
    DEFINITION_REFUSED = "DefinitionRefused" {
        Network "DefinitionsReady False": "the API server does not accept the NAD in some namespaces, by a quota, an admission policy or a webhook; the message names up to five and quotes it about the first"
        => "raise the quota or change the admission policy of the namespace that the message quotes, or exclude the namespace with spec.namespaceSelector"
    }
    UNAVAILABLE = "Unavailable" {
        Network "DefinitionsReady False": "NADs cannot be read"
        => "install Multus, whose CRD is missing, or see docs/without-multus.md"
    }
}
