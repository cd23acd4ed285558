//! The changes of tunnels, and their messages.

use super::tunnel::{self, SPLIT_HORIZON_GROUP, Tunnel};
use crate::engine::vpp::command::{Find, add, add_with};
use crate::model::underlay::TunnelEnds;
use usnet_vpp::messages::{L2PortType, SwInterfaceSetL2Bridge};
use usnet_vpp::{Batch, ReturnCode};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum TunnelCommand {
    Create {
        ends: TunnelEnds,
        instance: u32,
    },
    Delete {
        tunnel: Tunnel,
    },
    /// Adds it to a bridge domain, in the split-horizon group of tunnels.
    Join {
        index: u32,
        domain: u32,
    },
}

impl TunnelCommand {
    /// Whether it does no harm that VPP rejects it with this code: what it deletes is gone.
    pub(in crate::engine::vpp) fn is_harmless(&self, code: ReturnCode) -> bool {
        matches!(self, Self::Delete { .. }) && code == ReturnCode::NoSuchEntry
    }

    /// Whether another client changed VPP in between.
    pub(in crate::engine::vpp) fn is_conflict(&self, code: ReturnCode) -> bool {
        match self {
            Self::Create { .. } => matches!(code, ReturnCode::TunnelExist | ReturnCode::InstanceInUse),
            Self::Delete { .. } | Self::Join { .. } => code == ReturnCode::InvalidSwIfIndex,
        }
    }

    /// Adds its request to a batch.
    pub(in crate::engine::vpp) fn add_to(&self, batch: &mut Batch) -> Find {
        match self {
            Self::Create { ends, instance } => {
                add_with(batch, tunnel::create(ends, *instance), |reply| reply.sw_if_index)
            }
            Self::Delete { tunnel } => add(batch, tunnel.delete()),
            Self::Join { index, domain } => {
                let (port_type, shg, enable) = (L2PortType::Normal, SPLIT_HORIZON_GROUP, true);
                let (rx_sw_if_index, bd_id) = (*index, *domain);
                add(batch, SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, shg, enable })
            }
        }
    }
}
