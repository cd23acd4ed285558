//! The commands that give an interface its rate limits.

use super::direction::Direction;
use super::policer::{Policer, Policers};
use super::support::Policed;
use crate::engine::vpp::command::VppCommand;
use crate::model::port::PortName;
use usnet_crds::RateLimit;

/// What has to be done so that the interface of a port has these limits and no others.
pub(in crate::engine::vpp) fn policer_commands(
    policers: &Policers,
    port: &PortName,
    desired: &RateLimit,
    (index, policed): (u32, Policed),
) -> Vec<VppCommand> {
    let desired = Policer::all_of(port, desired);
    let in_direction = |direction| {
        let found = policers.in_direction(port, direction);
        let desired = desired.iter().find(|policer| policer.direction == direction);
        commands(&found, desired, (index, direction), policed.in_direction(direction))
    };
    Direction::ALL.into_iter().flat_map(in_direction).collect()
}

/// Detaches an interface from a policer.
pub(in crate::engine::vpp) fn detach(policer: &Policer, index: u32) -> VppCommand {
    VppCommand::AttachPolicer { index, policer: policer.name(), direction: policer.direction, apply: false }
}

/// The commands for one direction. An interface is detached from its policer before it is attached
/// to another one, because VPP counts attachments. It is not detached without a policer: VPP may
/// crash.
fn commands(
    found: &[(&Policer, bool)],
    desired: Option<&Policer>,
    (index, direction): (u32, Direction),
    is_policed: Option<bool>,
) -> Vec<VppCommand> {
    let is_desired = |policer: &Policer| desired == Some(policer);
    let is_there = found.iter().any(|(policer, is_sound)| is_desired(policer) && *is_sound);
    let has_others = found.iter().any(|(policer, is_sound)| !is_desired(policer) || !is_sound);
    let is_policed = is_policed.unwrap_or(!found.is_empty());
    if !has_others && is_there == desired.is_some() && is_policed == is_there {
        return Vec::new();
    }
    let attach_policer =
        |policer: &Policer, apply| VppCommand::AttachPolicer { index, policer: policer.name(), direction, apply };
    let mut list = Vec::new();
    let changed = found.iter().filter(|(policer, is_sound)| is_desired(policer) && !is_sound);
    list.extend(changed.map(|(policer, _)| VppCommand::DeletePolicer { name: policer.name() }));
    if let Some(policer) = desired.filter(|_| !is_there) {
        list.push(VppCommand::AddPolicer { policer: policer.clone() });
    }
    // Any name that VPP knows does.
    let known = desired.or(found.first().map(|(policer, _)| *policer));
    list.extend(known.filter(|_| is_policed).map(|policer| attach_policer(policer, false)));
    list.extend(desired.map(|policer| attach_policer(policer, true)));
    let others = found.iter().filter(|(policer, _)| !is_desired(policer));
    list.extend(others.map(|(policer, _)| VppCommand::DeletePolicer { name: policer.name() }));
    list
}
