//! What the tests ask of a VPP, and do to it behind the plugin's back.

mod shown;

pub(crate) use shown::Shown;
use usnet_test_vpp::Vpp;
use usnet_vpp::messages::{BridgeDomainAddDelV2, L2PortType, SwInterfaceSetL2Bridge};
use usnet_vpp::{Batch, Request};

/// Does what somebody else with access to VPP could do.
fn request<R: Request>(vpp: &Vpp, request: R) -> R::Reply {
    let mut batch = Batch::new();
    let ticket = batch.request(request);
    vpp.client().unwrap().send(&batch).unwrap().reply(ticket).unwrap()
}

/// Its ports stay and are in none then.
pub(crate) fn remove_bridge_domain(vpp: &Vpp, id: &str) {
    let (shown, bd_id) = (Shown::of(vpp), id.parse().unwrap());
    for member in &shown.domains[&bd_id].sw_if_details {
        request(
            vpp,
            SwInterfaceSetL2Bridge {
                rx_sw_if_index: member.sw_if_index,
                bd_id,
                port_type: L2PortType::Normal,
                shg: 0,
                enable: false,
            },
        );
    }
    request(vpp, BridgeDomainAddDelV2 { bd_id, is_add: false, ..BridgeDomainAddDelV2::default() });
}

/// One without our mark.
pub(crate) fn add_bridge_domain(vpp: &Vpp, id: &str) {
    let whole = BridgeDomainAddDelV2 { flood: true, uu_flood: true, forward: true, learn: true, ..Default::default() };
    request(vpp, BridgeDomainAddDelV2 { bd_id: id.parse().unwrap(), is_add: true, ..whole });
}
