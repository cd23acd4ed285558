//! Errors of the call: of the runtime, of the configuration, and of files of the node.

use super::errors;

errors! {
    CALL;
    INCOMPATIBLE_VERSION = 1 "IncompatibleVersion" "The configuration and the plugin have no version of CNI in common." {
        "`cniVersion` is not one of 0.1.0 (also without that key), 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"
        => "correct the NetworkAttachmentDefinition";
        "the verb needs a later version: CHECK 0.4.0, GC and STATUS 1.1.0"
        => "raise `cniVersion`";
    }
    UNSUPPORTED_FIELD = 2 "UnsupportedField" "The pod or the configuration requests what these interfaces do not support." {
        "the annotation has such a key, for example `portMappings`"
        says "\"runtimeConfig.portMappings\" of the network configuration is …, which is not supported"
        => "remove it from the annotation, and create the pod again";
        "the configuration selects its networks by the pod's annotation and names one as well"
        => "remove one of both from the configuration";
    }
    INVALID_ENVIRONMENT = 4 "InvalidEnvironment" "A variable of the call is missing or wrong." {
        "the container runtime or Multus is of another version than it should be"
        says "required environment variables [CNI_NETNS, CNI_IFNAME] are missing"
        => "install versions of both that support the `cniVersion` of the configuration";
        "`CNI_ARGS` does not identify a pod, or requests an address or MAC that is not valid"
        => "correct the address or MAC in the annotation, and create the pod again";
        "`CNI_NETNS` is no network namespace, or is the node's own"
        says "CNI_NETNS is …, the node's own network namespace: a pod with hostNetwork cannot have an interface of a network"
        => "remove the annotation from pods with `hostNetwork`";
        "with VPP, the id of the container and the interface name have more than 63 bytes"
        => "use a shorter interface name";
    }
    IO_FAILURE = 5 "IoFailure" "A file, a program or the kernel of the node cannot be used." {
        "the disk is full or read-only, or a file is damaged or of a later release"
        says "/var/lib/usnet/attachments/… is damaged or was edited"
        => "free space, or upgrade usnet on this node";
        "the path of a socket is too long: 107 bytes, for a memif 106"
        => "use a shorter interface name";
        "the network has `devicePlugin`, and kubelet's file of devices cannot be read"
        => "restart kubelet; one with another `--root-dir` needs `USNET_KUBELET_DIR`";
        "`Veth`: the kernel rejected a request, such as for an address that IPAM assigned twice"
        says "cannot add an address to net1 (details: the kernel rejected the request: File exists)";
        "the kernel has no nftables for devices (`CONFIG_NF_TABLES_NETDEV`), or is older than 5.10"
        says "this node's kernel cannot isolate device vhu… from the node";
        "the node does not see the mounts in the container of Multus' daemon"
        says "the engine would not see the pod's sockets"
        => "set `mountPropagation: Bidirectional` ([hot plug](hot-plug-multus.md#install))";
        "standard input does not end within 5 s, or is longer than 2 MiB"
        => "this is a defect of the caller";
    }
    DECODING_FAILURE = 6 "DecodingFailure" "Standard input, or what an IPAM plugin printed, is not the expected JSON." {
    }
    INVALID_CONFIGURATION = 7 "InvalidConfiguration" "The configuration, or what the pod requests, is not valid; the message names the key." {
        "the pod's annotation, or an element of it, cannot be used ([its keys](without-multus.md#the-pods-annotation))"
        says "element 2 of annotation k8s.v1.cni.cncf.io/networks of the pod cannot be used"
        => "correct the annotation as the message says, and create the pod again";
        "without Multus, the runtime passed no annotations"
        says "the container runtime did not pass the pod's annotations"
        => "configure the runtime to pass them: [without Multus](without-multus.md)";
        "a requested MAC address, IP address or rate is not valid, or the network has no IPAM that knows the subnet"
        => "correct the annotation as the message says, and create the pod again";
        "an address is used: one that `spec.attachments` reserves for the pod, or that the pod requests"
        says "network \"blue\" reserves address 10.56.0.77 for pod web/p (spec.attachments[].ips or a reservation), and interface net1 of pod web/q already has it"
        => "request another address, or none, and create the pod again; or delete the pod that has it";
        "the pod would have the address of the network's gateway, or a memif in IP mode none in its subnets"
        => "request another address, or none, and create the pod again";
        "`deviceID` names a device that kubelet did not allocate to this pod, or that another of its interfaces uses"
        => "request as many devices as interfaces in the limits of the container, and no `deviceID` in the annotation";
        "`ipam` names no plugin, this plugin, one that the node does not allow, or a key with a file of the node ([tenants](operations.md#tenants))"
        says "\"ipam.dataDir\" of the network configuration is not allowed on this node";
        "the container `attach` does not run the IPAM plugin"
        => "add it to `USNET_IPAM_PLUGINS` of that container of the agent's pods";
        "`dhcp` with ports that are sockets"
        => "use another IPAM plugin, none, or `port.type: Veth`";
        "`prevResult` has no interface in the pod's network namespace"
        => "remove it from the NetworkAttachmentDefinition, or use a plugin for `eth0` that sets `sandbox`";
        "a [legacy configuration](userspace-cni.md#each-key) has an unsupported setting, or differs from the network of its bridge"
        says "\"host.bridge.vlanId\" requests VLAN 7, and the network has no VLAN";
    }
    INTERNAL = 999 "Internal" "The plugin has a defect: report it with the details." {
    }
}
