//! Making ports: sockets, then interfaces, then everything that interfaces need, and a look at what came of it. What fails is undone.

use super::apply::Failures;
use super::change::{self, Change, Changes, Outcome};
use super::decide::{NewPort, Origin, vlan_changes};
use super::failure::{Failure, failure};
use super::limits::Policer;
use super::shown::{Domain, Domains, FeatureTickets, Features};
use crate::engine::{EngineError, OpError};
use crate::plan::Op;
use usnet_crds::Ownership;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDump, CreateVhostUserIfV2, MemifCreate, MemifCreateV2, MemifDump,
    SwInterfaceVhostUserDump,
};
use usnet_vpp::{Api, Batch, Message, Remedy};

/// A port under way.
#[derive(Debug)]
struct Making<'a> {
    place: usize,
    operation: &'a Op,
    port: NewPort<'a>,
    /// Whether its socket has its id.
    has_socket_id: bool,
    /// Its interface, once there is one.
    index: Option<u32>,
    /// Whether the bridge domain that it was put into turned out to have no mark.
    is_astray: bool,
    failure: Option<Failure>,
}

/// Makes or finishes ports, and says which failed.
pub(super) async fn make_ports(
    api: &mut impl Api,
    part: &[Op],
    ports: Vec<(usize, NewPort<'_>)>,
) -> Result<Failures, EngineError> {
    let begin = |(place, port)| Some(Making::new(place, part.get(place)?, port));
    let mut list: Vec<_> = ports.into_iter().filter_map(begin).collect();
    for making in &mut list {
        making.failure = missing_message(api, &making.port.origin).map(|reason| making.refusal(reason));
    }
    for changes in [Making::socket_changes, Making::interface_changes] {
        let planned = plan(&list, changes);
        let outcomes = change::send(api, planned.iter().flatten()).await?;
        take_in(&mut list, &planned, outcomes);
    }
    settle(api, &mut list).await?;
    undo(api, &list).await?;
    Ok(list.into_iter().filter_map(|making| Some((making.place, making.failure?))).collect())
}

/// The next changes of all that have not failed.
fn plan<'a>(list: &[Making<'a>], changes: fn(&Making<'a>) -> Vec<Change>) -> Vec<Vec<Change>> {
    let of = |making: &Making<'a>| if making.failure.is_none() { changes(making) } else { Vec::new() };
    list.iter().map(of).collect()
}

fn take_in(list: &mut [Making<'_>], planned: &[Vec<Change>], outcomes: Vec<Outcome>) {
    let mut outcomes = outcomes.into_iter();
    for (making, changes) in list.iter_mut().zip(planned) {
        for (change, outcome) in changes.iter().zip(outcomes.by_ref()) {
            match outcome {
                Ok(index) if change.makes_interface() => making.index = Some(index),
                Ok(_) => making.has_socket_id |= matches!(change, Change::AddSocket { .. }),
                Err(error) => making.failure = making.failure.take().or(failure(making.operation, change, error)),
            }
        }
    }
}

/// Gives interfaces all that they need, and reads them and their bridge domains behind it: VPP makes one that is not there, and somebody else may have taken
/// an interface away.
async fn settle(api: &mut impl Api, list: &mut [Making<'_>]) -> Result<(), EngineError> {
    let planned = plan(list, Making::settling_changes);
    let domains = list.iter().filter(|making| making.failure.is_none()).map(|making| making.port.domain).collect();
    let mut batch = Batch::new();
    let changes = Changes::ask(&mut batch, api, planned.iter().flatten());
    let domains = Domains::ask(&mut batch, &domains);
    let asked = list.iter().filter(|making| making.failure.is_none()).filter_map(|making| making.index);
    let features = FeatureTickets::ask(&mut batch, api, asked);
    if batch.is_empty() {
        return Ok(());
    }
    let answers = api.send(&batch).await?;
    take_in(list, &planned, changes.outcomes(&answers));
    let (domains, features) = (domains.read(&answers)?, features.read(&answers));
    for making in list.iter_mut().filter(|making| making.failure.is_none()) {
        let features = making.index.and_then(|index| features.get(&index));
        making.verify(domains.get(&making.port.domain), features);
    }
    Ok(())
}

/// Takes away what was made for ports that failed. What VPP refuses here is gone already, or in use by somebody else.
async fn undo(api: &mut impl Api, list: &[Making<'_>]) -> Result<(), EngineError> {
    let failed = list.iter().filter(|making| making.failure.is_some());
    let changes: Vec<_> = failed.flat_map(Making::undoing_changes).collect();
    change::send(api, &changes).await.map(drop)
}

impl<'a> Making<'a> {
    fn new(place: usize, operation: &'a Op, port: NewPort<'a>) -> Self {
        let index = match port.origin {
            Origin::Found { index } => Some(index),
            Origin::Memif { .. } | Origin::VhostUser { .. } | Origin::Device { .. } => None,
        };
        Self { place, operation, port, has_socket_id: false, index, is_astray: false, failure: None }
    }

    /// Whether it is a member of its network's bridge domain now, and is filtered just when it is in a VLAN: VPP's answer to that request says nothing.
    fn verify(&mut self, domain: Option<&Domain>, features: Option<&Features>) {
        let is_right = |domain: &Domain| match self.port.ownership {
            Ownership::Managed => domain.mark.as_ref() == Some(self.port.network),
            // One that went in between is there again by now, without a tag: VPP made it for this port.
            Ownership::Adopted => domain.is_tagged,
        };
        if !domain.is_some_and(is_right) {
            self.is_astray = domain.is_some_and(|domain| !domain.is_tagged);
            self.failure = Some(OpError::BridgeMissing { bridge: self.port.domain.to_string() }.into());
        } else if !domain.is_some_and(|domain| self.index.is_some_and(|index| domain.members.contains(&index))) {
            let reason = "somebody else took its interface away".to_owned();
            self.failure = Some(Failure { is_conflict: true, ..self.refusal(reason) });
        } else if features.is_some_and(|features| features.is_filtered != self.port.settings.vlan.is_some()) {
            let reason = "VPP refused to change whether it keeps the frames of other VLANs from it".to_owned();
            self.failure = Some(self.refusal(reason));
        }
    }

    fn refusal(&self, reason: String) -> Failure {
        OpError::Refused { what: self.operation.subject(), reason }.into()
    }

    fn socket_changes(&self) -> Vec<Change> {
        match &self.port.origin {
            Origin::Memif { socket_id, name, unused, .. } => {
                let forget = unused.iter().map(|id| Change::ForgetSocket { id: *id });
                forget.chain([Change::AddSocket { id: *socket_id, name: name.clone() }]).collect()
            }
            Origin::Found { .. } | Origin::VhostUser { .. } | Origin::Device { .. } => Vec::new(),
        }
    }

    fn interface_changes(&self) -> Vec<Change> {
        match &self.port.origin {
            Origin::Found { .. } => Vec::new(),
            Origin::Memif { socket_id, ring_size, secret, .. } => {
                vec![Change::CreateMemif { socket_id: *socket_id, ring_size: *ring_size, secret: secret.clone() }]
            }
            Origin::VhostUser { path, is_server } => {
                let (path, tag) = (path.clone(), self.port.tag.clone());
                vec![Change::CreateVhostUser { path, is_server: *is_server, tag }]
            }
            Origin::Device { name } => vec![Change::CreateOnDevice { name: name.clone() }],
        }
    }

    /// The mark first, so that whoever finds the port knows whose it is; switched on last, when it is whole.
    fn settling_changes(&self) -> Vec<Change> {
        let Some(index) = self.index else { return Vec::new() };
        let NewPort { name, domain, tag, settings, origin, policers, policed, .. } = &self.port;
        let mark = (!matches!(origin, Origin::VhostUser { .. })).then(|| Change::Mark { index, tag: tag.clone() });
        let settled = [Change::SetMtu { index, mtu: settings.mtu }, Change::JoinDomain { index, id: *domain }];
        // Also when there is none: a new interface inherits the rewrite of one that had its index and was in no bridge domain.
        let vlan = vlan_changes(index, settings.vlan.as_ref());
        let limits = policers.changes(name, &settings.rate_limit, index, *policed);
        let switch_on = Change::SwitchOn { index };
        mark.into_iter().chain(settled).chain(vlan).chain(limits).chain([switch_on]).collect()
    }

    fn undoing_changes(&self) -> Vec<Change> {
        let stray = self.is_astray.then_some(Change::DeleteDomain { id: self.port.domain });
        let delete = self.index.and_then(|index| match &self.port.origin {
            Origin::Found { .. } => None,
            Origin::Memif { .. } => Some(Change::DeleteMemif { index }),
            Origin::VhostUser { .. } => Some(Change::DeleteVhostUser { index }),
            Origin::Device { name } => Some(Change::DeleteOnDevice { name: name.clone() }),
        });
        let forget = match &self.port.origin {
            Origin::Memif { socket_id, .. } if self.has_socket_id => Some(Change::ForgetSocket { id: *socket_id }),
            _ => None,
        };
        let policers = match &self.port.origin {
            Origin::Found { .. } => Vec::new(),
            Origin::Memif { .. } | Origin::VhostUser { .. } | Origin::Device { .. } => {
                Policer::all_of(self.port.name, &self.port.settings.rate_limit)
            }
        };
        // If it got into no bridge domain, the next interface with its index would inherit its limits.
        let end = policers.iter().filter_map(|policer| Some(policer.end(self.index?)));
        let remove = policers.iter().map(|policer| Change::DeletePolicer { name: policer.name() });
        end.chain([delete, forget, stray].into_iter().flatten()).chain(remove).collect()
    }
}

/// Why a port of this kind cannot be made by this VPP at all.
fn missing_message(api: &impl Api, origin: &Origin) -> Option<String> {
    match origin {
        Origin::Memif { .. } if !api.supports::<MemifCreateV2>() && !api.supports::<MemifCreate>() => {
            Some(missing::<MemifCreateV2>(api.supports::<MemifDump>()))
        }
        Origin::VhostUser { .. } if !api.supports::<CreateVhostUserIfV2>() => {
            Some(missing::<CreateVhostUserIfV2>(api.supports::<SwInterfaceVhostUserDump>()))
        }
        Origin::Device { .. } if !api.supports::<AfPacketCreateV3>() => {
            Some(missing::<AfPacketCreateV3>(api.supports::<AfPacketDump>()))
        }
        _ => None,
    }
}

/// An older message of the same plugin tells a VPP that is too old from one without the plugin.
fn missing<M: Message>(has_plugin: bool) -> String {
    let remedy = match M::PLUGIN {
        Some(plugin) if !has_plugin => Remedy::LoadPlugin(plugin),
        _ => Remedy::UseRelease,
    };
    format!("it does not know the message {}; {remedy}", M::NAME)
}
