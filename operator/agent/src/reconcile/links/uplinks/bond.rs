//! Computes the health of a bond from its members. Pure.

use super::nic_cause::of_nic;
use super::uplink_health::UplinkHealth;
use crate::model::health::Cause;
use usnet_crds::conditions::message::uplink as message;
use usnet_crds::conditions::reason::{BOND_DEGRADED, NO_LACP_PARTNER};
use usnet_dataplane::links::nics::{NicBlocker, ResolvedUplink};
use usnet_dataplane::observed::{ElementState, ObservedMember, ObservedPort};
use usnet_dataplane::port::PortBackend;

/// The health of a bond of which at least one member has a link, or that does not run yet.
pub(super) fn health(port: &ObservedPort, resolved: Option<&ResolvedUplink>) -> UplinkHealth {
    if port.state != ElementState::Running {
        return UplinkHealth::default();
    }
    let mut linked = port.members.iter().filter(|member| member.has_link).peekable();
    if linked.peek().is_some() && linked.all(|member| member.has_partner == Some(false)) {
        let members = port.backend.as_ref().map(PortBackend::endpoint_name).unwrap_or_default();
        let cause = Cause { reason: NO_LACP_PARTNER, message: message::no_lacp_partner(&members) };
        return UplinkHealth { is_attachable: true, ..UplinkHealth::failed(cause) };
    }
    // A NIC without a link is a member all the same, and the engine says so below.
    let is_other = |blocker: &&NicBlocker| !matches!(blocker, NicBlocker::NoCarrier { .. } | NicBlocker::Down { .. });
    let blockers = resolved.into_iter().flat_map(ResolvedUplink::member_blockers).filter(is_other);
    let of_members = port.members.iter().filter_map(problem);
    let problems: Vec<_> = blockers.map(|blocker| of_nic(blocker).message).chain(of_members).collect();
    let degraded = (!problems.is_empty()).then(|| message::bond_degraded(&problems));
    let degraded = degraded.map(|message| Cause { reason: BOND_DEGRADED, message });
    let active = port.members.iter().find(|member| member.is_active).map(|member| member.endpoint.clone());
    UplinkHealth { degraded, active, ..UplinkHealth::default() }
}

/// Why a member carries no frames.
fn problem(member: &ObservedMember) -> Option<String> {
    let name = &member.endpoint;
    match (member.state.error(), member.has_link, member.has_partner) {
        (Some(error), ..) => Some(format!("{name}: {error}")),
        (None, false, _) => Some(message::member_without_link(name)),
        (None, true, Some(false)) => Some(message::member_without_partner(name)),
        (None, true, None | Some(true)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_dataplane::observed::Peer;
    use usnet_dataplane::port::DesiredSettings;

    fn member(endpoint: &str, has_link: bool, has_partner: Option<bool>) -> ObservedMember {
        ObservedMember {
            endpoint: endpoint.to_owned(),
            state: ElementState::Running,
            has_link,
            has_partner,
            is_active: has_link && has_partner.is_none(),
        }
    }

    fn of(state: ElementState, members: &[ObservedMember]) -> (Option<&'static str>, Option<String>, Option<String>) {
        let (members, settings) = (members.to_vec(), (&DesiredSettings::tagging(None)).into());
        let port = ObservedPort { owner: None, backend: None, settings, peer: Peer::Connected, state, members };
        let UplinkHealth { cause, degraded, active, .. } = health(&port, None);
        (cause.map(|cause| cause.reason), degraded.map(|cause| cause.message), active)
    }

    #[test]
    fn a_bond_without_lacp_names_members_without_a_link_and_the_active_one() {
        let (eth1, eth2) = (member("eth1", true, None), member("eth2", false, None));
        let (cause, degraded, active) = of(ElementState::Running, &[eth1, eth2]);
        assert_eq!((cause, active.as_deref()), (None, Some("eth1")));
        assert!(degraded.unwrap().contains("eth2 has no link"));
    }

    /// A member without a link has no partner either, and the cable is the cause.
    #[test]
    fn no_partner_at_all_is_a_failure_and_one_missing_is_not() {
        let (with, without) = (member("eth1", true, Some(true)), member("eth2", true, Some(false)));
        let down = member("eth3", false, Some(false));
        let running = |members: &[ObservedMember]| of(ElementState::Running, members);
        assert_eq!(running(&[without.clone(), down.clone()]).0, Some(NO_LACP_PARTNER));
        let (cause, degraded, _) = running(&[with.clone(), without, down]);
        let degraded = degraded.unwrap();
        assert!(cause.is_none() && degraded.contains("does not answer eth2") && degraded.contains("eth3 has no link"));
        assert_eq!(running(&[with]), (None, None, None));
    }

    #[test]
    fn a_member_that_the_engine_refuses_is_named_with_the_reason() {
        let failed = ElementState::Failed("no such device".to_owned());
        let refused = ObservedMember { state: failed, ..member("eth2", false, None) };
        let (cause, degraded, _) = of(ElementState::Running, &[member("eth1", true, None), refused]);
        assert!(cause.is_none() && degraded.unwrap().contains("eth2: no such device"));
    }

    #[test]
    fn a_bond_that_does_not_run_yet_is_not_judged() {
        assert_eq!(of(ElementState::Pending, &[member("eth1", false, Some(false))]), (None, None, None));
    }
}
