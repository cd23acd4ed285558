//! The neighbours of VPP's own addresses. Only clients add them: no packets are received.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::neighbours::Config;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AddressFamily, IpNeighbor, IpNeighborAddDel, IpNeighborAddDelReply, IpNeighborConfig, IpNeighborConfigGet,
    IpNeighborConfigGetReply, IpNeighborConfigReply, IpNeighborDetails, IpNeighborDump, NO_INTERFACE,
};

impl State {
    fn neighbour_config(&mut self, family: AddressFamily) -> Result<&mut Config, ReturnCode> {
        match family {
            AddressFamily::Ip4 => Ok(&mut self.neighbours.family_mut(false).config),
            AddressFamily::Ip6 => Ok(&mut self.neighbours.family_mut(true).config),
            AddressFamily::Other(_) => Err(ReturnCode::InvalidAddressFamily),
        }
    }
}

impl Handle for IpNeighborAddDel {
    fn handle(&self, state: &mut State) -> Result<IpNeighborAddDelReply, Failure> {
        let IpNeighbor { sw_if_index, flags, mac_address, ip_address } = &self.neighbor;
        state.interface(*sw_if_index)?;
        let ip = ip_address.ip().ok_or(ReturnCode::InvalidAddressFamily)?;
        let (family, key) = (state.neighbours.family_mut(ip.is_ipv6()), (*sw_if_index, ip));
        if self.is_add {
            family.add(key, (*mac_address, *flags))?;
        } else {
            family.all.remove(&key).ok_or(ReturnCode::NoSuchEntry)?;
        }
        Ok(IpNeighborAddDelReply::default())
    }
}

impl Handle for IpNeighborConfig {
    fn handle(&self, state: &mut State) -> Result<IpNeighborConfigReply, Failure> {
        let Self { max_number, max_age, recycle, .. } = *self;
        *state.neighbour_config(self.af)? = Config { max_number, max_age, recycle };
        Ok(IpNeighborConfigReply::default())
    }
}

impl Handle for IpNeighborConfigGet {
    fn handle(&self, state: &mut State) -> Result<IpNeighborConfigGetReply, Failure> {
        let Config { max_number, max_age, recycle } = *state.neighbour_config(self.af)?;
        Ok(IpNeighborConfigGetReply { retval: 0, af: self.af, max_number, max_age, recycle })
    }
}

impl List for IpNeighborDump {
    fn list(&self, state: &State) -> Vec<IpNeighborDetails> {
        let family = state.neighbours.family(self.af == AddressFamily::Ip6);
        let is_wanted = |index: u32| self.sw_if_index == NO_INTERFACE || self.sw_if_index == index;
        let wanted = family.all.iter().filter(|((index, _), _)| is_wanted(*index));
        let details = wanted.map(|((sw_if_index, ip), (mac_address, flags))| IpNeighborDetails {
            age: 0,
            neighbor: IpNeighbor {
                sw_if_index: *sw_if_index,
                flags: *flags,
                mac_address: *mac_address,
                ip_address: (*ip).into(),
            },
        });
        details.collect()
    }
}
