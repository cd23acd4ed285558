//! Bridge domains of VPP, as another client reads and changes them.

use crate::support::vpp;
use usnet_vpp::messages::{
    BdFlags, BridgeDomainAddDelV2, BridgeDomainDetails, BridgeDomainDump, BridgeDomainSetMacAge, BridgeFlags,
    CreateLoopbackInstance, DeleteLoopback, DeleteVhostUserIf, HwInterfaceSetMtu, MemifDelete, NO_BRIDGE_DOMAIN,
    NO_INTERFACE, SwInterfaceDetails, SwInterfaceDump, SwInterfaceSetFlags, SwInterfaceSetL2Bridge,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Batch, Request};

/// The prefix of usnet's tags.
const OURS: &str = "usn";

/// A bridge domain and the interfaces in it.
pub(crate) struct Domain {
    pub(crate) details: BridgeDomainDetails,
    members: Vec<SwInterfaceDetails>,
}

impl Domain {
    /// The bridge domain of that id, if it is there.
    pub(crate) fn read(node: &str, id: &str) -> Result<Self, String> {
        let bd_id: u32 = id.parse().unwrap();
        let mut batch = Batch::new();
        let domains = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
        let interfaces = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
        let answers = vpp::connect(node).and_then(|mut client| client.send(&batch)).map_err(text)?;
        let details = answers.details(domains).map_err(text)?.into_iter().find(|domain| domain.bd_id == bd_id);
        let details = details.ok_or("there is no such bridge domain")?;
        let is_member = |index: u32| details.sw_if_details.iter().any(|member| member.sw_if_index == index);
        let mut members = answers.details(interfaces).map_err(text)?;
        members.retain(|interface| is_member(interface.sw_if_index));
        Ok(Self { details, members })
    }

    /// Whether it is ours.
    pub(crate) fn is_ours(&self) -> bool {
        self.details.bd_tag.as_str().starts_with(OURS)
    }

    /// The settings and members, without ports of usnet.
    pub(crate) fn show(&self) -> String {
        let mut details = self.details.clone();
        details.sw_if_details.clear();
        let theirs = self.members.iter().filter(|member| !is_ours(member));
        format!("{details:?} {:?}", theirs.map(|member| member.interface_name.as_str()).collect::<Vec<_>>())
    }

    /// The index of one of our ports, counted round.
    pub(crate) fn port(&self, number: usize) -> Result<u32, String> {
        let ours: Vec<u32> =
            self.members.iter().filter(|member| is_ours(member)).map(|member| member.sw_if_index).collect();
        ours.get(number % ours.len().max(1)).copied().ok_or_else(|| "there is no port of ours".to_owned())
    }

    /// Removes all ports from the bridge domain and deletes it.
    pub(crate) fn remove(&self, node: &str) -> Result<(), String> {
        let bd_id = self.details.bd_id;
        for member in &self.members {
            vpp::request(
                node,
                SwInterfaceSetL2Bridge { rx_sw_if_index: member.sw_if_index, bd_id, ..Default::default() },
            )?;
        }
        remove_empty(node, bd_id)
    }

    /// Changes a setting.
    pub(crate) fn change(&self, node: &str, setting: usize) -> Result<(), String> {
        let bd_id = self.details.bd_id;
        match setting % 3 {
            0 => vpp::request(node, BridgeFlags { bd_id, is_set: false, flags: BdFlags::FLOOD }),
            1 => vpp::request(node, BridgeFlags { bd_id, is_set: false, flags: BdFlags::LEARN }),
            _ => vpp::request(node, BridgeDomainSetMacAge { bd_id, mac_age: 77 }),
        }
    }
}

/// Makes one with that tag, unless there is one.
pub(crate) fn make(node: &str, id: &str, tag: &str) -> Result<(), String> {
    if Domain::read(node, id).is_ok() {
        return Err("there is one already".to_owned());
    }
    let (bd_id, bd_tag) = (id.parse().unwrap(), FixedText::new(tag.to_owned()).unwrap());
    let flags = BridgeDomainAddDelV2 { forward: true, flood: true, uu_flood: true, learn: true, ..Default::default() };
    vpp::request(node, BridgeDomainAddDelV2 { bd_id, is_add: true, bd_tag, ..flags })
}

/// Deletes a bridge domain; VPP rejects that while it has members.
pub(crate) fn remove(node: &str, id: &str) -> Result<(), String> {
    remove_empty(node, id.parse().unwrap())
}

fn remove_empty(node: &str, bd_id: u32) -> Result<(), String> {
    vpp::request(node, BridgeDomainAddDelV2 { bd_id, is_add: false, ..Default::default() })
}

/// Puts a loopback interface into a bridge domain. Its number is the domain's id.
pub(crate) fn add_loopback(node: &str, id: &str) -> Result<(), String> {
    let bd_id = Domain::read(node, id)?.details.bd_id;
    let made = CreateLoopbackInstance { is_specified: true, user_instance: bd_id, ..Default::default() };
    let rx_sw_if_index = reply(node, made)?.sw_if_index;
    vpp::request(node, SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, enable: true, ..Default::default() })
}

/// Deletes an interface of [`add_loopback`].
pub(crate) fn remove_loopback(node: &str, id: &str) -> Result<(), String> {
    let name = loopback(id);
    let domain = Domain::read(node, id)?;
    let found = domain.members.iter().find(|member| member.interface_name.as_str() == name);
    let sw_if_index = found.ok_or("it is not there")?.sw_if_index;
    vpp::request(
        node,
        SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id: domain.details.bd_id, ..Default::default() },
    )?;
    vpp::request(node, DeleteLoopback { sw_if_index })
}

/// Returns the state of such an interface while it is in its bridge domain.
pub(crate) fn show_loopback(node: &str, id: &str) -> Result<String, String> {
    let name = loopback(id);
    let domain = Domain::read(node, id)?;
    let found = domain.members.iter().find(|member| member.interface_name.as_str() == name);
    found.map(|found| format!("{found:?}")).ok_or_else(|| format!("{name} is not in bridge domain {id}"))
}

fn loopback(id: &str) -> String {
    format!("loop{id}")
}

/// Removes a port of whatever kind.
pub(crate) fn remove_port(node: &str, sw_if_index: u32) -> Result<(), String> {
    vpp::request(node, MemifDelete { sw_if_index }).or_else(|_| vpp::request(node, DeleteVhostUserIf { sw_if_index }))
}

/// Changes something of a port.
pub(crate) fn change_port(node: &str, sw_if_index: u32, setting: usize) -> Result<(), String> {
    match setting % 3 {
        // Down, so that it forwards nothing.
        0 => vpp::request(node, SwInterfaceSetFlags { sw_if_index, ..Default::default() }),
        1 => vpp::request(node, HwInterfaceSetMtu { sw_if_index, mtu: 1000 }),
        // Out of its bridge domain.
        _ => vpp::request(node, SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, ..Default::default() }),
    }
}

fn is_ours(interface: &SwInterfaceDetails) -> bool {
    interface.tag.as_str().starts_with(OURS)
}

fn reply<R: Request>(node: &str, request: R) -> Result<R::Reply, String> {
    let mut batch = Batch::new();
    let ticket = batch.request(request);
    let answers = vpp::connect(node).and_then(|mut client| client.send(&batch)).map_err(text)?;
    answers.reply(ticket).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
