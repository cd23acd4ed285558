//! Creating ports: sockets, then interfaces, then their configuration, and reading back the result.
//! Failed ports are rolled back.

use super::failure::{Failure, Failures, failure};
use super::guards;
use super::new_checks::{Preparation, PreparationTickets};
use super::new_guards::table_count;
use crate::engine::error::{EngineError, OpError};
use crate::engine::vpp::command::{self, CommandBatch, VppCommand};
use crate::engine::vpp::guard::GuardChange;
use crate::engine::vpp::plan_op::{NewPort, Origin};
use crate::engine::vpp::policy::close_new;
use crate::engine::vpp::port_settings;
use crate::engine::vpp::ports::NewInterface;
use crate::engine::vpp::qos::{Policer, detach, policer_commands};
use crate::engine::vpp::request::Outcome;
use crate::engine::vpp::snapshot::{BridgeDomain, BridgeDomainTickets, FeatureTickets, Features, Filters, read_marks};
use crate::model::port::{DesiredPort, Guard};
use crate::plan::Op;
use usnet_crds::Ownership;
use usnet_vpp::messages::ClassifyTableIds;
use usnet_vpp::{Api, Batch};

/// The progress of one port.
#[derive(Debug)]
struct PortCreation<'a> {
    position: usize,
    operation: &'a Op,
    port: NewPort<'a>,
    /// Whether its socket has its id.
    has_socket: bool,
    /// The index of the interface, once there is one.
    index: Option<u32>,
    /// Whether the bridge domain that it was added to turned out to be implicit.
    joined_implicit_domain: bool,
    /// What says what it may send and have, if it is new.
    preparation: Preparation,
    failure: Option<Failure>,
}

/// The outcome of creating ports.
#[derive(Debug, Default)]
pub(super) struct Created {
    pub(super) failures: Failures,
    /// The index of the interface, if there is one port and it was created.
    pub(super) index: Option<u32>,
}

pub(super) async fn create_ports(
    api: &mut impl Api,
    part: &[Op],
    ports: Vec<(usize, NewPort<'_>)>,
) -> Result<Created, EngineError> {
    let start = |(position, port)| Some(PortCreation::new(position, part.get(position)?, port));
    let mut list: Vec<_> = ports.into_iter().filter_map(start).collect();
    for creation in &mut list {
        creation.failure =
            creation.new_interface().and_then(|new| new.missing_message(api)).map(|reason| creation.refusal(reason));
    }
    let planned = plan(&list, PortCreation::socket_commands);
    let outcomes = command::send(api, planned.iter().flatten()).await?;
    apply_outcomes(&mut list, &planned, outcomes);
    create_interfaces(api, &mut list).await?;
    configure(api, &mut list).await?;
    check(api, &mut list).await?;
    roll_back(api, &list).await?;
    let index = match list.as_slice() {
        [only] if only.failure.is_none() => only.index,
        _ => None,
    };
    let failures = list.into_iter().filter_map(|creation| Some((creation.position, creation.failure?))).collect();
    Ok(Created { failures, index })
}

/// The next changes of all that have not failed.
fn plan<'a>(list: &[PortCreation<'a>], commands: fn(&PortCreation<'a>) -> Vec<VppCommand>) -> Vec<Vec<VppCommand>> {
    let of = |creation: &PortCreation<'a>| if creation.failure.is_none() { commands(creation) } else { Vec::new() };
    list.iter().map(of).collect()
}

fn apply_outcomes(list: &mut [PortCreation<'_>], planned: &[Vec<VppCommand>], outcomes: Vec<Outcome>) {
    let mut outcomes = outcomes.into_iter();
    for (creation, commands) in list.iter_mut().zip(planned) {
        for (command, outcome) in commands.iter().zip(outcomes.by_ref()) {
            match outcome {
                Ok(index) => creation.succeeded(command, index),
                Err(error) => {
                    creation.failure = creation.failure.take().or(failure(creation.operation, command, error));
                }
            }
        }
    }
}

/// Creates the interfaces, and asks how many tables VPP has: more than it can have end it.
async fn create_interfaces(api: &mut impl Api, list: &mut [PortCreation<'_>]) -> Result<(), EngineError> {
    let planned = plan(list, PortCreation::interface_commands);
    let mut batch = Batch::new();
    let commands = CommandBatch::request(&mut batch, api, planned.iter().flatten());
    let counts = |creation: &PortCreation<'_>| creation.new_guard().is_some() && api.supports::<ClassifyTableIds>();
    let tables = list.iter().any(counts).then(|| batch.request(ClassifyTableIds {}));
    if batch.is_empty() {
        return Ok(());
    }
    let answers = api.send(&batch).await?;
    apply_outcomes(list, &planned, commands.outcomes(&answers));
    let Some(tables) = tables else { return Ok(()) };
    let mut count = answers.reply(tables)?.ids.len();
    for creation in list.iter_mut().filter(|creation| creation.failure.is_none()) {
        let Some(guard) = creation.new_guard() else { continue };
        count += table_count(guard);
        creation.failure = guards::too_many(count).map(|reason| creation.refusal(reason));
    }
    Ok(())
}

/// Configures the interfaces, and reads them and their bridge domains back: VPP creates a missing
/// bridge domain implicitly, and other clients may have deleted an interface.
async fn configure(api: &mut impl Api, list: &mut [PortCreation<'_>]) -> Result<(), EngineError> {
    let planned = plan(list, PortCreation::configuration_commands);
    let domains =
        list.iter().filter(|creation| creation.failure.is_none()).map(|creation| creation.port.domain).collect();
    let mut batch = Batch::new();
    let commands = CommandBatch::request(&mut batch, api, planned.iter().flatten());
    let domains = BridgeDomainTickets::request(&mut batch, &domains);
    let interfaces = list.iter().filter(|creation| creation.failure.is_none()).filter_map(|creation| creation.index);
    let features = FeatureTickets::request(&mut batch, api, interfaces);
    let preparations: Vec<_> = list.iter_mut().map(|creation| creation.prepare(&mut batch, api)).collect();
    if batch.is_empty() {
        return Ok(());
    }
    let answers = api.send(&batch).await?;
    apply_outcomes(list, &planned, commands.outcomes(&answers));
    for (creation, preparation) in list.iter_mut().zip(preparations) {
        let Some((preparation, refusal)) = preparation.map(|preparation| preparation.read(&answers)) else { continue };
        creation.preparation = preparation;
        creation.fail_if(refusal);
    }
    let (mut domains, features) = (domains.read(&answers)?, features.read(&answers));
    read_marks(api, &mut domains).await?;
    for creation in list.iter_mut().filter(|creation| creation.failure.is_none()) {
        let features = creation.index.and_then(|index| features.get(&index));
        creation.verify(domains.get(&creation.port.domain), features);
    }
    Ok(())
}

/// Guards the ports of which pods may not claim everything, closes those whose policies are not
/// known yet, and sets them up: until then they are down.
async fn check(api: &mut impl Api, list: &mut [PortCreation<'_>]) -> Result<(), EngineError> {
    for creation in list.iter_mut().filter(|creation| creation.failure.is_none() && creation.is_checked()) {
        match creation.port.origin {
            Origin::Existing { index } => check_existing(api, creation, index).await?,
            Origin::New(_) => find_former(api, creation).await?,
        }
    }
    let mut batch = Batch::new();
    let mut checks = Vec::new();
    for (place, creation) in list.iter().enumerate().filter(|(_, creation)| creation.failure.is_none()) {
        let index = creation.index.filter(|_| creation.is_checked() && creation.new_interface().is_some());
        checks.extend(index.map(|index| (place, creation.preparation.request(&mut batch, api, index))));
    }
    if !batch.is_empty() {
        let answers = api.send(&batch).await?;
        for (place, check) in checks {
            let refusal = check.refusal(&answers)?;
            list.get_mut(place).into_iter().for_each(|creation| creation.fail_if(refusal.clone()));
        }
    }
    let planned = plan(list, PortCreation::set_up_commands);
    let outcomes = command::send(api, planned.iter().flatten()).await?;
    apply_outcomes(list, &planned, outcomes);
    Ok(())
}

/// What filters an interface that exists is replaced, and differs from case to case.
async fn check_existing(api: &mut impl Api, creation: &mut PortCreation<'_>, index: u32) -> Result<(), EngineError> {
    if let Some(desired) = creation.port.port.settings.guard.clone() {
        let guarded = guards::guard_new(api, GuardChange { index, found: None, desired: Some(desired) }).await?;
        creation.fail_if(guarded.err());
    }
    if creation.failure.is_none() && creation.port.port.creation.is_closed {
        creation.fail_if(close_new(api, index).await?.err());
    }
    Ok(())
}

/// Reads the tables of a former interface with the same index, if there are any.
async fn find_former(api: &mut impl Api, creation: &mut PortCreation<'_>) -> Result<(), EngineError> {
    let Some(index) = creation.index else { return Ok(()) };
    if let Some(tables) = creation.preparation.tables.take() {
        let former = if tables.has_former { Filters::read(api, [index]).await?.by_index.remove(&index) } else { None };
        creation.preparation.tables = Some(tables.after(former));
    }
    Ok(())
}

/// Deletes what was created for failed ports. What VPP rejects here is deleted already, or in use
/// by others.
async fn roll_back(api: &mut impl Api, list: &[PortCreation<'_>]) -> Result<(), EngineError> {
    let failed = list.iter().filter(|creation| creation.failure.is_some());
    let commands: Vec<_> = failed.flat_map(PortCreation::rollback_commands).collect();
    command::send(api, &commands).await.map(drop)
}

impl<'a> PortCreation<'a> {
    fn new(position: usize, operation: &'a Op, port: NewPort<'a>) -> Self {
        let index = match port.origin {
            Origin::Existing { index } => Some(index),
            Origin::New(_) => None,
        };
        Self {
            position,
            operation,
            port,
            has_socket: false,
            index,
            joined_implicit_domain: false,
            preparation: Preparation::default(),
            failure: None,
        }
    }

    /// The guard, of an interface that is created.
    fn new_guard(&self) -> Option<&Guard> {
        self.port.port.settings.guard.as_ref().filter(|_| self.new_interface().is_some())
    }

    /// Creates what says what a new interface may send and have.
    fn prepare(&mut self, batch: &mut Batch, api: &impl Api) -> Option<PreparationTickets> {
        let is_new = self.failure.is_none() && self.is_checked() && self.new_interface().is_some();
        let index = self.index.filter(|_| is_new)?;
        match PreparationTickets::request(batch, api, index, self.port.port) {
            Ok(tickets) => Some(tickets),
            Err(reason) => {
                self.fail_if(Some(reason));
                None
            }
        }
    }

    /// The first failure counts.
    fn fail_if(&mut self, reason: Option<String>) {
        self.failure = self.failure.take().or_else(|| reason.map(|reason| self.refusal(reason)));
    }

    fn new_interface(&self) -> Option<&NewInterface> {
        match &self.port.origin {
            Origin::Existing { .. } => None,
            Origin::New(new) => Some(new),
        }
    }

    fn succeeded(&mut self, command: &VppCommand, index: u32) {
        if let VppCommand::Port(command) = command {
            self.has_socket |= command.adds_socket();
            self.index = command.creates_interface().then_some(index).or(self.index);
        }
    }

    /// Verifies that its bridge domain is its network's.
    fn verify(&mut self, domain: Option<&BridgeDomain>, features: Option<&Features>) {
        let ownership = self.port.port.bridge.as_ref().map(|bridge| bridge.ownership).unwrap_or_default();
        let is_right = |domain: &BridgeDomain| match ownership {
            Ownership::Managed => domain.owner.as_ref() == self.port.port.owner.network.as_ref(),
            // A bridge domain that was deleted in between exists again by now, without a tag: VPP
            // created it implicitly for this port.
            Ownership::Adopted => domain.is_tagged,
        };
        match domain.filter(|domain| is_right(domain)) {
            None => {
                self.joined_implicit_domain = domain.is_some_and(|domain| !domain.is_tagged);
                self.failure = Some(OpError::BridgeMissing { bridge: self.port.domain.to_string() }.into());
            }
            Some(domain) if self.port.routed.is_none() => self.verify_member(domain, features),
            Some(_) => {}
        }
    }

    /// Verifies that it is a member of the bridge domain now, and is filtered if and only if it is
    /// in a VLAN: the reply to that request is not reliable.
    fn verify_member(&mut self, domain: &BridgeDomain, features: Option<&Features>) {
        if !self.index.is_some_and(|index| domain.members.contains_key(&index)) {
            let reason = "another client removed its interface".to_owned();
            self.failure = Some(Failure { is_conflict: true, ..self.refusal(reason) });
        } else if features
            .is_some_and(|features| features.is_filtered != port_settings::is_filtered(&self.port.port.settings))
        {
            let reason = "VPP did not change its VLAN filter".to_owned();
            self.failure = Some(self.refusal(reason));
        }
    }

    /// Whether it is set up after what it lets pass is set.
    const fn is_checked(&self) -> bool {
        self.port.port.settings.guard.is_some() || self.port.port.creation.is_closed
    }

    fn refusal(&self, reason: String) -> Failure {
        OpError::Refused { what: self.operation.subject(), reason }.into()
    }

    fn socket_commands(&self) -> Vec<VppCommand> {
        self.new_interface().into_iter().flat_map(NewInterface::socket_commands).map(VppCommand::Port).collect()
    }

    fn interface_commands(&self) -> Vec<VppCommand> {
        let tag = &self.port.tag;
        self.new_interface().into_iter().flat_map(|new| new.create(tag)).map(VppCommand::Port).collect()
    }

    /// The tag first, so that an interrupted creation has an owner; admin up last, when all is
    /// configured.
    fn configuration_commands(&self) -> Vec<VppCommand> {
        let Some(index) = self.index else { return Vec::new() };
        let NewPort { port: DesiredPort { name, settings, .. }, domain, tag, policers, policed, .. } = &self.port;
        let has_tag = self.new_interface().is_some_and(NewInterface::is_created_with_tag);
        let set_tag = (!has_tag).then(|| VppCommand::SetTag { index, tag: tag.clone() });
        let before = port_settings::set_before_joining(index, settings);
        let place: Vec<VppCommand> = match &self.port.routed {
            Some(routed) => routed.commands(index).map(VppCommand::Routing).collect(),
            None => {
                let join = [VppCommand::AddToBridgeDomain { index, id: *domain }];
                join.into_iter().chain(port_settings::set_as_member(index, settings)).collect()
            }
        };
        let limits = policer_commands(policers, name, &settings.rate_limit.unwrap_or_default(), (index, *policed));
        let set_tag = set_tag.into_iter();
        if self.is_checked() {
            // An existing interface may be up.
            let down = self.new_interface().is_none().then_some(VppCommand::SetAdminDown { index });
            return set_tag.chain(down).chain(before).chain(place).chain(limits).collect();
        }
        set_tag.chain(before).chain(place).chain(limits).chain([VppCommand::SetAdminUp { index }]).collect()
    }

    /// Sets a port up of which it was checked what it lets pass.
    fn set_up_commands(&self) -> Vec<VppCommand> {
        let index = self.index.filter(|_| self.is_checked());
        index.map(|index| VppCommand::SetAdminUp { index }).into_iter().collect()
    }

    fn rollback_commands(&self) -> Vec<VppCommand> {
        let implicit_domain =
            self.joined_implicit_domain.then_some(VppCommand::DeleteBridgeDomain { id: self.port.domain });
        let Some(new) = self.new_interface() else { return implicit_domain.into_iter().collect() };
        let policers = Policer::all_of(&self.port.port.name, &self.port.port.settings.rate_limit.unwrap_or_default());
        // If it was added to no bridge domain, the next interface with its index would inherit its
        // limits.
        let end = policers.iter().filter_map(|policer| Some(detach(policer, self.index?)));
        let unset = self.preparation.unset().map(VppCommand::Filter);
        let end = end.chain(unset);
        let routes = self.port.routed.iter().zip(self.index).flat_map(|(routed, index)| routed.undo(index));
        let delete = self.index.into_iter().flat_map(|index| new.delete(index));
        let delete_socket = if self.has_socket { new.delete_socket() } else { Vec::new() };
        let delete = delete.chain(delete_socket).map(VppCommand::Port);
        let delete_policers = policers.iter().map(|policer| VppCommand::DeletePolicer { name: policer.name() });
        end.chain(routes.map(VppCommand::Routing))
            .chain(delete)
            .chain(self.preparation.deletion())
            .chain(implicit_domain)
            .chain(delete_policers)
            .collect()
    }
}
