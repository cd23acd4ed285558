//! The objects of another client in the engines: bridges, some of which networks adopt, and ports
//! on them and on bridges of usnet. All must stay unchanged, whatever is created and deleted
//! meanwhile.

pub(crate) mod bridges;
pub(crate) mod domains;

use crate::soak::foreign::domains::Domain;
use crate::soak::steps::names;
use crate::soak::steps::{FOREIGN, NETWORKS, Part, Place};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::EngineKind;

/// The mark of the other client.
const OWNER: &str = "another";

/// A bridge: the number of its node, its engine and its name.
type Bridge = (usize, EngineKind, String);

/// The objects that the other client created, and their state at that time.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    bridges: BTreeMap<Bridge, String>,
    /// The ports by their bridge, at most one on each.
    ports: BTreeMap<Bridge, String>,
}

impl Foreign {
    /// Makes a bridge, unless there is one of that name.
    pub(crate) fn add_bridge(&mut self, node: usize, place: Place) -> Result<(), String> {
        let (engine, name) = names::place(place);
        match engine {
            EngineKind::OpenVswitch => bridges::make(names::node(node), &name, OWNER)?,
            EngineKind::Vpp => domains::make(names::node(node), &name, OWNER)?,
        }
        let bridge = (node, engine, name);
        let look = show_bridge(&bridge)?;
        self.bridges.insert(bridge, look);
        Ok(())
    }

    /// Deletes one of these bridges, even with ports of usnet on it.
    pub(crate) fn remove_bridge(&mut self, node: usize, place: Place) -> Result<(), String> {
        let (engine, name) = names::place(place);
        let bridge = (node, engine, name);
        let before = self.bridges.get(&bridge).ok_or("it does not exist")?;
        if self.ports.contains_key(&bridge) {
            return Err("it is in use".to_owned());
        }
        // An engine that cannot be asked says so here.
        assert_eq!(*before, show_bridge(&bridge)?, "a foreign bridge was changed: {bridge:?}");
        remove_bridge(&bridge)?;
        self.bridges.remove(&bridge);
        Ok(())
    }

    /// Puts a port on a bridge, theirs or ours.
    pub(crate) fn add_port(&mut self, node: usize, network: usize) -> Result<(), String> {
        let (engine, name) = names::place(Place::OfNetwork(network));
        match engine {
            EngineKind::OpenVswitch => bridges::add_port(names::node(node), &name, &port_of(&name), OWNER)?,
            EngineKind::Vpp => domains::add_loopback(names::node(node), &name)?,
        }
        let bridge = (node, engine, name);
        let look = show_port(&bridge)?;
        self.ports.insert(bridge.clone(), look);
        self.look_again(&bridge)
    }

    /// Deletes such a port.
    pub(crate) fn remove_port(&mut self, node: usize, network: usize) -> Result<(), String> {
        let (engine, name) = names::place(Place::OfNetwork(network));
        let bridge = (node, engine, name);
        let before = self.ports.get(&bridge).ok_or("it does not exist")?;
        assert_eq!(*before, show_port(&bridge)?, "a foreign port was changed: {bridge:?}");
        remove_port(&bridge)?;
        self.ports.remove(&bridge);
        self.look_again(&bridge)
    }

    /// Whether the other client has a port on the bridge of a network.
    pub(crate) fn has_port(&self, node: usize, network: usize) -> bool {
        let (engine, name) = names::place(Place::OfNetwork(network));
        self.ports.contains_key(&(node, engine, name))
    }

    /// Whether the other client created the bridge that a network asks for.
    pub(crate) fn has_bridge(&self, node: usize, network: usize) -> bool {
        let (engine, name) = names::place(Place::OfNetwork(network));
        self.bridges.contains_key(&(node, engine, name))
    }

    /// VPP loses all its state when it ends, foreign objects too.
    pub(crate) fn forget(&mut self, node: usize, part: Part) {
        if part == Part::Vpp {
            let is_gone = |(on, of, _): &Bridge| (*on, *of) == (node, EngineKind::Vpp);
            self.bridges.retain(|bridge, _| !is_gone(bridge));
            self.ports.retain(|bridge, _| !is_gone(bridge));
        }
    }

    /// Panics when one of these does not look as it did.
    pub(crate) fn assert_unchanged(&self) {
        let bridges = self.bridges.iter().map(|(bridge, before)| (bridge, before, show_bridge(bridge)));
        let ports = self.ports.iter().map(|(bridge, before)| (bridge, before, show_port(bridge)));
        for (bridge, before, now) in bridges.chain(ports) {
            let now = now.unwrap_or_else(|error| panic!("a foreign bridge or port is gone: {bridge:?}: {error}"));
            assert_eq!(*before, now, "a foreign bridge or port was changed: {bridge:?}");
        }
    }

    /// Deletes all ports, which allows the deletion of usnet's bridges that they kept.
    pub(crate) fn remove_ports(&mut self) {
        for bridge in std::mem::take(&mut self.ports).into_keys() {
            remove_port(&bridge).and_then(|()| self.look_again(&bridge)).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    pub(crate) fn remove_bridges(&mut self) {
        for bridge in std::mem::take(&mut self.bridges).into_keys() {
            remove_bridge(&bridge).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// The bridges, by engine and name, and how many ports there are.
    pub(crate) fn tell(&self) -> String {
        let bridges: Vec<_> =
            self.bridges.keys().map(|(node, _, name)| format!("{name} on {}", names::node(*node))).collect();
        format!("{} bridges ({}) and {} ports", bridges.len(), bridges.join(", "), self.ports.len())
    }

    /// The other client changed its own bridge.
    fn look_again(&mut self, bridge: &Bridge) -> Result<(), String> {
        if let Some(look) = self.bridges.get_mut(bridge) {
            *look = show_bridge(bridge)?;
        }
        Ok(())
    }
}

/// Removes all that the other client may have created on a node, as far as it can be.
pub(crate) fn clear(node: usize) {
    let networks = (0..NETWORKS).map(Place::OfNetwork);
    let places: BTreeSet<_> = networks.chain((0..FOREIGN).map(Place::Own)).map(names::place).collect();
    for (engine, name) in places {
        let bridge = (node, engine, name);
        let _not_there = remove_port(&bridge);
        if show_bridge(&bridge).is_ok_and(|look| look.contains(OWNER)) {
            let _failed = remove_bridge(&bridge);
        }
    }
}

fn show_bridge((node, engine, name): &Bridge) -> Result<String, String> {
    match engine {
        EngineKind::OpenVswitch => bridges::show(names::node(*node), name),
        EngineKind::Vpp => Ok(Domain::read(names::node(*node), name)?.show()),
    }
}

fn remove_bridge((node, engine, name): &Bridge) -> Result<(), String> {
    match engine {
        EngineKind::OpenVswitch => bridges::remove(names::node(*node), name),
        EngineKind::Vpp => domains::remove(names::node(*node), name),
    }
}

fn show_port((node, engine, name): &Bridge) -> Result<String, String> {
    match engine {
        EngineKind::OpenVswitch => bridges::show_port(names::node(*node), &port_of(name)),
        EngineKind::Vpp => domains::show_loopback(names::node(*node), name),
    }
}

fn remove_port((node, engine, name): &Bridge) -> Result<(), String> {
    match engine {
        EngineKind::OpenVswitch => bridges::remove_port(names::node(*node), &port_of(name)),
        EngineKind::Vpp => domains::remove_loopback(names::node(*node), name),
    }
}

/// The name of the foreign port on a bridge of Open vSwitch.
fn port_of(bridge: &str) -> String {
    format!("p-{bridge}")
}
