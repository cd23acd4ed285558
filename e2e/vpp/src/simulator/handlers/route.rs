//! Routes, and interfaces that use the address of another interface.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    FibPath, FibPathProto, FibPaths, IpRoute, IpRouteAddDel, IpRouteAddDelReply, IpRouteDetails, IpRouteDump,
    IpUnnumberedDetails, IpUnnumberedDump, NO_INTERFACE, Prefix, SwInterfaceSetUnnumbered,
    SwInterfaceSetUnnumberedReply,
};

impl Handle for IpRouteAddDel {
    /// Only routes with one path to an interface are simulated.
    fn handle(&self, state: &mut State) -> Result<IpRouteAddDelReply, Failure> {
        let IpRoute { table_id, prefix, paths, .. } = &self.route;
        let address = prefix.ip().ok_or(ReturnCode::InvalidAddressFamily)?;
        let [path] = paths.0.as_slice() else { return Err(ReturnCode::InvalidArgument.into()) };
        let route = (address, prefix.length);
        if self.is_add {
            state.interface(path.sw_if_index)?;
            state.routing.add_route((address.is_ipv6(), *table_id), route, path.sw_if_index)?;
        } else {
            let only = self.is_multipath.then_some(path.sw_if_index);
            state.routing.remove_route((address.is_ipv6(), *table_id), route, only)?;
        }
        Ok(IpRouteAddDelReply::default())
    }
}

impl List for IpRouteDump {
    fn list(&self, state: &State) -> Vec<IpRouteDetails> {
        let table_id = self.table.table_id;
        let proto = if self.table.is_ip6 { FibPathProto::Ip6 } else { FibPathProto::Ip4 };
        let routes = state.routing.routes((self.table.is_ip6, table_id));
        let details = routes.map(|((address, length), sw_if_index)| {
            let path = FibPath { sw_if_index, weight: 1, proto, ..FibPath::default() };
            let prefix = Prefix::new(address, length);
            IpRouteDetails { route: IpRoute { table_id, prefix, paths: FibPaths(vec![path]), ..IpRoute::default() } }
        });
        details.collect()
    }
}

impl Handle for SwInterfaceSetUnnumbered {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetUnnumberedReply, Failure> {
        state.interface(self.sw_if_index)?;
        state.interface(self.unnumbered_sw_if_index)?;
        let from = self.is_add.then_some(self.sw_if_index);
        state.routing.set_unnumbered(self.unnumbered_sw_if_index, from)?;
        Ok(SwInterfaceSetUnnumberedReply::default())
    }
}

impl List for IpUnnumberedDump {
    fn list(&self, state: &State) -> Vec<IpUnnumberedDetails> {
        let all = state.routing.unnumbered.iter();
        let requested = all.filter(|(index, _)| self.sw_if_index == NO_INTERFACE || **index == self.sw_if_index);
        requested.map(|(index, from)| IpUnnumberedDetails { sw_if_index: *index, ip_sw_if_index: *from }).collect()
    }
}
