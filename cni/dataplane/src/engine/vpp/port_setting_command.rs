//! The changes of settings of ports, and their messages.

use super::request::{Find, add};
use usnet_crds::{Mtu, VlanTag};
use usnet_vpp::messages::{
    L2InterfaceEfpFilter, L2InterfaceVlanTagRewrite, RxMode, SwInterfaceSetMtu, SwInterfaceSetRxMode,
    SwInterfaceSetTxPlacement, VtrOp,
};
use usnet_vpp::{Batch, ReturnCode};

/// A change of one setting of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PortSettingCommand {
    Mtu {
        index: u32,
        mtu: Mtu,
    },
    Vlan {
        index: u32,
        vlan: Option<VlanTag>,
    },
    /// Without the filter a port gets the frames of all VLANs, each without its tag.
    EfpFilter {
        index: u32,
        is_on: bool,
    },
    /// These threads send by the queue.
    TxPlacement {
        index: u32,
        queue: u32,
        threads: Vec<u32>,
    },
    RxMode {
        index: u32,
        queue: u32,
        mode: RxMode,
    },
}

impl PortSettingCommand {
    /// Whether it does no harm that VPP rejects it with this code. To the request for the filter it
    /// replies with a stale code of another request; the result is read back instead.
    pub(super) fn is_harmless(&self, code: ReturnCode) -> bool {
        matches!(self, Self::EfpFilter { .. }) && code != ReturnCode::InvalidSwIfIndex
    }

    /// Whether a rejection with this code means that the program has left in between, and its
    /// queues with it. The code for a mode that the queue cannot have is the same: that remains
    /// after some attempts.
    pub(super) fn is_conflict(&self, code: ReturnCode) -> bool {
        match self {
            Self::TxPlacement { .. } => code == ReturnCode::InvalidQueue,
            Self::RxMode { .. } => code == ReturnCode::Unimplemented,
            Self::Mtu { .. } | Self::Vlan { .. } | Self::EfpFilter { .. } => false,
        }
    }

    /// Adds its request to a batch.
    pub(super) fn add_to(&self, batch: &mut Batch) -> Find {
        match *self {
            // The only MTU that all kinds of ports support. It does not limit bridged frames, only
            // routed ones.
            Self::Mtu { index, mtu } => {
                add(batch, SwInterfaceSetMtu { sw_if_index: index, mtu: [mtu.get().into(), 0, 0, 0] })
            }
            Self::Vlan { index, vlan } => add(batch, vlan_tag_rewrite(index, vlan)),
            Self::EfpFilter { index, is_on } => {
                add(batch, L2InterfaceEfpFilter { sw_if_index: index, enable_disable: is_on })
            }
            Self::TxPlacement { index, queue, ref threads } => {
                add(batch, SwInterfaceSetTxPlacement { sw_if_index: index, queue_id: queue, threads: threads.clone() })
            }
            Self::RxMode { index, queue, mode } => {
                add(batch, SwInterfaceSetRxMode { sw_if_index: index, queue_id_valid: true, queue_id: queue, mode })
            }
        }
    }
}

/// Frames from the pod get the tag of its VLAN, frames to the pod lose it.
fn vlan_tag_rewrite(index: u32, vlan: Option<VlanTag>) -> L2InterfaceVlanTagRewrite {
    let rewrite = L2InterfaceVlanTagRewrite { sw_if_index: index, ..L2InterfaceVlanTagRewrite::default() };
    match vlan {
        Some(tag) => {
            L2InterfaceVlanTagRewrite { vtr_op: VtrOp::Push1, push_dot1q: 1, tag1: tag.get().into(), ..rewrite }
        }
        None => rewrite,
    }
}
