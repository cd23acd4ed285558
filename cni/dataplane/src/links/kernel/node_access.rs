//! The node's own devices in networks.

use super::KernelLinks;
use super::observe::{has_net_admin, name};
use super::{failed, from_netlink};
use crate::isolation::Guard;
use crate::links::LinkError;
use crate::links::node_access::{DesiredNodeAccess, NodeAccessOp, NodeAccesses, ObservedNodeAccess, Route};
use crate::links::owner::LinkOwner;
use crate::links::pair::{Pair, PairEnd};
use crate::netlink::NetlinkError;
use ipnet::IpNet;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkExtentMask, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

impl KernelLinks {
    /// Reads the pairs, and the routes that overlap subnets of these networks.
    ///
    /// # Errors
    /// Something could not be read. It never looks like a node without devices.
    pub fn observe_node_access(&mut self, desired: &NodeAccesses) -> Result<ObservedNodeAccess, LinkError> {
        let may_change = has_net_admin()?;
        let ends = self.ends_of(Pair::NodeAccess).map_err(failed("list the node's devices in networks"))?;
        let is_node_end = |index: &u32| ends.get(index).is_some_and(|end| end.end == PairEnd::Node);
        let mut addresses: BTreeMap<u32, BTreeSet<_>> = BTreeMap::new();
        for (index, address) in self.addresses().map_err(failed("list the addresses of the node"))? {
            if is_node_end(&index) {
                addresses.entry(index).or_default().insert(address);
            }
        }
        let subnets: Vec<IpNet> = desired.values().flat_map(DesiredNodeAccess::subnets).collect();
        let routes = if subnets.is_empty() {
            BTreeSet::new()
        } else {
            self.routes(&subnets, is_node_end).map_err(failed("list the routes of the node"))?
        };
        Ok(ObservedNodeAccess { may_change, ends, addresses, routes })
    }

    /// Applies one operation. It can be repeated.
    ///
    /// # Errors
    /// The kernel's error. Part of the operation may have been done.
    pub fn apply_node_access(&mut self, operation: &NodeAccessOp) -> Result<(), LinkError> {
        match operation {
            NodeAccessOp::Ensure { owner, access } => self.ensure_node_access(owner, access, &operation.to_string()),
            NodeAccessOp::Delete { index, .. } => {
                self.delete(*index).map_err(|error| from_netlink(operation.to_string(), error))
            }
        }
    }

    /// Nothing passes until the engine's end is isolated from the node.
    fn ensure_node_access(
        &mut self,
        owner: &LinkOwner,
        access: &DesiredNodeAccess,
        what: &str,
    ) -> Result<(), LinkError> {
        let ends = self
            .ensure_pair(owner, Pair::NodeAccess, access.mtu, Some(access.mac(&owner.network)))
            .map_err(failed(what))?;
        for end in ends {
            self.configure_end(owner, end, access.mtu).map_err(failed(what))?;
        }
        let [(_, node), (engine, _)] = ends;
        self.isolate([Guard::port(engine.device(&owner.network).as_str())])?;
        for (_, index) in ends {
            self.set_up(index, true).map_err(failed(what))?;
        }
        self.set_addresses(node, access).map_err(failed(what))
    }

    fn set_addresses(&mut self, index: u32, access: &DesiredNodeAccess) -> Result<(), NetlinkError> {
        let found = self.addresses()?.into_iter().filter(|(of, _)| *of == index).map(|(_, address)| address);
        let found: BTreeSet<_> = found.collect();
        found.difference(&access.addresses).try_for_each(|address| self.change_address(index, *address, false))?;
        access.addresses.difference(&found).try_for_each(|address| self.change_address(index, *address, true))
    }

    /// The routes over other devices than the node's own ones in networks. Default routes are not
    /// lost by a more specific one.
    fn routes(
        &mut self,
        subnets: &[IpNet],
        is_node_end: impl Fn(&u32) -> bool,
    ) -> Result<BTreeSet<Route>, NetlinkError> {
        let answers = self.dump(&RouteNetlinkMessage::GetRoute(RouteMessage::default()))?;
        let mut found = Vec::new();
        for answer in &answers {
            let RouteNetlinkMessage::NewRoute(route) = answer else { continue };
            let Some((destination, device)) = unicast(route) else { continue };
            let overlaps = |subnet: &IpNet| subnet.contains(&destination) || destination.contains(subnet);
            if destination.prefix_len() > 0 && !is_node_end(&device) && subnets.iter().any(overlaps) {
                found.push((destination, device));
            }
        }
        let mut routes = BTreeSet::new();
        for (destination, device) in found {
            let device = self.name_of(device)?.unwrap_or_else(|| format!("with index {device}"));
            routes.insert(Route { destination, device });
        }
        Ok(routes)
    }

    fn name_of(&mut self, index: u32) -> Result<Option<String>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
        let answers: Vec<_> = self.netlink.request(RouteNetlinkMessage::GetLink(message), 0)?;
        Ok(answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => name(link).map(str::to_owned),
            _ => None,
        }))
    }
}

/// The destination and the device of a route to others; none of another kind of route.
fn unicast(route: &RouteMessage) -> Option<(IpNet, u32)> {
    if route.header.kind != RouteType::Unicast {
        return None;
    }
    let mut device = None;
    let mut destination = None;
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(index) => device = Some(*index),
            RouteAttribute::MultiPath(hops) => device = hops.first().map(|hop| hop.interface_index),
            RouteAttribute::Destination(RouteAddress::Inet(address)) => destination = Some(IpAddr::V4(*address)),
            RouteAttribute::Destination(RouteAddress::Inet6(address)) => destination = Some(IpAddr::V6(*address)),
            _ => {}
        }
    }
    let destination = IpNet::new(destination?, route.header.destination_prefix_length).ok()?;
    Some((destination.trunc(), device?))
}
