//! The requests themselves, in the newest form that this VPP knows.

use crate::engine::vpp::qos::Direction;
use crate::engine::vpp::request::{Find, add};
use usnet_vpp::messages::{
    BridgeDomainAddDel, BridgeDomainAddDelV2, L2PortType, PolicerInput, PolicerOutput, SwInterfaceSetL2Bridge,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Api, Batch};

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

pub(super) fn membership(index: u32, domain: u32, enable: bool) -> SwInterfaceSetL2Bridge {
    SwInterfaceSetL2Bridge { rx_sw_if_index: index, bd_id: domain, port_type: L2PortType::Normal, shg: 0, enable }
}

/// The policer is named. VPP replies to the messages that take its index with the message id of
/// these, so that the reply could not be matched.
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
