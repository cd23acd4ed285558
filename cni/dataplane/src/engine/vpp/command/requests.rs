//! The requests themselves, in the newest form that this VPP knows.

use crate::engine::vpp::qos::Direction;
use usnet_crds::{Mtu, VlanTag};
use usnet_vpp::messages::{
    BridgeDomainAddDel, BridgeDomainAddDelV2, L2InterfaceVlanTagRewrite, L2PortType, PolicerInput, PolicerOutput,
    SwInterfaceSetL2Bridge, SwInterfaceSetMtu, VtrOp,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Answers, Api, Batch, ReplyError, Request};

/// The result of a command: the index of the interface that it created, or 0.
pub(in crate::engine::vpp) type Outcome = Result<u32, ReplyError>;

/// Finds an outcome in the answers.
pub(in crate::engine::vpp) type Find = Box<dyn Fn(&Answers) -> Outcome + Send + Sync>;

/// A request that does not create an interface.
pub(in crate::engine::vpp) fn add<R: Request + 'static>(batch: &mut Batch, request: R) -> Find {
    add_with(batch, request, |_| 0)
}

pub(in crate::engine::vpp) fn add_with<R: Request + 'static>(
    batch: &mut Batch,
    request: R,
    created: fn(&R::Reply) -> u32,
) -> Find {
    let ticket = batch.request(request);
    Box::new(move |answers| answers.reply(ticket).map(|reply| created(&reply)))
}

pub(super) fn add_bridge_domain(batch: &mut Batch, api: &impl Api, newest: BridgeDomainAddDelV2) -> Find {
    if api.supports::<BridgeDomainAddDelV2>() {
        return add(batch, newest);
    }
    let BridgeDomainAddDelV2 { bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, is_add } =
        newest;
    add(
        batch,
        BridgeDomainAddDel { bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, is_add },
    )
}

pub(super) fn delete_bridge_domain(batch: &mut Batch, api: &impl Api, id: u32) -> Find {
    let request = BridgeDomainAddDelV2 { bd_id: id, is_add: false, ..BridgeDomainAddDelV2::default() };
    add_bridge_domain(batch, api, request)
}

/// Frames from the pod get the tag of its VLAN, frames to the pod lose it.
pub(super) fn vlan_tag_rewrite(index: u32, vlan: Option<VlanTag>) -> L2InterfaceVlanTagRewrite {
    let rewrite = L2InterfaceVlanTagRewrite { sw_if_index: index, ..L2InterfaceVlanTagRewrite::default() };
    match vlan {
        Some(tag) => {
            L2InterfaceVlanTagRewrite { vtr_op: VtrOp::Push1, push_dot1q: 1, tag1: tag.get().into(), ..rewrite }
        }
        None => rewrite,
    }
}

/// The only MTU that all kinds of ports support. It does not limit bridged frames, only routed
/// ones.
pub(super) fn mtu(index: u32, mtu: Mtu) -> SwInterfaceSetMtu {
    SwInterfaceSetMtu { sw_if_index: index, mtu: [mtu.get().into(), 0, 0, 0] }
}

pub(super) fn membership(index: u32, domain: u32, enable: bool) -> SwInterfaceSetL2Bridge {
    SwInterfaceSetL2Bridge { rx_sw_if_index: index, bd_id: domain, port_type: L2PortType::Normal, shg: 0, enable }
}

/// By name. VPP replies to the messages that take a policer's index with the message id of these,
/// so that the reply could not be matched.
pub(super) fn attach_policer(
    batch: &mut Batch,
    index: u32,
    policer: &FixedText<64>,
    direction: Direction,
    apply: bool,
) -> Find {
    let (name, sw_if_index) = (policer.clone(), index);
    match direction {
        Direction::Ingress => add(batch, PolicerOutput { name, sw_if_index, apply }),
        Direction::Egress => add(batch, PolicerInput { name, sw_if_index, apply }),
    }
}
