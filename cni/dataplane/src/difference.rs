//! In what one attachment's port is not as it should be, for people.

use crate::attachment::AttachmentId;
use crate::desired::DesiredAttachment;
use crate::observed::{ElementState, Observed, ObservedPort, Tagging};
use crate::port::Connection;
use usnet_crds::{RateLimit, SocketRole};

/// What of an attachment's port the engine shows otherwise than it should be; nothing when it is as it should be.
pub fn differences(id: &AttachmentId, wanted: &DesiredAttachment, observed: &Observed) -> Vec<String> {
    let on_bridges = observed
        .bridges
        .iter()
        .flat_map(|(bridge, shown)| shown.ports.iter().map(move |(name, port)| (Some(bridge.as_str()), name, port)));
    let loose = observed.loose.iter().map(|(name, port)| (None, name, port));
    let is_ours = |port: &ObservedPort| port.mark.as_ref().is_some_and(|mark| mark.is_of(&wanted.network, id));
    let Some((bridge, name, shown)) = on_bridges.chain(loose).find(|(_, _, port)| is_ours(port)) else {
        return vec![format!(
            "the engine has no port of it (port {} on bridge {})",
            wanted.port.name, wanted.port.bridge
        )];
    };
    let mut found = Vec::new();
    let mut compare = |what: &str, is: String, should: String| {
        if is != should {
            found.push(format!("{what} of port {name} is {is} and should be {should}"));
        }
    };
    let settings = &wanted.port.settings;
    compare("the bridge", bridge.unwrap_or("none").to_owned(), wanted.port.bridge.to_string());
    compare("the pod's end", end(shown.connection.as_ref()), end(Some(&wanted.port.connection)));
    compare("the MTU", shown.mtu.map_or_else(|| "unset".to_owned(), |mtu| mtu.to_string()), settings.mtu.to_string());
    compare("the VLAN", tagging(&shown.tagging), tagging(&Tagging::from(settings.vlan.clone())));
    compare("the rate limit", rate_limit(shown.rate_limit), rate_limit(Some(settings.rate_limit)));
    if !shown.is_enabled {
        found.push(format!("port {name} is switched off"));
    }
    match &shown.state {
        ElementState::Running => {}
        ElementState::Pending => found.push(format!("the engine does not run port {name} yet")),
        ElementState::Failed(reason) => found.push(format!("the engine cannot run port {name}: {reason}")),
    }
    found
}

fn end(connection: Option<&Connection>) -> String {
    match connection {
        None => "of a kind that usnet does not make".to_owned(),
        Some(port @ Connection::VhostUser { engine_role, .. }) => match engine_role {
            SocketRole::Client => format!("{} (vhost-user, the engine connects)", port.end_name()),
            SocketRole::Server => format!("{} (vhost-user, the engine listens)", port.end_name()),
        },
        Some(port @ Connection::Memif { .. }) => format!("{} (memif)", port.end_name()),
        Some(port @ Connection::Veth { .. }) => format!("device {} (veth)", port.end_name()),
    }
}

fn tagging(tagging: &Tagging) -> String {
    match tagging {
        Tagging::Untagged => "none".to_owned(),
        Tagging::Vlan(vlan) => vlan.to_string(),
        Tagging::Other => "what usnet does not set".to_owned(),
    }
}

fn rate_limit(limit: Option<RateLimit>) -> String {
    limit.map_or_else(|| "what usnet does not set".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests;
