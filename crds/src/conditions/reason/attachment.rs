//! Reasons of interfaces of pods: of UserspaceAttachments, of interfaces with a problem of their
//! own, and of pods whose network is being removed.

use super::reasons;

reasons! {
    ATTACHMENT;
    ATTACHED = "Attached" {
        Attachment "Ready True": "the interface is in the pod"
    }
    ATTACHING = "Attaching" {
        Attachment "Ready Unknown": "the agent of the pod's node has not reported it yet"
        Attachment "Ready False": "no agent has ever reported on the pod's node: see `agent.nodeSelector` of the chart"
        => "wait; then see that an agent runs on the node in the message, and its log"
    }
    DETACHING = "Detaching" {
        Attachment "Ready False": "the attachment is being deleted, and its node has not reported yet that it is detached"
        => "wait; then see that an agent runs on the node in the message, and its log"
    }
    POD_NOT_FOUND = "PodNotFound" {
        Attachment "Ready False": "the pod does not exist; usnet looks for it again"
        => "create the pod, or correct spec.pod"
    }
    POD_NOT_SCHEDULED = "PodNotScheduled" {
        Attachment "Ready False": "the pod has no node yet"
        => "see the events of the pod"
    }
    POD_ENDED = "PodEnded" {
        Attachment "Ready False": "the pod has ended or is being deleted, or another one has its name"
        => "create an attachment for a running pod"
    }
    HOST_NETWORK = "HostNetwork" {
        Attachment "Ready False": "the pod has the network of its node"
        => "use a pod without hostNetwork"
    }
    INTERFACE_TAKEN = "InterfaceTaken" {
        Attachment "Ready False": "the pod or another attachment has an interface of that name"
        => "use another spec.interface"
    }
    NETWORK_UNKNOWN = "NetworkUnknown" {
        Attachment "Ready False": "there is no UserspaceNetwork of that name"
        Reservation "Ready False": "the same, or it is being deleted"
        => "create the network, or correct spec.network"
    }
    NETWORK_UNAVAILABLE = "NetworkUnavailable" {
        Attachment "Ready False": "the network is not usable on the node now; the message has the plugin's [error 11](#11-tryagainlater)"
        => "act on the error of the plugin in the message"
    }
    NO_SANDBOX = "NoSandbox" {
        Attachment "Ready False": "the network namespace of the pod is not known on its node: [hot-plug.md](hot-plug.md#what-a-pod-needs)"
        => "wait until the pod has started; otherwise give it another interface of usnet, or let the container runtime call usnet"
    }
    ATTACH_FAILED = "AttachFailed" {
        Attachment "Ready False": "the plugin failed; the message has its [error](#codes-of-the-cni-plugin)"
        => "act on the error of the plugin in the message"
    }
    DETACH_FAILED = "DetachFailed" {
        Attachment "Ready False": "the plugin could not detach the interface; the message has its [error](#codes-of-the-cni-plugin)"
        => "act on the error of the plugin in the message"
    }
    PLUGIN_UNREACHABLE = "PluginUnreachable" {
        Attachment "Ready False": "the container `attach` of the agent's pod on that node does not answer"
        => "install config/components/attachments; otherwise see the log of the container attach of the agent's pod"
    }
    TOO_MANY_ATTACHMENTS = "TooManyAttachments" {
        Attachment "Ready False": "the node has 512 attachments, or the namespace has its share there: half of what others leave"
        => "delete some, or use a pod on another node"
    }
    NOT_CONNECTED = "NotConnected" {
        Interface "": "no program of the pod has been connected to the engine for 30 s. The message says whether it has to listen or to connect, and whether a killed program [left its socket](ports.md#a-program-that-listens-and-is-killed)"
        => "make the program take the side of the socket that the message names (net1.json in the volume has it as role), and have its container remove the old socket before it starts: rm -f"
    }
    DEVICE_MISSING = "DeviceMissing" {
        Interface "": "another program deleted the node's end of a `Veth` interface. One that is only set down is set up again"
        => "delete the pod, whose successor gets a new interface; find out what deleted the device"
    }
    NO_MEMORY = "NoMemory" {
        Interface "": "the pod's program is connected, and the engine has no memory (of DPDK) for packets of its port. It stays until the port works, also while the program is not connected. Other interfaces are not affected"
        => "give the engine more memory and restart it, for Open vSwitch: ovs-vsctl set Open_vSwitch . other_config:dpdk-socket-mem=MEGABYTES (without hugepages -m in other_config:dpdk-extra), or run fewer such pods on the node: docs/open-vswitch-dpdk.md"
    }
    PORT_FAILED = "PortFailed" {
        Interface "": "the engine does not have or run the pod's port, for reasons as of [error 104](#104-portrejected). It is retried at most 30 s apart"
        => "act on the engine's error in the message: it names the port; look at the log of the engine"
    }
    WITHOUT_AF_XDP = "WithoutAFXDP" {
        Interface "": "the network asks for `port.veth.datapath: AFXDP`, and the switch or the kernel of the node refused that for this interface, which therefore has the datapath Kernel: it works, and is slower"
        => "act on the error in the message, see dmesg and the log of ovs-vswitchd, and then delete the pod, whose successor is tried again; or set port.veth.datapath to Kernel"
    }
    SOCKET_UNUSABLE = "SocketUnusable" {
        Interface "": "VPP cannot listen on the pod's socket, mostly after a restart: the pod has put something else at its path, or its volume is gone"
        => "remove what the pod has left at the path of the socket in its volume; the agent retries, at most 30 s apart"
    }
    NETWORK_DRAINING = "NetworkDraining" {
        AffectedPod "": "the network was deleted or no longer selects the node; interfaces work until the pod is deleted"
        => "delete the pod, or select the node again"
    }
}
