//! The state of a VPP. It is empty after each start.

use crate::simulator::model::access_lists::AccessLists;
use crate::simulator::model::bridge_domains::BridgeDomains;
use crate::simulator::model::classifier::Classifier;
use crate::simulator::model::device::{Device, SubInterface};
use crate::simulator::model::features::Features;
use crate::simulator::model::interface::{Interface, Rewrite};
use crate::simulator::model::memif_sockets::Sockets;
use crate::simulator::model::neighbours::Neighbours;
use crate::simulator::model::policers::Policers;
use crate::simulator::model::pool::Pool;
use crate::simulator::model::random::Random;
use crate::simulator::model::routing::Routing;
use crate::simulator::stats::Stats;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{L2InputFeatures, L2OutputFeatures, SpanState};

#[derive(Debug)]
pub(crate) struct State {
    /// The index of the client whose message is executed.
    pub(crate) caller: u32,
    /// The subscribers to interface events: client index, and the process id that the client gave.
    pub(crate) subscribers: BTreeMap<u32, u32>,
    /// The events that were not yet sent, by `sw_if_index`.
    pub(crate) events: BTreeMap<u32, Event>,
    pub(crate) runtime_directory: PathBuf,
    pub(crate) interfaces: Pool<Interface>,
    /// VPP does not remove rewrites with the interface, so that they are stored by `sw_if_index`.
    pub(crate) rewrites: BTreeMap<u32, Rewrite>,
    /// VPP does not remove features with the interface either.
    pub(crate) features: BTreeMap<u32, Features>,
    pub(crate) policers: Policers,
    pub(crate) classifier: Classifier,
    pub(crate) access_lists: AccessLists,
    /// Mirroring, by source, destination and whether it is in bridge domains. VPP does not remove
    /// it with the interfaces.
    pub(crate) spans: BTreeMap<(u32, u32, bool), SpanState>,
    pub(crate) bridges: BridgeDomains,
    pub(crate) routing: Routing,
    pub(crate) neighbours: Neighbours,
    pub(crate) sockets: Sockets,
    /// The numbers in the names of vhost-user interfaces.
    pub(crate) vhost_numbers: Pool<()>,
    /// The slots of VXLAN tunnels.
    pub(crate) tunnel_slots: Pool<()>,
    pub(crate) bridge_ids: Random,
    pub(crate) addresses: Random,
    names: BTreeSet<String>,
    stats: Stats,
}

/// The changes of an interface since the last event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Event {
    pub(crate) admin_up: bool,
    pub(crate) link_up: bool,
    pub(crate) deleted: bool,
}

impl State {
    pub(crate) fn new(runtime_directory: &Path, stats: Stats) -> Self {
        stats.reset();
        let mut state = Self {
            caller: 0,
            subscribers: BTreeMap::new(),
            events: BTreeMap::new(),
            runtime_directory: runtime_directory.to_owned(),
            interfaces: Pool::default(),
            rewrites: BTreeMap::new(),
            features: BTreeMap::new(),
            policers: Policers::default(),
            classifier: Classifier::default(),
            access_lists: AccessLists::default(),
            spans: BTreeMap::new(),
            bridges: BridgeDomains::default(),
            routing: Routing::default(),
            neighbours: Neighbours::default(),
            sockets: Sockets::new(runtime_directory),
            vhost_numbers: Pool::default(),
            tunnel_slots: Pool::default(),
            bridge_ids: Random::default(),
            addresses: Random::default(),
            names: BTreeSet::new(),
            stats,
        };
        state.add_interface(Interface::new("local0".to_owned(), Device::Local));
        state.events.clear();
        state
    }

    /// Returns an interface, or VPP's refusal if it does not exist.
    pub(crate) fn interface(&mut self, sw_if_index: u32) -> Result<&mut Interface, ReturnCode> {
        self.interfaces.get_mut(sw_if_index).ok_or(ReturnCode::InvalidSwIfIndex)
    }

    /// Returns the VLAN tag rewrite of an interface.
    pub(crate) fn rewrite(&self, sw_if_index: u32) -> Rewrite {
        self.rewrites.get(&sw_if_index).copied().unwrap_or_default()
    }

    /// Whether an interface has this name. VPP ends if it has to create a second one.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn add_interface(&mut self, interface: Interface) -> u32 {
        let (name, tx_errors) = (interface.name.clone(), interface.device.tx_errors());
        let sw_if_index = self.interfaces.insert(interface);
        self.stats.add_interface(sw_if_index, &name, tx_errors);
        self.names.insert(name);
        self.events.entry(sw_if_index).or_default();
        sw_if_index
    }

    /// Resets what an interface loses when it leaves its bridge domain for no other.
    pub(crate) fn forget_l2(&mut self, sw_if_index: u32) {
        self.rewrites.remove(&sw_if_index);
        self.features.remove(&sw_if_index);
    }

    pub(crate) fn sub_interfaces(&self) -> impl Iterator<Item = &SubInterface> {
        self.interfaces.iter().filter_map(|(_, interface)| match &interface.device {
            Device::Sub(sub) => Some(sub),
            _ => None,
        })
    }

    /// Returns the sub-interfaces of an interface.
    fn subs_of(&self, parent: u32) -> impl Iterator<Item = u32> {
        let is_of_it = move |device: &Device| matches!(device, Device::Sub(sub) if sub.parent == parent);
        self.interfaces.iter().filter(move |(_, other)| is_of_it(&other.device)).map(|(index, _)| index)
    }

    /// Deletes an interface and its sub-interfaces. Its VLAN tag rewrite and other L2 state is
    /// reset only if it was in a bridge domain, as in VPP.
    pub(crate) fn remove_interface(&mut self, sw_if_index: u32) {
        let subs: Vec<u32> = self.subs_of(sw_if_index).collect();
        subs.into_iter().for_each(|sub| self.remove_interface(sub));
        if self.leave_bridge(sw_if_index) {
            self.forget_l2(sw_if_index);
        }
        self.routing.forget(sw_if_index);
        self.neighbours.forget(sw_if_index);
        self.forget_acls(sw_if_index);
        if let Some(interface) = self.interfaces.remove(sw_if_index) {
            self.names.remove(&interface.name);
            self.stats.remove_interface(&interface.name, interface.device.tx_errors());
            self.events.entry(sw_if_index).or_default().deleted = true;
        }
    }

    /// Ends all checks by access lists, as VPP does before it deletes an interface.
    fn forget_acls(&mut self, sw_if_index: u32) {
        if self.access_lists.lists.remove(&sw_if_index).is_some()
            && let Some(features) = self.features.get_mut(&sw_if_index)
        {
            features.set_input(L2InputFeatures::FEATURE_ARC, false);
            features.set_output(L2OutputFeatures::FEATURE_ARC, false);
        }
    }

    /// Removes an interface from its bridge domain. Returns false if it was in none.
    pub(crate) fn leave_bridge(&mut self, sw_if_index: u32) -> bool {
        let left = self.interfaces.get_mut(sw_if_index).and_then(|interface| interface.bridge.take());
        if let Some(domain) = left.and_then(|(id, _)| self.bridges.0.get_mut(&id)) {
            domain.remove(sw_if_index);
        }
        left.is_some()
    }

    /// Returns a locally administered address that no other interface got.
    pub(crate) fn new_address(&mut self) -> [u8; 6] {
        let [a, b, c, d] = self.addresses.next().to_be_bytes();
        [0x02, 0xfe, a, b, c, d]
    }
}
