//! Bridge domains and their members.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::bridge_domains::BridgeDomain;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    BdFlags, BridgeDomainAddDel, BridgeDomainAddDelReply, BridgeDomainAddDelV2, BridgeDomainAddDelV2Reply,
    BridgeDomainDetails, BridgeDomainDump, BridgeDomainSetLearnLimit, BridgeDomainSetLearnLimitReply,
    BridgeDomainSetMacAge, BridgeDomainSetMacAgeReply, BridgeDomainSwIf, BridgeFlags, BridgeFlagsReply,
    L2FibTableDetails, L2FibTableDump, L2PortType, NO_BRIDGE_DOMAIN, NO_INTERFACE, SwInterfaceSetL2Bridge,
    SwInterfaceSetL2BridgeReply,
};

const ID_MAX: u32 = 0x00ff_ffff;
impl State {
    /// Returns a bridge domain that can be changed.
    fn bridge(&mut self, id: u32) -> Result<&mut BridgeDomain, ReturnCode> {
        match id {
            0 => Err(ReturnCode::BdNotModifiable),
            _ => self.bridges.0.get_mut(&id).ok_or(ReturnCode::NoSuchEntry),
        }
    }

    fn bridge_details(&self, id: u32, domain: &BridgeDomain) -> BridgeDomainDetails {
        let flags = BdFlags(domain.flags);
        let group = |member: u32| self.interfaces.get(member)?.bridge.map(|(_, group)| group);
        let member = |member: &u32| BridgeDomainSwIf {
            context: 0,
            sw_if_index: *member,
            shg: group(*member).unwrap_or_default(),
        };
        BridgeDomainDetails {
            bd_id: id,
            flood: flags.contains(BdFlags::FLOOD),
            uu_flood: flags.contains(BdFlags::UU_FLOOD),
            forward: flags.contains(BdFlags::FWD),
            learn: flags.contains(BdFlags::LEARN),
            arp_term: flags.contains(BdFlags::ARP_TERM),
            arp_ufwd: flags.contains(BdFlags::ARP_UFWD),
            mac_age: domain.mac_age,
            bd_tag: domain.tag.clone(),
            bvi_sw_if_index: domain.bvi.unwrap_or(NO_INTERFACE),
            uu_fwd_sw_if_index: domain.uu_fwd.unwrap_or(NO_INTERFACE),
            sw_if_details: domain.members.iter().map(member).collect(),
        }
    }

    fn add_bridge(&mut self, id: u32, domain: BridgeDomain) -> Result<(), ReturnCode> {
        if id == 0 || self.bridges.0.contains_key(&id) {
            return Err(ReturnCode::BdAlreadyExists);
        }
        if id > ID_MAX {
            return Err(ReturnCode::BdIdExceedMax);
        }
        self.bridges.0.insert(id, domain);
        Ok(())
    }

    fn delete_bridge(&mut self, id: u32) -> Result<(), ReturnCode> {
        if !self.bridge(id)?.members.is_empty() {
            return Err(ReturnCode::BdInUse);
        }
        self.bridges.0.remove(&id);
        Ok(())
    }

    fn unused_bridge_id(&mut self) -> u32 {
        loop {
            let id = self.bridge_ids.next() & ID_MAX;
            if id != 0 && !self.bridges.0.contains_key(&id) {
                return id;
            }
        }
    }
}

impl Handle for BridgeDomainAddDelV2 {
    fn handle(&self, state: &mut State) -> Result<BridgeDomainAddDelV2Reply, Failure> {
        let choose = self.is_add && self.bd_id == NO_BRIDGE_DOMAIN;
        let bd_id = if choose { state.unused_bridge_id() } else { self.bd_id };
        let done = if self.is_add { state.add_bridge(bd_id, requested(self)) } else { state.delete_bridge(bd_id) };
        Ok(BridgeDomainAddDelV2Reply { retval: done.err().map_or(0, ReturnCode::number), bd_id })
    }
}

fn requested(message: &BridgeDomainAddDelV2) -> BridgeDomain {
    let flags = [
        (message.learn, BdFlags::LEARN),
        (message.forward, BdFlags::FWD),
        (message.flood, BdFlags::FLOOD),
        (message.uu_flood, BdFlags::UU_FLOOD),
        (message.arp_term, BdFlags::ARP_TERM),
        (message.arp_ufwd, BdFlags::ARP_UFWD),
    ];
    let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag.0);
    BridgeDomain { flags, mac_age: message.mac_age, tag: message.bd_tag.clone(), ..BridgeDomain::default() }
}

impl Handle for BridgeDomainAddDel {
    fn handle(&self, state: &mut State) -> Result<BridgeDomainAddDelReply, Failure> {
        if self.is_add && self.bd_id == NO_BRIDGE_DOMAIN {
            return Err(ReturnCode::BdIdExceedMax.into());
        }
        let newer = BridgeDomainAddDelV2 {
            bd_id: self.bd_id,
            flood: self.flood,
            uu_flood: self.uu_flood,
            forward: self.forward,
            learn: self.learn,
            arp_term: self.arp_term,
            arp_ufwd: self.arp_ufwd,
            mac_age: self.mac_age,
            bd_tag: self.bd_tag.clone(),
            is_add: self.is_add,
        };
        Ok(BridgeDomainAddDelReply { retval: newer.handle(state)?.retval })
    }
}

impl Handle for BridgeFlags {
    fn handle(&self, state: &mut State) -> Result<BridgeFlagsReply, Failure> {
        let domain = state.bridge(self.bd_id)?;
        domain.flags = if self.is_set { domain.flags | self.flags.0 } else { domain.flags & !self.flags.0 };
        Ok(BridgeFlagsReply { retval: 0, resulting_feature_bitmap: domain.features() })
    }
}

impl Handle for BridgeDomainSetMacAge {
    fn handle(&self, state: &mut State) -> Result<BridgeDomainSetMacAgeReply, Failure> {
        state.bridge(self.bd_id)?.mac_age = self.mac_age;
        Ok(BridgeDomainSetMacAgeReply::default())
    }
}

impl Handle for BridgeDomainSetLearnLimit {
    fn handle(&self, state: &mut State) -> Result<BridgeDomainSetLearnLimitReply, Failure> {
        state.bridge(self.bd_id)?.learn_limit = self.learn_limit;
        Ok(BridgeDomainSetLearnLimitReply::default())
    }
}

impl Handle for SwInterfaceSetL2Bridge {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetL2BridgeReply, Failure> {
        let index = self.rx_sw_if_index;
        state.interface(index)?;
        if matches!(self.port_type, L2PortType::Other(_)) {
            return Err(ReturnCode::InvalidValue.into());
        }
        if !self.enable {
            state.leave_bridge(index);
            state.forget_l2(index);
            return Ok(SwInterfaceSetL2BridgeReply::default());
        }
        if self.bd_id > ID_MAX {
            return Err(ReturnCode::BdIdExceedMax.into());
        }
        state.leave_bridge(index);
        // If the type is refused afterwards, the interface is in the domain without being a member,
        // as in VPP.
        state.interface(index)?.bridge = Some((self.bd_id, self.shg));
        let domain = state.bridges.0.entry(self.bd_id).or_insert_with(BridgeDomain::by_default);
        match self.port_type {
            L2PortType::Bvi if domain.bvi.is_some() => return Err(ReturnCode::BdAlreadyHasBvi.into()),
            L2PortType::Bvi => domain.bvi = Some(index),
            L2PortType::UuFwd => domain.uu_fwd = Some(index),
            L2PortType::Normal | L2PortType::Other(_) => {}
        }
        if self.port_type != L2PortType::UuFwd {
            domain.members.push(index);
        }
        Ok(SwInterfaceSetL2BridgeReply::default())
    }
}

impl List for L2FibTableDump {
    /// There are no frames, so that nothing is learned.
    fn list(&self, _state: &State) -> Vec<L2FibTableDetails> {
        Vec::new()
    }
}

impl List for BridgeDomainDump {
    /// VPP does not search members: a dump for one of them is empty.
    fn list(&self, state: &State) -> Vec<BridgeDomainDetails> {
        let wanted = |id: u32| id != 0 && (self.bd_id == NO_BRIDGE_DOMAIN || self.bd_id == id);
        let domains = state.bridges.0.iter().filter(|(id, _)| self.sw_if_index == NO_INTERFACE && wanted(**id));
        domains.map(|(id, domain)| state.bridge_details(*id, domain)).collect()
    }
}
