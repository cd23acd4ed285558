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
        => "check the nodeSelector, if that is not intended"
    }
    WAITING_FOR_CONTROLLER = "WaitingForController" ends within 300 {
        Network "Ready Unknown": "no controller has reconciled it; this is the default of the CRD. Check `deployment/usnet-controller` and `kubectl get lease -n usnet-system`"
        Uplink "Ready Unknown": "the same"
        Attachment "Ready Unknown": "no controller has seen it; `config/components/hot-plug` may not be installed"
        => "wait; if it stays, look at the log of the controller that leads"
    }
    TERMINATING = "Terminating" ends within 300 {
        Network "Ready False": "it is being deleted; the message says what it waits for. A node that does not report has to return or be removed from the cluster"
        Uplink "Ready False": "the same"
        => "wait; if it stays, look at the log of the controller that leads"
    }
    PENDING = "Pending" ends within 300 {
        Network "Programmed False": "nodes are applying this version of the network, or their agents have not reported it yet; the message names the first: `kubectl logs -n usnet-system` of its agent"
        Uplink "Programmed False": "the same of this version of the uplink"
        => "wait; if it stays, look at the log of the agent of the node"
    }
    COMPILED_NETWORK_REFUSED = "CompiledNetworkRefused" {
        Network "Programmed False": "the API server rejects the CompiledNetwork that publishes this version to the nodes, which keep the previous one"
        => "shorten what the message names, such as the list of namespaces or spec.attachments"
    }
    IN_USE = "InUse" {
        Network "DeletionBlocked True": "pods still use it; new ones are rejected. The deletion can be forced: [operations.md](operations.md#remove)"
        Uplink "DeletionBlocked True": "networks use it; `status.networks` names up to 20. Another `spec.topology` of theirs helps as well"
        NetworkOnNode "Draining": "pods are still attached to it"
        => "delete the pods, or of an uplink the networks, that still use it; the message names up to 10"
    }
    FOREIGN_PORTS = "ForeignPorts" {
        Network "DeletionBlocked True": "no pod uses it, but its bridge on the node in the message has ports that are not owned by usnet"
        NetworkOnNode "Draining": "the same"
        => "remove the ports that usnet does not own from the bridge on the node"
    }
    RECORD_UNREADABLE = "RecordUnreadable" {
        Network "DeletionBlocked True": "no known pod uses it, but the node in the message keeps its bridge for an attachment whose record it cannot read"
        NetworkOnNode "Draining": "its bridge may have a port of an attachment whose record on the node is damaged or of a later release"
        => "upgrade usnet on the node, or move the record away that the agent's log names if its pod is gone"
    }
    WAITING = "Waiting" ends within 300 {
        NetworkOnNode "Pending": "operations are pending, or the engine has not brought up the bridge yet"
        NetworkOnNode "Failed": "a change of the bridge failed because the bridge was deleted concurrently"
        UplinkOnNode "Pending": "operations are pending"
        => "wait; if it stays, look at the log of the agent of the node"
    }
}
