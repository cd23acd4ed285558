//! Errors of the pod and its interface.

use super::errors;

errors! {
    POD;
    NAMESPACE_NOT_ALLOWED = 100 "NamespaceNotAllowed" "The network does not select the namespace of the pod." {
        "the namespace lacks a label, which the message names"
        says "namespace \"web\" is not selected by its namespaceSelector (team=a)"
        => "label the namespace, or change `spec.namespaceSelector`";
    }
    NETWORK_DRAINING = 101 "NetworkDraining" "The network is being deleted and accepts no new pods." {
    }
    NO_VOLUME = 102 "NoVolume" "The pod has no volume for the socket, or no container mounts it. A pod's volumes cannot change: create it again." {
        "the volume `usnet`, or that of `spec.port.volume`, is missing, is no emptyDir, or is mounted by no container, so that the kubelet does not create it"
        => "add `volumes: [{name: usnet, emptyDir: {}}]` to the pod and `volumeMounts: [{name: usnet, mountPath: /run/usnet}]` to the container, and create the pod again";
    }
    NO_DEVICE_OR_VOLUME = 102 "NoDeviceOrVolume" "The network has `devicePlugin`, and the pod has neither an unused device nor the volume." {
        "the limits of the container have no device"
        => "request `usnet.dev/NETWORK: 1` in the limits of the container that uses the interface, or add the volume";
    }
    POD_VOLUME = 102 "PodVolume" "The volume of the pod cannot be used." {
        "the pod has put something at the path of a file of usnet, or filled the volume"
        says "cannot remove \"net1.sock\" in the folder that the pod shares with the engine"
        => "the program must not create `<interface>.json`, nor a folder in place of the socket";
        "containers ran before the folder of the [device](device-plugin.md) had its file system"
        says "running containers of the pod have another folder of device blue-3 mounted"
        => "delete the pod so that it is created again";
        "`sharedDir` of a legacy configuration is not allowed"
        => "add the volume, or start the agent with `--shared-dir-root`";
    }
    ALREADY_ATTACHED = 103 "AlreadyAttached" "The interface is attached with other parameters; the same ADD again gets the same result." {
        "[hot plug](hot-plug-multus.md) chose a name that the pod has"
        => "choose another `interface`; otherwise this is a defect of the caller";
    }
    CHECK_FAILED = 106 "CheckFailed" "CHECK: the attachment differs from its ADD result." {
        "record, `prevResult`, description, interface, port or settings differ"
        says "the MTU of port vhu… is 1400 and should be 1500"
        => "wait some seconds for the agent's repair; then delete the pod";
    }
    INTERFACE_EXISTS = 107 "InterfaceExists" "`Veth`: the pod has an interface of that name." {
        "another network or plugin made it"
        => "set another interface name in the pod's annotation";
    }
}
