//! Detaches an interface, by its record alone. Each step is idempotent, and a failed step does not
//! prevent the others.

use crate::attachment::engine::{EngineClient, EngineClientError};
use crate::attachment::interface::{self, InterfaceError};
use crate::attachment::ipam::{self, IpamError, IpamPlugin};
use crate::attachment::node::Node;
use crate::attachment::pod_directory::{PodDirectory, StillUsed};
use crate::attachment::pod_files::names::files_of;
use crate::attachment::server_socket;
use crate::error::{Error, with_causes};
use crate::legacy::shared_dir;
use crate::legacy::state::{LegacyState, LegacyStateError};
use crate::protocol::environment::Environment;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::journal::{self, LockedAttachment};
use usnet_dataplane::network_namespace::{self, Presence};
use usnet_dataplane::port::PortBackend;

/// The steps, in their order. What breaks otherwise:
///
/// - The record comes first: the agent must not recreate a port that is about to be deleted. It is
///   not waited for until it is on disk: after a loss of power the runtime calls DEL again.
/// - The port comes before the addresses: another pod could get an address that still has traffic.
/// - The port comes before the directory: VPP would keep a socket in an unmounted folder.
/// - The record is removed last: without it nothing on the node says what remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The record's state is `detaching`.
    Record,
    /// The engine has no port.
    Port,
    /// The veth pair is removed.
    Interface,
    /// IPAM has released the addresses.
    Addresses,
    /// Our files are removed from the pod's directory and it is unmounted, unless another
    /// attachment needs it.
    Directory,
    /// The record is removed, if all steps before succeeded.
    Removal,
}

impl Step {
    pub const ALL: [Self; 6] =
        [Self::Record, Self::Port, Self::Interface, Self::Addresses, Self::Directory, Self::Removal];
    /// The order for an IPAM plugin that releases the addresses over the interface, which must
    /// still be connected then.
    pub const IPAM_BEFORE_PORT: [Self; 6] =
        [Self::Record, Self::Addresses, Self::Port, Self::Interface, Self::Directory, Self::Removal];
}

/// What a successful DEL has not done.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The error of an engine that did not remove the port. The record is kept, and the agent
    /// removes the port later.
    pub port_removal_deferred: Option<EngineClientError>,
    /// The error of IPAM, where it must not prevent the deletion of the pod.
    pub release_error: Option<IpamError>,
}

impl Outcome {
    /// Succeeds if the port is removed, too.
    pub fn require_port_removed(self) -> Result<(), EngineClientError> {
        self.port_removal_deferred.map_or(Ok(()), Err)
    }

    /// What was not done, for the runtime's log.
    pub fn note(&self) -> Option<String> {
        let port = self.port_removal_deferred.as_ref();
        let port = port.map(|error| format!("the agent removes the port later: {}", with_causes(error)));
        let ipam =
            self.release_error.as_ref().map(|error| format!("addresses may still be reserved: {}", with_causes(error)));
        let notes: Vec<String> = port.into_iter().chain(ipam).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

#[derive(Debug)]
pub struct Detachment<'a> {
    node: &'a Node,
    environment: &'a Environment,
    locked: &'a LockedAttachment,
    record: Record,
    port_may_exist: bool,
    waits_for_engine: bool,
    address_may_be_held: bool,
    is_garbage_collection: bool,
    release_error: Option<IpamError>,
    record_error: Option<journal::Error>,
    port_error: Option<EngineClientError>,
    first_error: Option<Error>,
}

impl<'a> Detachment<'a> {
    /// A detachment before its first step.
    pub fn new(node: &'a Node, environment: &'a Environment, locked: &'a LockedAttachment, record: Record) -> Self {
        Self {
            node,
            environment,
            locked,
            record,
            port_may_exist: true,
            waits_for_engine: false,
            address_may_be_held: true,
            is_garbage_collection: false,
            release_error: None,
            record_error: None,
            port_error: None,
            first_error: None,
        }
    }

    /// Does not call the engine: the port was never requested.
    pub fn without_port(self) -> Self {
        Self { port_may_exist: false, ..self }
    }

    /// Returns only when the engine has removed the port. This is needed for a port that is created
    /// again: ovs-vswitchd takes it for the same one if it sees both changes at once.
    pub fn waiting_for_engine(self) -> Self {
        Self { waits_for_engine: true, ..self }
    }

    /// Ignores a failure of the IPAM plugin, which failed to assign an address. It is called
    /// because it may have done a part; one that always fails must not block the deletion of the
    /// pod.
    pub fn without_address(self) -> Self {
        Self { address_may_be_held: false, ..self }
    }

    /// Keeps the record while IPAM fails to release an address, also when the sandbox has ended:
    /// garbage collection is repeated and blocks no deletion.
    pub fn for_garbage_collection(self) -> Self {
        Self { is_garbage_collection: true, ..self }
    }

    /// Runs all steps.
    ///
    /// # Errors
    /// Something besides the port remains: DEL has to be repeated.
    pub fn run(mut self) -> Result<Outcome, Error> {
        let by_interface = self.record.ipam.as_ref().is_some_and(ipam::needs_interface);
        for step in if by_interface { Step::IPAM_BEFORE_PORT } else { Step::ALL } {
            self.run_step(step);
        }
        match self.first_error {
            Some(error) => Err(error),
            None => Ok(Outcome { port_removal_deferred: self.port_error, release_error: self.release_error }),
        }
    }

    /// Runs one step. Its error is kept until the end.
    pub fn run_step(&mut self, step: Step) {
        let result = match step {
            Step::Record => {
                self.record_error = self.write_detaching().err();
                Ok(())
            }
            Step::Port => {
                self.port_error = self.remove_port().err();
                Ok(())
            }
            Step::Interface => self.remove_interface().map_err(Error::from),
            Step::Addresses => self.release_addresses().map_err(Error::from),
            Step::Directory => self.clear_directory().and_then(|()| Ok(self.clear_legacy()?)),
            Step::Removal => self.remove_record().map_err(Error::from),
        };
        if let Err(error) = result {
            self.first_error.get_or_insert(error);
        }
    }

    fn write_detaching(&mut self) -> Result<(), journal::Error> {
        if matches!(self.record.progress, Progress::Detaching | Progress::Detached) {
            return Ok(());
        }
        self.record.progress = Progress::Detaching;
        self.locked.write(&self.record)
    }

    /// Removes the port. The removal is committed, and ovs-vswitchd may apply it later: it takes
    /// milliseconds for each port, one after another, and no later step needs it. A new port with
    /// the same socket works even if it sees both changes at once.
    fn remove_port(&mut self) -> Result<(), EngineClientError> {
        if !self.port_may_exist {
            return Ok(());
        }
        let engine = EngineClient::connect(&self.record)?;
        if self.waits_for_engine { engine.remove_port_and_wait(&self.record) } else { engine.remove_port(&self.record) }
    }

    /// Removes the veth pair, also when the engine still uses the device. The kernel then detaches
    /// ovs-vswitchd's packet socket from it; ovs-vswitchd logs "Network is down" once, keeps the
    /// port as one without a link, and removes it like any other when it reads its configuration
    /// (observed with 3.1).
    fn remove_interface(&self) -> Result<(), InterfaceError> {
        match self.record.port.backend.device() {
            Some(device) => interface::remove(&self.record.id, device),
            None if matches!(self.record.port.backend, PortBackend::Tap { .. }) => interface::tap::remove(&self.record),
            None => Ok(()),
        }
    }

    fn release_addresses(&mut self) -> Result<(), IpamError> {
        if let Some(configuration) = &self.record.ipam {
            // Released by the attachment alone: a plugin that rejects the requested address would
            // block the deletion of the pod.
            let environment = self.environment.without_requested_address();
            match IpamPlugin::find(configuration, &environment).and_then(|plugin| plugin.release()) {
                Err(error) if self.is_release_required(&error) => return Err(error),
                released => self.release_error = released.err(),
            }
        }
        self.record.ipam = None;
        self.record.addresses.clear();
        Ok(())
    }

    /// Whether an address that IPAM failed to release makes DEL fail. The address of a sandbox that
    /// has ended is not in use, and GC of the IPAM plugin or its operator can release it. A
    /// resource claim is detached after its pod's sandbox.
    fn is_release_required(&self, error: &IpamError) -> bool {
        let was_assigned = self.address_may_be_held && !matches!(error, IpamError::IsThisPlugin(_));
        if self.is_garbage_collection {
            return was_assigned;
        }
        let is_gone = self.record.id.container.claim().is_some()
            || !self.record.network_namespace.try_exists().unwrap_or(true)
            || network_namespace::presence(&self.record) == Presence::Gone;
        was_assigned && !is_gone
    }

    fn clear_directory(&self) -> Result<(), Error> {
        let Record { id, pod, .. } = &self.record;
        let files = files_of(&self.record);
        let paths = &self.node.paths;
        let directory = PodDirectory::from_record(paths, &self.record);
        let withdrawn = server_socket::withdraw(&self.record, &directory);
        directory.release(&files, || {
            let mut others = self.node.other_attachments(&pod.uid, id)?;
            others.known.retain(|other| PodDirectory::from_record(paths, other).path() == directory.path());
            // A new sandbox of the pod may have the interface already, and files of the same name
            // belong to it then.
            let (files, of_pod) = (others.files(), others.need_directory());
            let source = directory.source_folder().map(|folder| self.node.is_source_used(folder, id)).transpose()?;
            Ok(StillUsed { files, directory: of_pod, source: source.unwrap_or_default() })
        })?;
        shared_dir::clear(&self.record);
        Ok(withdrawn?)
    }

    /// Removes the files of the legacy plugin, if it attached the interface. Its state file is
    /// removed last: without it nothing is taken over again.
    fn clear_legacy(&self) -> Result<(), LegacyStateError> {
        if self.record.taken_over { LegacyState::clear(&self.node.paths, &self.record) } else { Ok(()) }
    }

    /// Removes the record, or updates it if something remains. On a full disk the record cannot be
    /// updated, but it can still be removed.
    fn remove_record(&mut self) -> Result<(), journal::Error> {
        if self.first_error.is_none() {
            if self.port_error.is_none() {
                return self.locked.remove();
            }
            if let Some(error) = self.record_error.take() {
                return Err(error);
            }
            // Only now may the agent remove the record: without it, addresses and mount could no
            // longer be released.
            self.record.progress = Progress::Detached;
        }
        self.locked.write(&self.record)?;
        // The runtime does not call DEL again.
        if self.record.progress == Progress::Detached { self.locked.start_sync()?.wait() } else { Ok(()) }
    }
}
