//! Routing tables, and the addresses of interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_vpp::ReturnCode;
use usnet_vpp::wire::FixedText;

/// A table is identified by whether it is one of IPv6, and by its id.
pub(crate) type TableKey = (bool, u32);

#[derive(Debug)]
pub(crate) struct Routing {
    /// The names of tables. Table 0 of each family always exists.
    pub(crate) tables: BTreeMap<TableKey, FixedText<64>>,
    /// Tables that a client has deleted and that interfaces are still bound to.
    deleted: BTreeSet<TableKey>,
    /// The key is `sw_if_index` and family. Other interfaces are bound to table 0.
    bound: BTreeMap<(u32, bool), u32>,
    /// The key is `sw_if_index`. Addresses have the length of their prefix and are in the order in
    /// which they were added.
    addresses: BTreeMap<u32, Vec<(IpAddr, u8)>>,
    /// Interfaces that use the addresses of another interface, which may have been deleted since.
    pub(crate) unnumbered: BTreeMap<u32, u32>,
    /// The interface of each route, which may have been deleted since.
    routes: BTreeMap<(TableKey, (IpAddr, u8)), u32>,
}

impl Default for Routing {
    fn default() -> Self {
        let default = |is_ip6: bool| {
            let name = if is_ip6 { "ipv6-VRF:0" } else { "ipv4-VRF:0" };
            ((is_ip6, 0), FixedText::new(name).unwrap_or_default())
        };
        Self {
            tables: [default(false), default(true)].into(),
            deleted: BTreeSet::new(),
            bound: BTreeMap::new(),
            addresses: BTreeMap::new(),
            unnumbered: BTreeMap::new(),
            routes: BTreeMap::new(),
        }
    }
}

impl Routing {
    /// A table that exists keeps its name.
    pub(crate) fn add_table(&mut self, key: TableKey, name: FixedText<64>) {
        self.deleted.remove(&key);
        self.tables.entry(key).or_insert(name);
    }

    pub(crate) fn delete_table(&mut self, key: TableKey) {
        let (_, id) = key;
        if id != 0 && self.tables.contains_key(&key) {
            self.deleted.insert(key);
            self.collect();
        }
    }

    /// Removes deleted tables to which no interface is bound any more.
    fn collect(&mut self) {
        let bound = &self.bound;
        let is_bound =
            |(is_ip6, id): &TableKey| bound.iter().any(|((_, family), table)| family == is_ip6 && table == id);
        let ended: Vec<TableKey> = self.deleted.iter().filter(|key| !is_bound(key)).copied().collect();
        for key in ended {
            self.deleted.remove(&key);
            self.tables.remove(&key);
            self.routes.retain(|(table, _), _| *table != key);
        }
    }

    /// Returns the table to which an interface is bound.
    pub(crate) fn table_of(&self, sw_if_index: u32, is_ip6: bool) -> u32 {
        self.bound.get(&(sw_if_index, is_ip6)).copied().unwrap_or_default()
    }

    pub(crate) fn bind(&mut self, sw_if_index: u32, (is_ip6, id): TableKey) -> Result<(), ReturnCode> {
        if !self.tables.contains_key(&(is_ip6, id)) {
            return Err(ReturnCode::NoSuchFib);
        }
        if self.addresses(sw_if_index, is_ip6).next().is_some() || self.unnumbered.contains_key(&sw_if_index) {
            return Err(ReturnCode::AddressFoundForInterface);
        }
        self.bound.insert((sw_if_index, is_ip6), id);
        self.collect();
        Ok(())
    }

    pub(crate) fn addresses(&self, sw_if_index: u32, is_ip6: bool) -> impl Iterator<Item = (IpAddr, u8)> {
        let all = self.addresses.get(&sw_if_index).into_iter().flatten().copied();
        all.filter(move |(address, _)| address.is_ipv6() == is_ip6)
    }

    pub(crate) fn add_address(&mut self, sw_if_index: u32, address: (IpAddr, u8)) -> Result<(), ReturnCode> {
        let is_ip6 = address.0.is_ipv6();
        let table = self.table_of(sw_if_index, is_ip6);
        // An interface can have several addresses of one subnet.
        let is_beside =
            |(index, (ip, length)): (u32, (IpAddr, u8))| index == sw_if_index && length == address.1 && ip != address.0;
        let in_table = self.addresses.keys().filter(|index| self.table_of(**index, is_ip6) == table);
        let is_taken = in_table
            .flat_map(|index| self.addresses(*index, is_ip6).map(|other| (*index, other)))
            .any(|other| overlap(other.1, address) && !is_beside(other));
        if is_taken {
            return Err(ReturnCode::AddressInUse);
        }
        self.addresses.entry(sw_if_index).or_default().push(address);
        Ok(())
    }

    pub(crate) fn remove_address(&mut self, sw_if_index: u32, address: (IpAddr, u8)) -> Result<(), ReturnCode> {
        let addresses = self.addresses.entry(sw_if_index).or_default();
        let place = addresses.iter().position(|other| *other == address);
        addresses.remove(place.ok_or(ReturnCode::AddressNotFoundForInterface)?);
        Ok(())
    }

    pub(crate) fn remove_addresses(&mut self, sw_if_index: u32) {
        self.addresses.remove(&sw_if_index);
    }

    /// Makes an interface use the addresses of another one, or of none.
    pub(crate) fn set_unnumbered(&mut self, sw_if_index: u32, from: Option<u32>) -> Result<(), ReturnCode> {
        let Some(from) = from else {
            self.unnumbered.remove(&sw_if_index);
            return Ok(());
        };
        let differs = |is_ip6| self.table_of(sw_if_index, is_ip6) != self.table_of(from, is_ip6);
        if differs(false) || differs(true) {
            return Err(ReturnCode::UnexpectedIntfState);
        }
        self.unnumbered.insert(sw_if_index, from);
        Ok(())
    }

    /// A route that exists gets this path.
    pub(crate) fn add_route(
        &mut self,
        table: TableKey,
        route: (IpAddr, u8),
        sw_if_index: u32,
    ) -> Result<(), ReturnCode> {
        self.check_table(table)?;
        self.routes.insert((table, route), sw_if_index);
        Ok(())
    }

    /// With `only`, a route with another path stays. A missing route is not an error.
    pub(crate) fn remove_route(
        &mut self,
        table: TableKey,
        route: (IpAddr, u8),
        only: Option<u32>,
    ) -> Result<(), ReturnCode> {
        self.check_table(table)?;
        if only.is_none_or(|only| self.routes.get(&(table, route)) == Some(&only)) {
            self.routes.remove(&(table, route));
        }
        Ok(())
    }

    fn check_table(&self, table: TableKey) -> Result<(), ReturnCode> {
        if self.tables.contains_key(&table) { Ok(()) } else { Err(ReturnCode::NoSuchFib) }
    }

    /// Returns the routes that clients added to a table.
    pub(crate) fn routes(&self, table: TableKey) -> impl Iterator<Item = ((IpAddr, u8), u32)> {
        let of_table = self.routes.iter().filter(move |((key, _), _)| *key == table);
        of_table.map(|((_, route), sw_if_index)| (*route, *sw_if_index))
    }

    /// Removes the state of a deleted interface.
    pub(crate) fn forget(&mut self, sw_if_index: u32) {
        self.unnumbered.remove(&sw_if_index);
        self.addresses.remove(&sw_if_index);
        self.bound.retain(|(index, _), _| *index != sw_if_index);
        self.collect();
    }
}

/// Whether one of two prefixes contains the other.
fn overlap((one, length): (IpAddr, u8), (other, other_length): (IpAddr, u8)) -> bool {
    let length = length.min(other_length);
    network(one, length) == network(other, length)
}

fn network(address: IpAddr, length: u8) -> u128 {
    let (bits, width) = match address {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32_u32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    };
    bits.checked_shr(width.saturating_sub(length.into())).unwrap_or_default()
}
