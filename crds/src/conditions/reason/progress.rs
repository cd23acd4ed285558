//! Reasons of the conditions Ready, Programmed and DeletionBlocked: how far a network is, or what
//! it waits for.

use super::reasons;

reasons! {
    PROGRESS;
    ALL_NODES = "AllNodes" {
        Network "Ready, Programmed True": "every selected node that is reachable has it"
        Uplink "Ready, Programmed True": "every selected node that is reachable has the NIC"
    }
    NO_MATCHING_NODES = "NoMatchingNodes" {
        Network "Ready, Programmed True": "no node is selected, so there is nothing to wait for"
        Uplink "Ready, Programmed True": "no entry of `nics` is for a node of the cluster"
        Engine "Ready True": "no node has the labels of `nodeSelector`"
        => "check the nodeSelector, if that is not intended"
    }
    WAITING_FOR_CONTROLLER = "WaitingForController" ends within 300 {
        Network "Ready Unknown": "no controller has reconciled it. Check `deployment/usnet-controller` and `kubectl get lease -n usnet-system`"
        Uplink "Ready Unknown": "the same"
        Attachment "Ready Unknown": "the same; `config/components/hot-plug` may not be installed"
        Reservation "Ready Unknown": "no controller has seen it"
        Engine "Ready Unknown": "no controller of engines has seen it: is `config/components/engines` installed?"
        => "wait; then look at the log of the leading controller"
    }
    TERMINATING = "Terminating" ends within 300 {
        Network "Ready False": "the network or uplink is being deleted; the message says what it waits for. A node without an agent has to return or be removed from the cluster"
        Uplink "Ready False": "the same"
        => "wait; then look at the log of the leading controller"
    }
    PENDING = "Pending" ends within 300 {
        Network "Programmed False": "nodes have not applied or reported this version yet; the message names the first"
        Uplink "Programmed False": "the same"
        => "wait; then look at the log of the node's agent"
    }
    COMPILED_NETWORK_REFUSED = "CompiledNetworkRefused" {
        Network "Programmed False": "the API server rejects this version for the nodes, which keep the previous one"
        => "shorten what the message names, such as the list of namespaces or spec.attachments"
    }
    IN_USE = "InUse" {
        Network "DeletionBlocked True": "pods still use it, and new ones are rejected; the deletion can be [forced](operations.md#remove)"
        Uplink "DeletionBlocked True": "networks use it; `status.networks` names up to 20"
        Engine "DeletionBlocked True": "pods are attached to the engine on its nodes, and it runs on until they are gone"
        NetworkOnNode "Draining": "pods are still attached"
        => "delete the pods, or of an uplink the networks, that still use it; the message names up to 10"
    }
    FOREIGN_PORTS = "ForeignPorts" {
        Network "DeletionBlocked True": "the bridge on the node in the message has ports that are not owned by usnet"
        NetworkOnNode "Draining": "the same"
        => "remove the ports that usnet does not own from the bridge on the node"
    }
    RECORD_UNREADABLE = "RecordUnreadable" {
        Network "DeletionBlocked True": "the node in the message keeps the bridge for a record that it cannot read: it is damaged or of a later release"
        NetworkOnNode "Draining": "the same"
        => "upgrade usnet on the node, or move the record away that the agent's log names if its pod is gone"
    }
    WAITING = "Waiting" ends within 300 {
        NetworkOnNode "Pending": "operations are pending"
        NetworkOnNode "Failed": "the bridge was deleted while it was being changed"
        UplinkOnNode "Pending": "operations are pending"
        => "wait; then look at the log of the node's agent"
    }
}
