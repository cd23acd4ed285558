//! What somebody else does at the engines: bridges of their own, which must stay as they are, and changes to ours, which must not.

use super::names;
use super::steps::{Place, engine};
use crate::cluster::{on_node, try_run};
use crate::vpp;
use std::collections::BTreeMap;
use usnet_crds::Engine;
use usnet_vpp::Batch;
use usnet_vpp::messages::{BridgeDomainAddDelV2, BridgeDomainDump, NO_BRIDGE_DOMAIN, NO_INTERFACE};
use usnet_vpp::wire::FixedText;

/// The bridges that somebody made, and what they looked like then.
#[derive(Debug, Default)]
pub(super) struct Foreign(BTreeMap<(usize, Engine, Place), String>);

/// What somebody writes on a bridge of theirs.
const MINE: &str = "somebody's";

impl Foreign {
    /// Makes a bridge, unless there is one of that name.
    pub(super) fn add(&mut self, node: usize, engine: Engine, place: Place) -> Result<(), String> {
        let name = names::place(engine, place);
        match engine {
            Engine::OpenVswitch => {
                let mine = format!("external_ids:owner={MINE}");
                let make = ["add-br", &name, "--", "set", "Bridge", &name, "datapath_type=netdev", &mine];
                ovs_vsctl(node, &make)?;
            }
            Engine::Vpp => make_bridge_domain(node, &name)?,
        }
        let look = show(node, engine, &name)?;
        self.0.insert((node, engine, place), look);
        Ok(())
    }

    /// Takes one of these away again, if it is there.
    pub(super) fn remove(&mut self, node: usize, engine: Engine, place: Place) -> Result<(), String> {
        if !self.0.contains_key(&(node, engine, place)) {
            return Err("nobody made it".to_owned());
        }
        self.check(node, engine, place)?;
        let name = names::place(engine, place);
        match engine {
            Engine::OpenVswitch => ovs_vsctl(node, &["del-br", &name]).map(drop)?,
            Engine::Vpp => remove_bridge_domain(node, &name)?,
        }
        self.0.remove(&(node, engine, place));
        Ok(())
    }

    /// VPP forgets everything when it ends, that of somebody else too.
    pub(super) fn forget(&mut self, node: usize, engine: Engine) {
        if engine == Engine::Vpp {
            self.0.retain(|(on, of, _), _| (*on, *of) != (node, engine));
        }
    }

    /// Panics when one of these does not look as it did.
    pub(super) fn assert_unchanged(&self) {
        for &(node, engine, place) in self.0.keys() {
            self.check(node, engine, place).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    pub(super) fn remove_all(&mut self) {
        for (node, engine, place) in self.0.keys().copied().collect::<Vec<_>>() {
            self.remove(node, engine, place).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn check(&self, node: usize, engine: Engine, place: Place) -> Result<(), String> {
        let (before, now) = (&self.0[&(node, engine, place)], show(node, engine, &names::place(engine, place))?);
        // An engine that cannot be asked has said so above.
        assert_eq!(*before, now, "{engine} on {}: somebody's bridge was changed", names::node(node));
        Ok(())
    }
}

fn ovs_vsctl(node: usize, arguments: &[&str]) -> Result<String, String> {
    // Without waiting: the switch process may be down.
    try_run("on-node", &[&[names::node(node), "ovs-vsctl", "--no-wait", "--timeout=5"], arguments].concat(), "")
}

/// What a person sees of a bridge.
fn show(node: usize, engine: Engine, name: &str) -> Result<String, String> {
    match engine {
        Engine::OpenVswitch => {
            let columns = "--columns=name,external_ids,other_config,datapath_type,mirrors,controller,fail_mode,ports";
            ovs_vsctl(node, &[columns, "list", "Bridge", name])
        }
        Engine::Vpp => {
            let mut batch = Batch::new();
            let bd_id = name.parse().unwrap();
            let dump = batch.dump(BridgeDomainDump { bd_id, sw_if_index: NO_INTERFACE });
            let answers = vpp::connect(names::node(node)).and_then(|mut client| client.send(&batch)).map_err(text)?;
            Ok(format!("{:?}", answers.details(dump).unwrap()))
        }
    }
}

fn make_bridge_domain(node: usize, name: &str) -> Result<(), String> {
    let bd_id = name.parse().unwrap();
    let mut batch = Batch::new();
    let dump = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
    let answers = vpp::connect(names::node(node)).and_then(|mut client| client.send(&batch)).map_err(text)?;
    if answers.details(dump).unwrap().iter().any(|domain| domain.bd_id == bd_id) {
        return Err("there is one already".to_owned());
    }
    let bd_tag = FixedText::new(MINE.to_owned()).unwrap();
    let made = BridgeDomainAddDelV2 { bd_id, is_add: true, forward: true, bd_tag, ..BridgeDomainAddDelV2::default() };
    vpp::request(names::node(node), made)
}

fn remove_bridge_domain(node: usize, name: &str) -> Result<(), String> {
    let bd_id = name.parse().unwrap();
    let removed = BridgeDomainAddDelV2 { bd_id, is_add: false, ..BridgeDomainAddDelV2::default() };
    vpp::request(names::node(node), removed)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Takes away a bridge of ours, if the network has it.
pub(super) fn remove_bridge(node: usize, network: usize) -> Result<(), String> {
    match engine(network) {
        Engine::OpenVswitch => {
            let mark = format!("external_ids:usnet.dev/network={}", names::network(network));
            let found = ovs_vsctl(node, &["--bare", "--columns=name", "find", "Bridge", &mark])?;
            let name = found.split_whitespace().next().ok_or("there is none")?;
            ovs_vsctl(node, &["--if-exists", "del-br", name]).map(drop)
        }
        Engine::Vpp => {
            let node = names::node(node);
            let ports = vpp::try_ports(node, &names::network(network)).map_err(text)?.ok_or("there is none")?;
            vpp::try_delete_bridge_domain(node, &names::network(network), &ports)
        }
    }
}

/// Takes away a port of ours.
pub(super) fn remove_port(node: usize, network: usize, port: usize) -> Result<(), String> {
    match engine(network) {
        Engine::OpenVswitch => {
            let name = port_of(node, network, port)?;
            ovs_vsctl(node, &["--if-exists", "del-port", &name]).map(drop)
        }
        Engine::Vpp => {
            let ports = vpp::try_ports(names::node(node), &names::network(network)).map_err(text)?.unwrap_or_default();
            let port = ports.get(port % ports.len().max(1)).ok_or("there is none")?;
            vpp::try_delete_port(names::node(node), port)
        }
    }
}

/// Changes what a port of ours, or without one its bridge, was set to.
pub(super) fn change_field(node: usize, network: usize, port: usize) -> Result<(), String> {
    if engine(network) == Engine::Vpp {
        let ports = vpp::try_ports(names::node(node), &names::network(network)).map_err(text)?.unwrap_or_default();
        let port = ports.get(port % ports.len().max(1)).ok_or("there is none")?;
        return vpp::try_disable(names::node(node), port);
    }
    let name = port_of(node, network, port)?;
    let changes: [&[&str]; 3] = [
        &["set", "Port", &name, "tag=99"],
        &["set", "Interface", &name, "mtu_request=1000"],
        &["clear", "Port", &name, "tag"],
    ];
    ovs_vsctl(node, changes[port % changes.len()]).map(drop)
}

fn port_of(node: usize, network: usize, port: usize) -> Result<String, String> {
    let mark = format!("external_ids:usnet.dev/network={}", names::network(network));
    let found = ovs_vsctl(node, &["--bare", "--columns=name", "find", "Port", &mark])?;
    let ports: Vec<&str> = found.split_whitespace().collect();
    ports.get(port % ports.len().max(1)).map(ToString::to_string).ok_or_else(|| "there is none".to_owned())
}

/// What carries a mark of ours at the engines of a node.
pub(super) fn marked(node: &str) -> Vec<String> {
    let mut found = vpp::tags(node);
    found.retain(|tag| tag.starts_with("usn"));
    for table in ["Bridge", "Port"] {
        let rows = on_node(
            node,
            &["ovs-vsctl", "--format=csv", "--no-headings", "--columns=name,external_ids", "list", table],
        );
        found.extend(rows.lines().filter(|row| row.contains("usnet.dev/")).map(ToOwned::to_owned));
    }
    found
}
