//! The neighbours of VPP's own addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::STATIC_NEIGHBOR;

/// The limit of the number of neighbours of a family, and the treatment of old ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    pub(crate) max_number: u32,
    pub(crate) max_age: u32,
    pub(crate) recycle: bool,
}

/// A MAC address and flags.
pub(crate) type Neighbour = ([u8; 6], u8);

#[derive(Debug)]
pub(crate) struct Neighbours {
    /// The first family is IPv4, the second is IPv6.
    families: [Family; 2],
}

/// The neighbours of one address family.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) config: Config,
    /// The key is `sw_if_index` and address.
    pub(crate) all: BTreeMap<(u32, IpAddr), Neighbour>,
}

impl Default for Neighbours {
    fn default() -> Self {
        let config = Config { max_number: 50_000, max_age: 0, recycle: false };
        Self { families: [(); 2].map(|()| Family { config, all: BTreeMap::new() }) }
    }
}

impl Neighbours {
    pub(crate) fn family(&self, is_ip6: bool) -> &Family {
        let [four, six] = &self.families;
        if is_ip6 { six } else { four }
    }

    pub(crate) fn family_mut(&mut self, is_ip6: bool) -> &mut Family {
        let [four, six] = &mut self.families;
        if is_ip6 { six } else { four }
    }

    /// Removes learned neighbours, because the interface is down.
    pub(crate) fn forget_learned(&mut self, sw_if_index: u32) {
        let is_static = |(_, flags): &Neighbour| flags & STATIC_NEIGHBOR != 0;
        for family in &mut self.families {
            family.all.retain(|(index, _), neighbour| *index != sw_if_index || is_static(neighbour));
        }
    }

    /// Removes all neighbours, because the interface is deleted.
    pub(crate) fn forget(&mut self, sw_if_index: u32) {
        for family in &mut self.families {
            family.all.retain(|(index, _), _| *index != sw_if_index);
        }
    }
}

impl Family {
    pub(crate) fn add(&mut self, key: (u32, IpAddr), neighbour: Neighbour) -> Result<(), ReturnCode> {
        let (count, limit) = (self.all.len(), self.config.max_number);
        if !self.all.contains_key(&key) && limit != 0 && u32::try_from(count).is_ok_and(|count| count >= limit) {
            return Err(ReturnCode::LimitExceeded);
        }
        self.all.insert(key, neighbour);
        Ok(())
    }
}
