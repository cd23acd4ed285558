//! Routing tables and addresses. No packet is routed.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    IpAddressDetails, IpAddressDump, IpTableAddDel, IpTableAddDelReply, IpTableDetails, IpTableDump, Prefix,
    SwInterfaceAddDelAddress, SwInterfaceAddDelAddressReply, SwInterfaceGetTable, SwInterfaceGetTableReply,
    SwInterfaceSetMacAddress, SwInterfaceSetMacAddressReply, SwInterfaceSetTable, SwInterfaceSetTableReply,
};

impl List for IpTableDump {
    fn list(&self, state: &State) -> Vec<IpTableDetails> {
        let tables = state.routing.tables.iter();
        tables
            .map(|((is_ip6, table_id), name)| IpTableDetails {
                table_id: *table_id,
                is_ip6: *is_ip6,
                name: name.clone(),
            })
            .collect()
    }
}

impl Handle for IpTableAddDel {
    fn handle(&self, state: &mut State) -> Result<IpTableAddDelReply, Failure> {
        let key = (self.is_ip6, self.table_id);
        if self.is_add {
            state.routing.add_table(key, self.name.clone());
        } else {
            state.routing.delete_table(key);
        }
        Ok(IpTableAddDelReply::default())
    }
}

impl Handle for SwInterfaceSetTable {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetTableReply, Failure> {
        state.interface(self.sw_if_index)?;
        state.routing.bind(self.sw_if_index, (self.is_ipv6, self.vrf_id))?;
        Ok(SwInterfaceSetTableReply::default())
    }
}

impl Handle for SwInterfaceGetTable {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceGetTableReply, Failure> {
        state.interface(self.sw_if_index)?;
        let vrf_id = state.routing.table_of(self.sw_if_index, self.is_ipv6);
        Ok(SwInterfaceGetTableReply { retval: 0, vrf_id })
    }
}

impl Handle for SwInterfaceAddDelAddress {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceAddDelAddressReply, Failure> {
        state.interface(self.sw_if_index)?;
        let address = self.prefix.ip().map(|ip| (ip, self.prefix.length)).ok_or(ReturnCode::InvalidAddressFamily)?;
        match (self.del_all, self.is_add) {
            (true, _) => state.routing.remove_addresses(self.sw_if_index),
            (false, true) => state.routing.add_address(self.sw_if_index, address)?,
            (false, false) => state.routing.remove_address(self.sw_if_index, address)?,
        }
        Ok(SwInterfaceAddDelAddressReply::default())
    }
}

impl List for IpAddressDump {
    fn list(&self, state: &State) -> Vec<IpAddressDetails> {
        let sw_if_index = self.sw_if_index;
        let addresses = state.routing.addresses(sw_if_index, self.is_ipv6);
        addresses.map(|(ip, length)| IpAddressDetails { sw_if_index, prefix: Prefix::new(ip, length) }).collect()
    }
}

impl Handle for SwInterfaceSetMacAddress {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetMacAddressReply, Failure> {
        state.interface(self.sw_if_index)?.address = self.mac_address;
        Ok(SwInterfaceSetMacAddressReply::default())
    }
}
