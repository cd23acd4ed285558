//! Reasons of a node and its agent.

use super::reasons;

reasons! {
    NODE;
    AGENT_READY = "AgentReady" {
        Node "Ready True": "the agent works, and so does each engine that was ever connected"
    }
    ALL_PROGRAMMED = "AllProgrammed" {
        Node "NetworksProgrammed True": "every network is programmed or draining"
    }
    NOT_PROGRAMMED = "NotProgrammed" {
        Node "NetworksProgrammed False": "a network or uplink is not programmed; the message names the first"
        => "look at status.networks and status.uplinks of the node"
    }
    STARTING = "Starting" ends within 60 {
        Node "Ready, NetworksProgrammed Unknown": "an engine has not been read within 1 s of the agent's start"
        => "wait; then look at the log of the node's agent"
    }
    AGENT_FAILED = "AgentFailed" {
        Node "Ready False": "the agent cannot use a file of its own; its report about networks may be outdated"
        => "check the disk and the mounts of the file that the message names"
    }
    STATE_NOT_WRITABLE = "StateNotWritable" {
        Node "Ready False": "a directory of usnet is full or read-only, so that no pod can attach"
        NetworkOnNode "Failed": "the same; the bridge may be up"
        => "free space in /var/lib/usnet and /run/usnet on the node, or mount them writable"
    }
    ADDRESS_TAKEN = "AddressTaken" {
        Node "MetricsServed False": "another program of the node listens where the agent serves metrics or traffic of pods. Networks are not concerned"
        => "end the other program of the node, or set another port: agent.metricsPort of the chart, or --listen-metrics of the agent"
    }
    CONFIGURATION_INVALID = "ConfigurationInvalid" {
        Node "ConfigurationsAccepted False": "a file of the node has a configuration of the Userspace CNI (Intel) that cannot be used. What the file said before stays in effect"
        => "correct what the message names in that file, or remove the file"
    }
    UNREADABLE = "Unreadable" ends within 600 {
        NetworkOnNode "Failed": "the agent cannot read the CompiledNetwork; the node keeps the last version that it could read"
        => "use the same release of usnet for controllers and agents"
    }
}
