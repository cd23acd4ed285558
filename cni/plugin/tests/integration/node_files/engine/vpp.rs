//! Objects of VPP: bridge domains, ports and policers, as its binary API shows them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use usnet_dataplane::port::PortName;
use usnet_test_vpp::Vpp;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDump, AfPacketMode, BridgeDomainAddDelV2, BridgeDomainDump, CreateVhostUserIfV2,
    IfStatusFlags, L2FlagsGet, L2InputFeatures, L2InterfaceEfpFilter, L2InterfaceVlanTagRewrite, L2OutputFeatures,
    MemifCreateV2, MemifDump, MemifRole, MemifSocketFilenameAddDelV2, MemifSocketFilenameDump, NO_BRIDGE_DOMAIN,
    NO_INTERFACE, PolicerAction, PolicerActionType, PolicerAddDel, PolicerDump, PolicerInput, PolicerOutput,
    SwInterfaceDetails, SwInterfaceDump, SwInterfaceSetFlags, SwInterfaceSetL2Bridge, SwInterfaceSetMtu,
    SwInterfaceTagAddDel, SwInterfaceVhostUserDump, VtrOp,
};
use usnet_vpp::wire::{FixedText, Text};
use usnet_vpp::{Batch, Dump, Request};

type Endpoints = BTreeMap<u32, Value>;

fn request<R: Request>(vpp: &Vpp, request: R) -> R::Reply {
    let mut batch = Batch::new();
    let ticket = batch.request(request);
    vpp.client().unwrap().send(&batch).unwrap().reply(ticket).unwrap()
}

fn list<D: Dump>(vpp: &Vpp, dump: D) -> Vec<D::Details> {
    let mut batch = Batch::new();
    let ticket = batch.dump(dump);
    vpp.client().unwrap().send(&batch).unwrap().details(ticket).unwrap()
}

/// All objects of VPP, sorted.
pub(in super::super) fn dump(vpp: &Vpp) -> Value {
    let mut domains = Vec::new();
    let mut bridge_of = BTreeMap::new();
    for domain in list(vpp, BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE }) {
        bridge_of.extend(domain.sw_if_details.iter().map(|member| (member.sw_if_index, domain.bd_id)));
        // VPP has the bridge domain 0 by itself.
        if domain.bd_id != 0 {
            domains.push(json!({
                "id": domain.bd_id, "tag": domain.bd_tag.as_str(), "learn": domain.learn, "flood": domain.flood,
                "uuFlood": domain.uu_flood, "forward": domain.forward, "arpTerm": domain.arp_term, "macAge": domain.mac_age,
            }));
        }
    }
    let endpoints = endpoints(vpp);
    let mut interfaces = Vec::new();
    for details in list(vpp, SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() }) {
        if let Some(endpoint) = endpoints.get(&details.sw_if_index) {
            interfaces.push(interface(vpp, &details, endpoint, bridge_of.get(&details.sw_if_index)));
        }
    }
    let policers = list(vpp, PolicerDump::default()).into_iter().map(|policer| {
        let action = |action: &PolicerAction| json!(format!("{:?}", action.r#type));
        json!({
            "name": policer.name.as_str(), "cir": policer.cir, "eir": policer.eir, "cb": policer.cb, "eb": policer.eb,
            "rateType": format!("{:?}", policer.rate_type), "type": format!("{:?}", policer.r#type),
            "conform": action(&policer.conform_action), "exceed": action(&policer.exceed_action),
            "violate": action(&policer.violate_action),
        })
    });
    let mut policers: Vec<Value> = policers.collect();
    for part in [&mut domains, &mut interfaces, &mut policers] {
        part.sort_by_key(ToString::to_string);
    }
    json!({"bridgeDomains": domains, "interfaces": interfaces, "policers": policers})
}

/// The endpoint of each interface.
fn endpoints(vpp: &Vpp) -> Endpoints {
    let sockets: BTreeMap<u32, String> = list(vpp, MemifSocketFilenameDump {})
        .into_iter()
        .map(|socket| (socket.socket_id, socket.socket_filename.to_string()))
        .collect();
    let mut all = Endpoints::new();
    for memif in list(vpp, MemifDump {}) {
        assert_eq!(memif.role, MemifRole::Master);
        let endpoint = json!({
            "type": "memif", "socket": sockets[&memif.socket_id], "socketId": memif.socket_id, "id": memif.id,
            "ringSize": memif.ring_size, "bufferSize": memif.buffer_size,
        });
        all.insert(memif.sw_if_index, endpoint);
    }
    for vhost in list(vpp, SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE }) {
        let endpoint =
            json!({"type": "vhost-user", "socket": vhost.sock_filename.as_str(), "isServer": vhost.is_server});
        all.insert(vhost.sw_if_index, endpoint);
    }
    for device in list(vpp, AfPacketDump {}) {
        all.insert(device.sw_if_index, json!({"type": "af_packet", "device": device.host_if_name.as_str()}));
    }
    all
}

fn interface(vpp: &Vpp, details: &SwInterfaceDetails, endpoint: &Value, bridge: Option<&u32>) -> Value {
    let features = request(vpp, L2FlagsGet { sw_if_index: details.sw_if_index });
    let vlan = match details.vtr_op {
        VtrOp::Disabled => Value::Null,
        VtrOp::Push1 => json!({"push": details.vtr_tag1, "dot1q": details.vtr_push_dot1q}),
        other => panic!("{other:?}"),
    };
    json!({
        "tag": details.tag.as_str(), "endpoint": endpoint, "bridgeDomain": bridge, "mtu": details.mtu[0],
        "isUp": details.flags.contains(IfStatusFlags::ADMIN_UP), "vlan": vlan,
        "efpFilter": features.output_feature_bitmap.contains(L2OutputFeatures::EFP_FILTER),
        "policedInput": features.input_feature_bitmap.contains(L2InputFeatures::POLICER),
        "policedOutput": features.output_feature_bitmap.contains(L2OutputFeatures::POLICER),
    })
}

fn text<const N: usize>(value: &Value) -> FixedText<N> {
    FixedText::new(value.as_str().unwrap()).unwrap()
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

/// Creates the objects.
pub(in super::super) fn restore(vpp: &Vpp, objects: &Value) {
    objects["bridgeDomains"].as_array().unwrap().iter().for_each(|domain| restore_bridge_domain(vpp, domain));
    objects["policers"].as_array().unwrap().iter().for_each(|policer| restore_policer(vpp, policer));
    for interface in objects["interfaces"].as_array().unwrap() {
        let sw_if_index = create(vpp, &interface["endpoint"]);
        restore_settings(vpp, sw_if_index, interface);
        restore_policing(vpp, sw_if_index, interface, objects);
    }
}

fn restore_bridge_domain(vpp: &Vpp, domain: &Value) {
    let flag = |key: &str| domain[key].as_bool().unwrap();
    let (bd_id, bd_tag) = (number(&domain["id"]), text(&domain["tag"]));
    let mac_age = domain["macAge"].as_u64().unwrap().try_into().unwrap();
    let (flood, uu_flood, forward, learn) = (flag("flood"), flag("uuFlood"), flag("forward"), flag("learn"));
    let arp_term = flag("arpTerm");
    request(
        vpp,
        BridgeDomainAddDelV2 {
            bd_id,
            flood,
            uu_flood,
            forward,
            learn,
            arp_term,
            mac_age,
            bd_tag,
            is_add: true,
            ..Default::default()
        },
    );
}

/// Creates a bridge domain of another client, with a tag.
pub(in super::super) fn add_foreign_bridge(vpp: &Vpp, id: &str) {
    let whole = json!({"id": id.parse::<u32>().unwrap(), "tag": "of others", "learn": true, "flood": true,
        "uuFlood": true, "forward": true, "arpTerm": false, "macAge": 0});
    restore_bridge_domain(vpp, &whole);
}

fn create(vpp: &Vpp, endpoint: &Value) -> u32 {
    match endpoint["type"].as_str().unwrap() {
        "memif" => {
            let (socket_id, socket) = (number(&endpoint["socketId"]), endpoint["socket"].as_str().unwrap());
            let socket_filename = Text::from(socket);
            request(vpp, MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename });
            let buffer_size = endpoint["bufferSize"].as_u64().unwrap().try_into().unwrap();
            let (id, ring_size) = (number(&endpoint["id"]), number(&endpoint["ringSize"]));
            request(
                vpp,
                MemifCreateV2 { role: MemifRole::Master, socket_id, id, ring_size, buffer_size, ..Default::default() },
            )
            .sw_if_index
        }
        "vhost-user" => {
            let (is_server, sock_filename) = (endpoint["isServer"].as_bool().unwrap(), text(&endpoint["socket"]));
            request(vpp, CreateVhostUserIfV2 { is_server, sock_filename, ..Default::default() }).sw_if_index
        }
        _ => {
            let host_if_name = text(&endpoint["device"]);
            let one = AfPacketCreateV3 { mode: AfPacketMode::Ethernet, use_random_hw_addr: true, ..Default::default() };
            request(vpp, AfPacketCreateV3 { host_if_name, num_rx_queues: 1, num_tx_queues: 1, ..one }).sw_if_index
        }
    }
}

fn restore_settings(vpp: &Vpp, sw_if_index: u32, interface: &Value) {
    request(vpp, SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: text(&interface["tag"]) });
    request(vpp, SwInterfaceSetMtu { sw_if_index, mtu: [number(&interface["mtu"]), 0, 0, 0] });
    if interface["isUp"] == true {
        request(vpp, SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    }
    let bd_id = number(&interface["bridgeDomain"]);
    request(vpp, SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id, enable: true, ..Default::default() });
    if let Some(tag1) = interface["vlan"].get("push") {
        let push_dot1q = number(&interface["vlan"]["dot1q"]);
        let rewrite = L2InterfaceVlanTagRewrite { sw_if_index, vtr_op: VtrOp::Push1, ..Default::default() };
        request(vpp, L2InterfaceVlanTagRewrite { push_dot1q, tag1: number(tag1), ..rewrite });
    }
    if interface["efpFilter"] == true {
        request(vpp, L2InterfaceEfpFilter { sw_if_index, enable_disable: true });
    }
}

fn restore_policer(vpp: &Vpp, policer: &Value) {
    let action = |key: &str| match policer[key].as_str().unwrap() {
        "Drop" => PolicerAction { r#type: PolicerActionType::Drop, dscp: 0 },
        "Transmit" => PolicerAction { r#type: PolicerActionType::Transmit, dscp: 0 },
        other => panic!("{other}"),
    };
    let long = |key: &str| policer[key].as_u64().unwrap();
    request(
        vpp,
        PolicerAddDel {
            is_add: true,
            name: text(&policer["name"]),
            cir: number(&policer["cir"]),
            eir: number(&policer["eir"]),
            cb: long("cb"),
            eb: long("eb"),
            conform_action: action("conform"),
            exceed_action: action("exceed"),
            violate_action: action("violate"),
            ..Default::default()
        },
    );
}

/// Attaches the policers that are named after the port of this interface.
fn restore_policing(vpp: &Vpp, sw_if_index: u32, interface: &Value, objects: &Value) {
    let port = port_of(interface["tag"].as_str().unwrap());
    for policer in objects["policers"].as_array().unwrap() {
        let parts: Vec<&str> = policer["name"].as_str().unwrap().split(':').collect();
        let name = text(&policer["name"]);
        match parts.as_slice() {
            [_, of, "egress", _] if *of == port.as_str() => {
                request(vpp, PolicerInput { name, sw_if_index, apply: true });
            }
            [_, of, "ingress", _] if *of == port.as_str() => {
                request(vpp, PolicerOutput { name, sw_if_index, apply: true });
            }
            _ => {}
        }
    }
}

/// The port of an ownership tag, which is `usn:`, the container id in base64, and the interface.
fn port_of(tag: &str) -> PortName {
    let packed = tag.strip_prefix("usn:").unwrap();
    let (id, interface) = packed.split_once('.').unwrap();
    let digits: String = URL_SAFE_NO_PAD.decode(id).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    PortName::of(&format!("{digits}.{interface}").parse().unwrap())
}
