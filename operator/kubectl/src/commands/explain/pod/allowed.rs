//! What an interface may send from, where its network checks that (`port.antiSpoofing`). Pure.

use super::address::fixed;
use super::context::Context;
use crate::model::interface::interface;
use usnet_crds::{AddressPair, AntiSpoofing};

/// A sentence for users; `None` if it is not checked.
pub(super) fn allowed(context: &Context<'_>) -> Option<String> {
    let valid = context.valid()?;
    let checks = valid.port.anti_spoofing;
    let (pod, name) = (context.pod, &context.element.interface);
    let found = interface(pod, name).filter(|found| !found.mac.is_empty()).unwrap_or_default();
    let mac = if found.mac.is_empty() { "its MAC address" } else { &found.mac };
    let own = match checks {
        AntiSpoofing::Off => return None,
        AntiSpoofing::Mac => mac.to_owned(),
        AntiSpoofing::Address if found.ips.is_empty() => format!("its IP addresses with {mac}"),
        AntiSpoofing::Address => format!("{} with {mac}", found.ips.join(", ")),
    };
    let pairs = fixed(context, valid).find_map(|fixed| fixed.of_pod(&pod.namespace, &pod.name));
    let pairs = pairs.map(|fixed| fixed.allowed_address_pairs).unwrap_or_default();
    let pair = |AddressPair { ip, mac: other }: &AddressPair| {
        let other = other.map_or_else(|| mac.to_owned(), |other| other.to_string());
        format!("{} with {other}", ip.ip())
    };
    let all: Vec<String> = [own].into_iter().chain(pairs.iter().map(pair)).collect();
    let network = context.network.as_deref().unwrap_or_default();
    Some(format!(
        "{name} may send from {}, and from nothing else: antiSpoofing {} of network {network}. kubectl usnet top counts what was refused among the dropped frames",
        all.join(" and "),
        checks.as_str()
    ))
}
