//! Ports of rules, as ranges.

use super::problem::PolicyProblem;
use super::reading::Reading;
use super::spec::RulePort;
use crate::policy::rule::{DestinationPorts, PortRange, TransportProtocol};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeSet;

/// The ranges of ports. No port means any; ports of which none can be enforced mean none.
pub(super) fn ranges(reading: &mut Reading, field: &str, ports: &[RulePort]) -> DestinationPorts {
    if ports.is_empty() {
        return DestinationPorts::Any;
    }
    let mut all = BTreeSet::new();
    for (place, port) in ports.iter().enumerate() {
        all.extend(reading.check(&format!("{field}[{place}]"), range(port)));
    }
    DestinationPorts::Within(all)
}

fn range(RulePort { protocol, port, end_port }: &RulePort) -> Result<PortRange, PolicyProblem> {
    let protocol = match protocol.as_deref() {
        None | Some("TCP") => TransportProtocol::Tcp,
        Some("UDP") => TransportProtocol::Udp,
        Some(other) => return Err(PolicyProblem::Protocol(other.to_owned())),
    };
    let first = match port {
        Some(IntOrString::String(name)) => return Err(PolicyProblem::NamedPort(name.clone())),
        Some(IntOrString::Int(number)) => Some(i64::from(*number)),
        None => None,
    };
    let Some(first) = first else {
        let all = PortRange { protocol, first: 0, last: u16::MAX };
        return end_port.map_or(Ok(all), |end| Err(PolicyProblem::EndPort(end)));
    };
    let valid = |number: i64| u16::try_from(number).ok().filter(|number| *number > 0);
    let first = valid(first).ok_or(PolicyProblem::Port(first))?;
    let last = match end_port {
        None => first,
        Some(end) => valid(*end).filter(|last| *last >= first).ok_or(PolicyProblem::EndPort(*end))?,
    };
    Ok(PortRange { protocol, first, last })
}
