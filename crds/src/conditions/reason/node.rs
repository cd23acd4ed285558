//! Reasons of a node and its agent.

use super::reasons;

reasons! {
    NODE;
    AGENT_READY = "AgentReady" {
        Node "Ready True": "the agent works, and so does each engine that was ever connected on the node. What single networks lack is in NetworksProgrammed"
    }
    ALL_PROGRAMMED = "AllProgrammed" {
        Node "NetworksProgrammed True": "every network is programmed or draining; also when there is none"
    }
    NOT_PROGRAMMED = "NotProgrammed" {
        Node "NetworksProgrammed False": "a network or uplink is not programmed; the message names the first"
        => "look at status.networks and status.uplinks of the node"
    }
    STARTING = "Starting" ends within 60 {
        Node "Ready, NetworksProgrammed Unknown": "an engine has not been read within 1 s of the agent's start"
        => "wait; if it stays, look at the log of the agent of the node"
    }
    AGENT_FAILED = "AgentFailed" {
        Node "Ready False": "the agent cannot use a file of its own; the report about networks may be outdated"
        => "check the disk and the mounts of the file that the message names"
    }
    STATE_NOT_WRITABLE = "StateNotWritable" {
        Node "Ready False": "the state or run directory of the node is full or read-only, so that no pod can attach; the message says which. It is noticed within 1 s"
        NetworkOnNode "Failed": "the bridge may be up, but usnet's files on the node cannot be written: see `Ready` of the node"
        => "free space in /var/lib/usnet and /run/usnet on the node, or mount them writable"
    }
    ADDRESS_TAKEN = "AddressTaken" {
        Node "MetricsServed False": "another program of the node listens where the agent serves metrics, probes or traffic of pods. Networks are not concerned"
        => "end the other program of the node, or set another port: agent.metricsPort of the chart, or --listen-metrics of the agent"
    }
    UNREADABLE = "Unreadable" ends within 600 {
        NetworkOnNode "Failed": "the agent cannot read the CompiledNetwork; the node keeps the last version that it could read"
        => "use the same release of usnet for controllers and agents"
    }
}
