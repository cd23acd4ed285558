//! All that a VPP knows. It is empty after each start.

use super::bridge::BridgeDomains;
use super::features::Features;
use super::interface::{Device, Interface, Rewrite};
use super::memif::Sockets;
use super::policer::Policers;
use super::pool::Pool;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use usnet_vpp::ReturnCode;

/// All that a VPP knows.
#[derive(Debug)]
pub(super) struct State {
    /// The client index of whose message is being done.
    pub(super) caller: u32,
    /// Who gets interface events: client index and what it called its process.
    pub(super) subscribers: BTreeMap<u32, u32>,
    /// What subscribers were not told yet, by `sw_if_index`.
    pub(super) events: BTreeMap<u32, Event>,
    pub(super) runtime_directory: PathBuf,
    pub(super) interfaces: Pool<Interface>,
    /// By `sw_if_index`, because VPP does not forget them with the interface.
    pub(super) rewrites: BTreeMap<u32, Rewrite>,
    /// By `sw_if_index`, for the same reason.
    pub(super) features: BTreeMap<u32, Features>,
    pub(super) policers: Policers,
    pub(super) bridges: BridgeDomains,
    pub(super) sockets: Sockets,
    /// The numbers in the names of vhost-user interfaces.
    pub(super) vhost_numbers: Pool<()>,
    pub(super) bridge_ids: Random,
    pub(super) addresses: Random,
    names: BTreeSet<String>,
}

/// What happened to an interface since its subscribers were told.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event {
    pub(super) admin_up: bool,
    pub(super) link_up: bool,
    pub(super) deleted: bool,
}

impl State {
    pub(super) fn new(runtime_directory: &Path) -> Self {
        let mut state = Self {
            caller: 0,
            subscribers: BTreeMap::new(),
            events: BTreeMap::new(),
            runtime_directory: runtime_directory.to_owned(),
            interfaces: Pool::default(),
            rewrites: BTreeMap::new(),
            features: BTreeMap::new(),
            policers: Policers::default(),
            bridges: BridgeDomains::default(),
            sockets: Sockets::new(runtime_directory),
            vhost_numbers: Pool::default(),
            bridge_ids: Random::default(),
            addresses: Random::default(),
            names: BTreeSet::new(),
        };
        state.add_interface(Interface::new("local0".to_owned(), Device::Local));
        state.events.clear();
        state
    }

    /// An interface, or the refusal that VPP gives.
    pub(super) fn interface(&mut self, sw_if_index: u32) -> Result<&mut Interface, ReturnCode> {
        self.interfaces.get_mut(sw_if_index).ok_or(ReturnCode::InvalidSwIfIndex)
    }

    /// What is done to VLAN tags on an interface.
    pub(super) fn rewrite(&self, sw_if_index: u32) -> Rewrite {
        self.rewrites.get(&sw_if_index).copied().unwrap_or_default()
    }

    /// Whether an interface has this name. VPP dies when it is to make a second one.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn add_interface(&mut self, interface: Interface) -> u32 {
        self.names.insert(interface.name.clone());
        let sw_if_index = self.interfaces.insert(interface);
        self.events.entry(sw_if_index).or_default();
        sw_if_index
    }

    /// What an interface that leaves its bridge domain, and goes to no other, loses.
    pub(super) fn forget_l2(&mut self, sw_if_index: u32) {
        self.rewrites.remove(&sw_if_index);
        self.features.remove(&sw_if_index);
    }

    /// Takes it out of its bridge domain as well, and only with that its VLAN tag rewrite and the like go.
    pub(super) fn remove_interface(&mut self, sw_if_index: u32) {
        if self.leave_bridge(sw_if_index) {
            self.forget_l2(sw_if_index);
        }
        if let Some(interface) = self.interfaces.remove(sw_if_index) {
            self.names.remove(&interface.name);
            self.events.entry(sw_if_index).or_default().deleted = true;
        }
    }

    /// A locally administered address that no other interface got.
    pub(super) fn new_address(&mut self) -> [u8; 6] {
        let [a, b, c, d] = self.addresses.next().to_be_bytes();
        [0x02, 0xfe, a, b, c, d]
    }
}

/// VPP's row of numbers (`vppinfra/random.h`), which is the same one in each start.
#[derive(Debug, Default)]
pub(super) struct Random(u32);

impl Random {
    pub(super) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }
}
