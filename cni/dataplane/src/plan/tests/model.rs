//! An engine in memory. It refuses what a real one refuses.

use crate::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Tagging};
use crate::plan::Op;
use crate::port::{PortMark, PortSettings};
use std::collections::BTreeMap;

fn tagging(settings: PortSettings) -> Tagging {
    settings.vlan.map_or(Tagging::Untagged, |tag| Tagging::Access(tag.into()))
}

fn name_is_taken(engine: &Observed, name: &str) -> bool {
    engine.bridges.contains_key(name)
        || engine.bridges.values().flat_map(|bridge| bridge.ports.keys()).any(|port| port.as_str() == name)
}

fn check(condition: bool, operation: &Op, problem: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("{operation}: {problem}")) }
}

/// Carries out all operations, or says which one no engine would take.
pub(super) fn apply_all(engine: &mut Observed, operations: &[Op]) -> Result<(), String> {
    operations.iter().try_for_each(|operation| apply(engine, operation))
}

fn apply(engine: &mut Observed, operation: &Op) -> Result<(), String> {
    match operation {
        Op::RemovePort { bridge, port, mark } => {
            let ports = &mut engine.bridges.get_mut(bridge).ok_or("no such bridge")?.ports;
            let removed = ports.remove(port).ok_or("no such port")?;
            check(removed.mark.as_ref() == Some(mark), operation, "the mark is another one")
        }
        Op::RemoveBridge { bridge, network } => {
            let removed = engine.bridges.remove(bridge).ok_or("no such bridge")?;
            check(removed.ports.is_empty(), operation, "it has ports")?;
            check(removed.mark.as_ref() == Some(network), operation, "the mark is another one")
        }
        Op::CreateBridge { network, bridge } => {
            check(!name_is_taken(engine, bridge.name.as_str()), operation, "the name is taken")?;
            engine.bridges.insert(
                bridge.name.to_string(),
                ObservedBridge {
                    mark: Some(network.clone()),
                    userspace: true,
                    mtu: Some(bridge.mtu.into()),
                    state: ElementState::Running,
                    ports: BTreeMap::new(),
                },
            );
            Ok(())
        }
        Op::UpdateBridge { network, bridge } => {
            let shown = engine.bridges.get_mut(bridge.name.as_str()).ok_or("no such bridge")?;
            check(shown.mark.as_ref() == Some(network), operation, "the mark is another one")?;
            let already = shown.userspace && shown.mtu == Some(bridge.mtu.into());
            (shown.userspace, shown.mtu) = (true, Some(bridge.mtu.into()));
            check(!already, operation, "it is so already")
        }
        Op::CreatePort { .. } => create_port(engine, operation),
        Op::UpdatePort { port, mark, settings } => update_port(engine, operation, (port.as_str(), mark, *settings)),
    }
}

fn create_port(engine: &mut Observed, operation: &Op) -> Result<(), String> {
    let Op::CreatePort { network, attachment, port } = operation else { return Ok(()) };
    check(!name_is_taken(engine, port.name.as_str()), operation, "the name is taken")?;
    let bridge = engine.bridges.get_mut(port.bridge.as_str()).ok_or("no such bridge")?;
    check(bridge.mark.as_ref() == Some(network) && bridge.userspace, operation, "the bridge takes no ports")?;
    let mark = PortMark { network: network.clone(), attachment: attachment.to_string() };
    bridge.ports.insert(
        port.name.clone(),
        ObservedPort {
            mark: Some(mark),
            connection: Some(port.connection.clone()),
            mtu: Some(port.settings.mtu.into()),
            tagging: tagging(port.settings),
            state: ElementState::Running,
        },
    );
    Ok(())
}

/// A port can be on two bridges at once; it is one port all the same.
fn update_port(
    engine: &mut Observed,
    operation: &Op,
    (name, mark, settings): (&str, &PortMark, PortSettings),
) -> Result<(), String> {
    let bridges = engine.bridges.values_mut();
    let shown: Vec<_> =
        bridges.flat_map(|bridge| &mut bridge.ports).filter(|(port, _)| port.as_str() == name).collect();
    check(!shown.is_empty(), operation, "no such port")?;
    for (_, port) in shown {
        check(port.mark.as_ref() == Some(mark), operation, "the mark is another one")?;
        let wanted = (Some(i64::from(settings.mtu)), tagging(settings));
        check((port.mtu, port.tagging) != wanted, operation, "it is so already")?;
        (port.mtu, port.tagging) = wanted;
    }
    Ok(())
}
