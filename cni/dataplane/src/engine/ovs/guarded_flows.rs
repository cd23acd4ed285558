//! Writes the flows of guarded bridges, over their management sockets (IO).

use super::bridge_settings::SECURE;
use super::guard::{self, FORWARD};
use super::guarded::{self, FrameSource, GuardedPorts};
use super::network_policies::NetworkPolicies;
use super::policy;
use super::snapshot::OvsSnapshot;
use crate::engine::blocking::poll_once;
use crate::engine::error::EngineError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_openflow::flow::{Flow, Group, GroupId};
use usnet_openflow::{
    Change, Connection, Difference, FlowFilter, FlowMod, GroupMod, InstalledFlow, OpenFlowError, PortNumber, forwarding,
};
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Bridge, Condition, RowsIndex, Transaction};

/// Opens a new port. A flow of a former port of its number is deleted.
pub(super) fn open(
    socket: &Path,
    timeout: Duration,
    number: PortNumber,
    source: &FrameSource,
) -> Result<(), OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    connection.match_carried_fragments()?;
    connection.commit(&guard::replacement(number, source.flows(number, &FORWARD)))
}

/// Reads how many frames of each port guarded bridges have dropped, by the name of the port, since
/// its flows were written. `socket` is that of the database.
pub fn refused_frames(socket: &Path, timeout: Duration) -> Result<BTreeMap<String, u64>, EngineError> {
    let mut database = Client::connect(socket, timeout)?;
    let mut transaction = Transaction::new();
    let guarded: RowsIndex<Bridge> =
        transaction.select_columns(vec![Condition::includes("fail_mode", SECURE)], ["name"]);
    let mut refused = BTreeMap::new();
    // Most switches have no such bridge, and then nothing else is read.
    if database.transact(&transaction)?.rows(guarded)?.is_empty() {
        return Ok(refused);
    }
    let snapshot = poll_once(EngineKind::OpenVswitch, OvsSnapshot::read(&mut database))?;
    let folder = socket.parent().unwrap_or(Path::new("/"));
    for (bridge, ports) in guarded::names(&snapshot) {
        let filter = FlowFilter { cookies: guard::cookies(), ..FlowFilter::default() };
        let flows = Connection::open(&usnet_openflow::socket(folder, &bridge), timeout)
            .and_then(|mut connection| connection.flows(&filter));
        let Ok(flows) = flows else { continue };
        for flow in flows.iter().filter(|flow| flow.instructions.is_drop()) {
            if let Some(name) = guard::port_of(flow.cookie).and_then(|number| ports.get(&number)) {
                *refused.entry(name.clone()).or_default() += flow.packets;
            }
        }
    }
    Ok(refused)
}

/// Has a bridge have the flows of its ports and of the policies of its network, and no others, in
/// one bundle. Returns how much was wrong.
pub fn restore(
    socket: &Path,
    timeout: Duration,
    ports: &GuardedPorts,
    policies: Option<&NetworkPolicies>,
) -> Result<usize, OpenFlowError> {
    let desired = Desired::of(ports, policies);
    let unflooded: BTreeMap<PortNumber, bool> = desired.unflooded().map(|number| (number, false)).collect();
    // Before the flows, so that no port gets what its policies do not allow.
    let flooded = if unflooded.is_empty() { 0 } else { forwarding::set_flooding(socket, timeout, &unflooded)? };
    let mut connection = Connection::open(socket, timeout)?;
    // It goes with the process of the switch, as flows do.
    connection.match_carried_fragments()?;
    let installed = connection.flows(&FlowFilter::default())?;
    let mut difference = Difference::between(&desired.flows, installed);
    // With policies the plugin leaves new ports closed.
    if policies.is_none() && difference.surplus.iter().any(|flow| new_port(flow, ports).is_some()) {
        // The plugin writes the flows of a port when the switch has it, which is before its number
        // is known here.
        let present: BTreeSet<PortNumber> = connection.ports()?.into_iter().map(|port| port.number).collect();
        difference.surplus.retain(|flow| new_port(flow, ports).is_none_or(|number| !present.contains(&number)));
    }
    let wrong = desired.commit(&mut connection, difference)?;
    Ok(flooded + wrong + forwarding::set_flooding(socket, timeout, &desired.flooding)?)
}

/// What a guarded bridge has.
struct Desired {
    flows: Vec<Flow>,
    groups: Vec<Group>,
    /// Whether its ports get what is flooded.
    flooding: BTreeMap<PortNumber, bool>,
}

impl Desired {
    fn of(ports: &GuardedPorts, policies: Option<&NetworkPolicies>) -> Self {
        let allowed = if policies.is_some() { policy::CHECK } else { FORWARD };
        let mut flows: Vec<Flow> = ports.iter().flat_map(|(number, source)| source.flows(*number, &allowed)).collect();
        let compiled = policies.map(|policies| policies.compile(ports)).unwrap_or_default();
        flows.extend(compiled.flows);
        // The agent sets that nothing is flooded to the local ports of all bridges.
        let others = ports.keys().filter(|number| **number != PortNumber::LOCAL);
        let flooding = others.map(|number| (*number, !compiled.unflooded.contains(number))).collect();
        Self { flows, groups: compiled.groups, flooding }
    }

    fn unflooded(&self) -> impl Iterator<Item = PortNumber> {
        self.flooding.iter().filter(|(_, is_flooded)| !**is_flooded).map(|(number, _)| *number)
    }

    /// Writes what is wrong of flows and groups. Groups come before the flows that send to them,
    /// and are deleted after these.
    fn commit(&self, connection: &mut Connection, difference: Difference) -> Result<usize, OpenFlowError> {
        let installed = connection.groups()?;
        let is_missing = |group: &&Group| !installed.iter().any(|found| found.is(group));
        let missing = self.groups.iter().filter(is_missing).count();
        let is_desired = |id| self.groups.iter().any(|group| group.id == id);
        let surplus: Vec<GroupId> =
            installed.iter().map(|group| group.id).filter(|id| policy::is_group(*id) && !is_desired(*id)).collect();
        let wrong = difference.missing.len() + difference.surplus.len() + missing + surplus.len();
        if wrong > 0 {
            let groups = self.groups.iter().cloned().map(|group| Change::Group(GroupMod::Set(group)));
            let flows = difference.changes().into_iter().map(Change::Flow);
            let deletions = surplus.into_iter().map(|id| Change::Group(GroupMod::Delete(id)));
            connection.commit_all(&groups.chain(flows).chain(deletions).collect::<Vec<_>>())?;
        }
        Ok(wrong)
    }
}

/// The port that a flow of usnet is about, if it is none of these.
fn new_port(flow: &InstalledFlow, ports: &GuardedPorts) -> Option<PortNumber> {
    guard::port_of(flow.cookie).filter(|number| !ports.contains_key(number))
}

/// Has a bridge that has the flows of the ports `before` have those of `ports`. Returns how many
/// were missing.
pub fn update(
    socket: &Path,
    timeout: Duration,
    before: &GuardedPorts,
    ports: &GuardedPorts,
) -> Result<usize, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let mut changes: Vec<FlowMod> =
        before.keys().filter(|number| !ports.contains_key(number)).map(|number| guard::deletion(*number)).collect();
    let mut missing = 0;
    for (number, source) in ports.iter().filter(|(number, source)| before.get(number) != Some(source)) {
        let flows = source.flows(*number, &FORWARD);
        let filter = FlowFilter { cookies: guard::cookies_of(*number), ..FlowFilter::default() };
        // The plugin has written those of most new ports.
        if !Difference::between(&flows, connection.flows(&filter)?).is_empty() {
            missing += flows.len();
            changes.extend(guard::replacement(*number, flows));
        }
    }
    if !changes.is_empty() {
        connection.commit(&changes)?;
    }
    Ok(missing)
}
