//! The texts of operations for a user who asks what changes: an update names only the settings that
//! differ from what was observed. The text of the operation itself names all that it sets, because
//! it has to be the same however often it is tried.

use super::operation::Op;
use crate::model::bridge::DesiredBridge;
use crate::model::bridge_settings::changed_settings;
use crate::model::observed::Observed;
use crate::model::owner::Owner;
use crate::model::port::DesiredPort;

impl Op {
    /// What the operation changes of what was observed.
    pub fn change_text(&self, observed: &Observed) -> String {
        let text = match self {
            Self::UpdateBridge { bridge: DesiredBridge::Network { bridge, policy_zone, .. } } => {
                let actual = observed.bridges.get(bridge.name.as_str());
                let mut changes =
                    actual.map(|it| changed_settings(&it.settings, bridge, *policy_zone)).unwrap_or_default();
                changes.extend(actual.filter(|it| !it.has_supported_datapath).map(|_| "the kind".to_owned()));
                joined(&changes).map(|changes| format!("set {changes} of bridge {}", bridge.name))
            }
            Self::UpdatePort { port } if !matches!(port.owner.owner, Owner::Nic(_)) => port_text(port, observed),
            _ => None,
        };
        text.unwrap_or_else(|| self.to_string())
    }
}

fn port_text(port: &DesiredPort, observed: &Observed) -> Option<String> {
    let bridge = observed.bridges.get(port.bridge_name()?.as_str())?;
    let changes = joined(&bridge.ports.get(&port.name)?.settings.changes(&port.settings))?;
    Some(format!("set {changes} on port {} of {}", port.name, port.owner.owner))
}

fn joined(parts: &[String]) -> Option<String> {
    match parts {
        [] => None,
        [only] => Some(only.clone()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}
