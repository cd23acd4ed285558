//! Writes the flows of guarded bridges, over their management sockets (IO).

use super::bridge_flows::BridgeFlows;
use super::generation;
use super::guard::{self, FORWARD};
use super::guarded::{FrameSource, GuardedPorts};
use super::policy;
use super::refused_frames::{self, Drops};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use usnet_openflow::flow::GroupId;
use usnet_openflow::{
    Change, Connection, Difference, FlowFilter, FlowMod, GroupMod, InstalledFlow, OpenFlowError, PortNumber, forwarding,
};

/// Opens a new port, or gives one that is open what it may send now. A flow of a former port of its
/// number is deleted.
pub(super) fn open(
    socket: &Path,
    timeout: Duration,
    number: PortNumber,
    source: &FrameSource,
) -> Result<(), OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    connection.match_carried_fragments();
    let filter = FlowFilter { cookies: guard::cookies_of(number), ..FlowFilter::default() };
    let changes = guard::replacement(number, source.flows(number, &FORWARD));
    // Frames of a port that had no flows were all dropped alike.
    let renewal = |former: &[InstalledFlow]| if former.is_empty() { Vec::new() } else { generation::renewal() };
    connection.commit_after_look(&filter, &changes, renewal)
}

/// Leaves a new port closed, of which policies have to say what it may have: nothing is flooded to
/// it, and flows of a former port of its number are deleted. The agent may have written those of
/// the port already.
pub(super) fn close(
    socket: &Path,
    timeout: Duration,
    number: PortNumber,
    source: &FrameSource,
) -> Result<(), OpenFlowError> {
    stop_flooding(socket, timeout, number)?;
    let mut connection = Connection::open(socket, timeout)?;
    // Those that the deletion would delete, also of others.
    let found = connection.flows(&FlowFilter { matches: guard::of_port(number), ..FlowFilter::default() })?;
    let own = found.iter().filter(|flow| guard::port_of(flow.cookie) == Some(number)).cloned().collect();
    if found.is_empty() || is_checked(own, number, source) {
        return Ok(());
    }
    connection.commit(&[guard::deletion(number)])
}

/// Has a bridge flood nothing to a port.
pub fn stop_flooding(socket: &Path, timeout: Duration, number: PortNumber) -> Result<(), OpenFlowError> {
    forwarding::set_flooding(socket, timeout, &[(number, false)].into()).map(drop)
}

/// Whether these flows of a port are what policies need to know of it.
fn is_checked(found: Vec<InstalledFlow>, number: PortNumber, source: &FrameSource) -> bool {
    Difference::between(&source.flows(number, &policy::CHECK), found).is_empty()
}

/// Whether the flows of a bridge enforce policies, those of now or earlier ones.
pub fn enforces_policies(socket: &Path, timeout: Duration) -> Result<bool, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let filter = FlowFilter { cookies: policy::cookies(), ..FlowFilter::default() };
    Ok(!connection.flows(&filter)?.is_empty())
}

/// What was found on a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// How much was wrong, and is not any more.
    pub wrong: usize,
    /// What the flows had dropped.
    pub drops: Drops,
}

/// Has a bridge have the flows of its ports and of the policies of its network, and no others, in
/// one bundle.
pub fn restore(socket: &Path, timeout: Duration, desired: &BridgeFlows) -> Result<Restored, OpenFlowError> {
    // Before the flows, so that no port gets what its policies do not allow.
    let unflooded = set_flooding(socket, timeout, &desired.flooded(false))?;
    let mut connection = Connection::open(socket, timeout)?;
    // It goes with the process of the switch, as flows do.
    connection.match_carried_fragments();
    let mut installed = connection.flows(&FlowFilter::default())?;
    let lacking = generation::take_from(&mut installed);
    let drops = refused_frames::drops(&installed);
    let mut difference = Difference::between(&desired.all(), installed);
    match desired.zone() {
        None => keep_new_ports(&mut connection, &mut difference, desired.ports())?,
        // Connections of a network that had the zone before are none of this one.
        Some(zone) if desired.is_new_zone(&difference) => connection.flush_connections(zone)?,
        Some(_) => {}
    }
    let wrong = commit(&mut connection, desired, difference, unflooded + lacking > 0)?;
    let flooded = set_flooding(socket, timeout, &desired.flooded(true))?;
    Ok(Restored { wrong: unflooded + lacking + wrong + flooded, drops })
}

/// Leaves out of a difference what the plugin wrote for new ports, which it does when the switch
/// has them: before their numbers are known here. With policies it leaves them closed.
fn keep_new_ports(
    connection: &mut Connection,
    difference: &mut Difference,
    ports: &GuardedPorts,
) -> Result<(), OpenFlowError> {
    let new = |flow: &InstalledFlow| guard::port_of(flow.cookie).filter(|number| !ports.contains_key(number));
    if difference.surplus.iter().any(|flow| new(flow).is_some()) {
        let present: BTreeSet<PortNumber> = connection.ports()?.into_iter().map(|port| port.number).collect();
        difference.surplus.retain(|flow| new(flow).is_none_or(|number| !present.contains(&number)));
    }
    Ok(())
}

/// Writes what is wrong of flows and groups. Groups come before the flows that send to them, and
/// are deleted after these. With `renews` the bridge gets a new generation in any case.
fn commit(
    connection: &mut Connection,
    desired: &BridgeFlows,
    difference: Difference,
    renews: bool,
) -> Result<usize, OpenFlowError> {
    let installed = connection.groups()?;
    let groups = desired.groups();
    let missing = groups.iter().filter(|group| !installed.iter().any(|found| found.is(group))).count();
    let is_desired = |id| groups.iter().any(|group| group.id == id);
    let surplus: Vec<GroupId> =
        installed.iter().map(|group| group.id).filter(|id| policy::is_group(*id) && !is_desired(*id)).collect();
    let wrong = difference.missing.len() + difference.surplus.len() + missing + surplus.len();
    if wrong > 0 || renews {
        let groups = groups.iter().cloned().map(|group| Change::Group(GroupMod::Set(group)));
        let flows = difference.changes().into_iter().chain(generation::first_renewal()).map(Change::Flow);
        let deletions = surplus.into_iter().map(|id| Change::Group(GroupMod::Delete(id)));
        connection.commit_all(&groups.chain(flows).chain(deletions).collect::<Vec<_>>())?;
    }
    Ok(wrong)
}

/// Has a bridge that has the flows `before` have those of `desired`. What others changed meanwhile
/// is not seen. Returns how much was changed.
pub fn update(
    socket: &Path,
    timeout: Duration,
    before: &BridgeFlows,
    desired: &BridgeFlows,
) -> Result<usize, OpenFlowError> {
    match (before.zone(), desired.zone()) {
        (None, None) => update_guards(socket, timeout, before, desired),
        (then, now) if then == now => update_policies(socket, timeout, before, desired),
        _ => restore(socket, timeout, desired).map(|restored| restored.wrong),
    }
}

fn update_guards(
    socket: &Path,
    timeout: Duration,
    before: &BridgeFlows,
    desired: &BridgeFlows,
) -> Result<usize, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    let mut changes: Vec<FlowMod> = Vec::new();
    let mut missing = 0;
    for number in desired.changed_ports(before) {
        let Some(source) = desired.ports().get(&number) else {
            changes.push(guard::deletion(number));
            continue;
        };
        let flows = desired.of_port(number, source);
        let filter = FlowFilter { cookies: guard::cookies_of(number), ..FlowFilter::default() };
        // The plugin has written those of most new ports.
        if !Difference::between(&flows, connection.flows(&filter)?).is_empty() {
            missing += flows.len();
            changes.extend(guard::replacement(number, flows));
        }
    }
    // A port that is gone has no packets.
    if missing > 0 {
        changes.extend(generation::renewal());
    }
    if !changes.is_empty() {
        connection.commit(&changes)?;
    }
    Ok(missing)
}

fn update_policies(
    socket: &Path,
    timeout: Duration,
    before: &BridgeFlows,
    desired: &BridgeFlows,
) -> Result<usize, OpenFlowError> {
    let changed = desired.changed_ports(before);
    let flooded = |is_flooded| desired.flooded_since(before, &changed, is_flooded);
    let unflooded = set_flooding(socket, timeout, &flooded(false))?;
    let mut changes = desired.changes_since(before, &changed);
    let count = changes.len();
    if count + unflooded > 0 {
        changes.extend(generation::renewal().into_iter().map(Change::Flow));
        Connection::open(socket, timeout)?.commit_all(&changes)?;
    }
    Ok(unflooded + count + set_flooding(socket, timeout, &flooded(true))?)
}

/// Looks again at new ports of a bridge with policies: the plugin may have closed one when its
/// flows were there already. Returns how much was wrong.
pub fn verify_new_ports(
    socket: &Path,
    timeout: Duration,
    desired: &BridgeFlows,
    numbers: &BTreeSet<PortNumber>,
) -> Result<usize, OpenFlowError> {
    let mut connection = Connection::open(socket, timeout)?;
    for (number, source) in desired.ports().iter().filter(|(number, _)| numbers.contains(number)) {
        let filter = FlowFilter { cookies: guard::cookies_of(*number), ..FlowFilter::default() };
        if !is_checked(connection.flows(&filter)?, *number, source) {
            return restore(socket, timeout, desired).map(|restored| restored.wrong);
        }
    }
    let mut flooded = desired.flooded(true);
    flooded.retain(|number, _| numbers.contains(number));
    set_flooding(socket, timeout, &flooded)
}

/// Returns how many ports were otherwise.
fn set_flooding(socket: &Path, timeout: Duration, ports: &BTreeMap<PortNumber, bool>) -> Result<usize, OpenFlowError> {
    if ports.is_empty() { Ok(0) } else { forwarding::set_flooding(socket, timeout, ports) }
}
