//! Reasons of UserspaceEngines, and of the nodes that run their engines.

use super::reasons;

reasons! {
    USER_ENGINE;
    ENGINE_RUNNING = "EngineRunning" {
        Engine "Ready True": "the engine runs on each selected node"
    }
    ENGINE_STARTING = "EngineStarting" ends within 60 {
        Engine "Ready False": "the pod of the engine is being started, or the processes in it; or its agent is not connected yet"
        Node "OVSConnected, VPPConnected False": "the pod of a UserspaceEngine starts the processes of the engine"
        => "wait a few seconds; then see the pods in the namespace usnet-engines, and their logs"
    }
    ENGINE_FOREIGN = "EngineForeign" {
        Engine "Ready False": "an engine that usnet does not run has its socket on the node, and is left alone"
        Node "OVSConnected, VPPConnected False": "the same"
        => "leave the node to that engine and exclude it by spec.nodeSelector, or stop and disable the engine on the node"
    }
    NODE_TAKEN = "NodeTaken" {
        Engine "Ready False": "another UserspaceEngine of the same engine runs on the node"
        Node "OVSConnected, VPPConnected False": "the same"
        => "change spec.nodeSelector of one of them"
    }
    INSUFFICIENT_HUGEPAGES = "InsufficientHugepages" {
        Engine "Ready False": "the node has too few free hugepages of the size `memory.hugepages`"
        Node "OVSConnected, VPPConnected False": "the same, noticed by the engine"
        => "reserve hugepages on the node by its boot parameters and restart kubelet, or use less in spec.memory.packets"
    }
    HUGEPAGES_ON_OTHER_NODE = "HugepagesOnOtherNUMANode" {
        Engine "Ready False": "the node has enough free hugepages, and too few on the NUMA node of the engine's CPUs"
        Node "OVSConnected, VPPConnected False": "the same"
        => "reserve hugepages on that NUMA node by the boot parameter that the message names, or choose other CPUs"
    }
    KERNEL_TOO_OLD = "KernelTooOld" {
        Engine "Ready False": "the engine does not support the version of Linux on the node"
        Node "OVSConnected, VPPConnected False": "the same"
        => "update the kernel of the node, or exclude the node by spec.nodeSelector"
    }
    IOMMU_OFF = "IommuOff" {
        Engine "Ready False": "`nics: PCI` needs an IOMMU, and that of the node is off"
        Node "OVSConnected, VPPConnected False": "the same"
        => "switch it on in the firmware, and by the boot parameter intel_iommu=on or amd_iommu=on"
    }
    CPUS_NOT_ISOLATED = "CPUsNotIsolated" {
        Engine "Ready True": "the engine runs, and Linux may run other programs on CPUs of `cpus.list`"
        Node "OVSConnected, VPPConnected True": "the same"
        => "keep other programs away from these CPUs, by the boot parameter isolcpus or otherwise"
    }
    INSUFFICIENT_CPUS = "InsufficientCPUs" {
        Engine "Ready False": "the node has not so many CPUs free, or `cpus.list` names CPUs that the pod may not use"
        Node "OVSConnected, VPPConnected False": "the same, noticed by the engine"
        => "use fewer or other CPUs in spec.cpus, or move other pods away from the node"
    }
    CPUS_NOT_EXCLUSIVE = "CPUsNotExclusive" {
        Engine "Ready False": "kubelet has not given the pod CPUs of its own, which `cpus.exclusive` asks for"
        Node "OVSConnected, VPPConnected False": "the same"
        => "set cpuManagerPolicy static in the configuration of kubelet and restart it, or use spec.cpus.list"
    }
    INSUFFICIENT_MEMORY = "InsufficientMemory" {
        Engine "Ready False": "the node has not so much memory free, or the engine needs more than the limit of its pod"
        Node "OVSConnected, VPPConnected False": "the engine needs more memory than it has"
        => "use less in spec.memory.packets, or more in spec.memory.process"
    }
    IMAGE_UNAVAILABLE = "ImageUnavailable" {
        Engine "Ready False": "the node cannot get the image"
        => "correct spec.image, or make the registry reachable for the node"
    }
    IMAGE_UNSUITABLE = "ImageUnsuitable" {
        Engine "Ready False": "the image lacks a program of the engine, or the program cannot be run"
        Node "OVSConnected, VPPConnected False": "the same"
        => "use an image that has the programs: usnet-openvswitch for OVS, any with vpp for VPP"
    }
    DEVICES_MISSING = "DevicesMissing" {
        Engine "Ready False": "the node lacks what the engine needs of its kernel: the driver vfio-pci for `nics: PCI`"
        Node "OVSConnected, VPPConnected False": "the same"
        => "load the module that the message names on the node, and keep it loaded over a reboot"
    }
    FILES_NOT_WRITABLE = "FilesNotWritable" {
        Engine "Ready False": "the pod cannot write its files on the node: the disk is full, read-only, or SELinux refuses"
        Node "OVSConnected, VPPConnected False": "the same"
        => "free space on the node, or see its audit log for refusals of SELinux"
    }
    ENGINE_FAILS = "EngineFails" {
        Engine "Ready False": "a process of the engine ends at once; the message has its last words"
        Node "OVSConnected, VPPConnected False": "the same"
        => "as the message says; see the log of the pod in the namespace usnet-engines"
    }
    POD_REFUSED = "PodRefused" {
        Engine "Ready False": "Kubernetes refuses the pod of the engine; the message has its text"
        => "allow privileged pods in the namespace usnet-engines, and look for admission policies and quotas"
    }
    UP_TO_DATE = "UpToDate" {
        Engine "Updated True": "the engine was started with the current spec on each node that runs it"
    }
    RESTART_NEEDED = "RestartNeeded" {
        Engine "Updated False": "nodes are restarted with the current spec, as many at a time as `update.maxUnavailable` says"
        => "wait; nodes are restarted by themselves"
    }
    UPDATE_PAUSED = "UpdatePaused" {
        Engine "Updated False": "nodes have to be restarted for the current spec, and `update.paused` keeps them from it"
        => "set spec.update.paused to false when the engines may be restarted"
    }
    UPDATE_STOPPED = "UpdateStopped" {
        Engine "Updated False": "a node did not come back, so that no other one is restarted"
        => "see status.problems of the engine; correct the spec, or repair the node"
    }
}
