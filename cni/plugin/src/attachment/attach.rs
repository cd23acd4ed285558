//! Attaches an interface. All parameters were validated before. Each step is idempotent, and
//! [`Detachment`] rolls the steps back, whichever of them was the last.

use crate::attachment::detach::Detachment;
use crate::attachment::engine::{EngineClient, NewPort, drivers};
use crate::attachment::interface::{self, InterfaceError};
use crate::attachment::ipam::{self, IpamError, IpamPlugin};
use crate::attachment::node::{Node, device_of};
use crate::attachment::pod_directory::PodDirectory;
use crate::attachment::pod_files::description::{Description, Socket};
use crate::attachment::pod_files::device_info::{self, DeviceInfoFile, PodSocket};
use crate::attachment::pod_files::names::socket_of;
use crate::attachment::port::needs_volume;
use crate::attachment::request::gateway;
use crate::attachment::request::resolved::ResolvedRequest;
use crate::attachment::request::static_ips::{self, ReservedAddresses};
use crate::attachment::server_socket;
use crate::attachment::synced::is_needed_after_reboot;
use crate::error::Error;
use crate::legacy::handoff::LegacyHandoff;
use crate::legacy::shared_dir::SharedDir;
use crate::protocol::environment::Environment;
use crate::protocol::result::Assignment;
use usnet_crds::AntiSpoofing;
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_dataplane::attachment::{Address, Progress, Record};
use usnet_dataplane::journal::{Key, LockedAttachment, PendingSync};
use usnet_dataplane::legacy_annotation::{self, USUAL_MAPPED_DIR};
use usnet_dataplane::port::PortBackend;

/// The steps, in their order. What breaks otherwise:
///
/// - The record comes before everything that it describes: a call that is killed after a change
///   without a record would leave it on the node permanently.
/// - Addresses come before the interface, which is created with them, and before the engine has the
///   port: a failure of IPAM, the most frequent one, then needs no change to the engine.
/// - The directory comes before the port of VPP, which opens the socket in it. Open vSwitch
///   connects to a socket that the pod's program creates after ADD, and retries: the directory is
///   mounted while it works.
/// - The interface comes before the port: the engine attaches to its other end.
/// - The description comes when the engine has the port: a program that finds it may connect at
///   once.
/// - The confirmation comes last: until then a repeated ADD rolls back instead of failing with
///   "already attached". The record has been written to disk by then. That takes as long as the
///   engine, so it is not waited for before: without the record, what a loss of power leaves in the
///   engine belongs to no attachment, and the agent removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The record's state is `attaching`. It outlives this process and, if something of it outlives
    /// a reboot, is being written to disk.
    Record,
    /// IPAM assigned addresses.
    Addresses,
    /// The pod's directory is mounted for the engine, if the port needs it.
    Directory,
    /// The veth pair exists, one end in the pod and the other on the node, if the port is a veth. A
    /// tap is created with the port.
    Interface,
    /// The engine has accepted the port. Open vSwitch creates it during the next steps.
    Port,
    /// The engine has the port; the pod may use the engine's socket and has its description, if the
    /// port needs the pod's directory.
    Description,
    /// The record is on disk, if that is needed; its state is `attached`.
    Confirmation,
}

impl Step {
    pub const ALL: [Self; 7] = [
        Self::Record,
        Self::Addresses,
        Self::Directory,
        Self::Interface,
        Self::Port,
        Self::Description,
        Self::Confirmation,
    ];
    /// The order for an engine that does not need the directory to create the port.
    pub const DIRECTORY_AFTER_PORT: [Self; 7] = [
        Self::Record,
        Self::Addresses,
        Self::Interface,
        Self::Port,
        Self::Directory,
        Self::Description,
        Self::Confirmation,
    ];
    /// The order for an IPAM plugin that sends requests over the interface: it would time out if
    /// the interface did not exist and were not connected to the network before.
    pub const IPAM_AFTER_PORT: [Self; 7] = [
        Self::Record,
        Self::Directory,
        Self::Interface,
        Self::Port,
        Self::Addresses,
        Self::Description,
        Self::Confirmation,
    ];
}

/// A validated attachment, connected to its engine, before its first step.
#[derive(Debug)]
pub struct PreparedAttachment {
    pub engine: EngineClient,
    /// The record as the first step writes it.
    pub record: Record,
    pub request: ResolvedRequest,
    /// The device info file, if the runtime requests one.
    pub device_info: Option<DeviceInfoFile>,
    /// The files for programs written for Userspace CNI, if the configuration is a legacy one.
    pub legacy_handoff: Option<LegacyHandoff>,
    /// The `sharedDir` that serves as the pod's directory, if the legacy configuration names one.
    pub shared_dir: Option<SharedDir>,
    /// The pod's directory, by the record.
    pub directory: PodDirectory,
}

impl PreparedAttachment {
    pub fn start<'a>(
        self,
        node: &'a Node,
        environment: &'a Environment,
        locked: &'a LockedAttachment,
    ) -> Attachment<'a> {
        let Self { engine, record, request, device_info, legacy_handoff, shared_dir, directory } = self;
        Attachment {
            node,
            environment,
            locked,
            port: NewPort::new(engine),
            directory,
            record,
            request,
            device_info,
            legacy_handoff,
            shared_dir,
            assignment: Assignment::default(),
            is_port_requested: false,
            sync: None,
        }
    }
}

#[derive(Debug)]
pub struct Attachment<'a> {
    node: &'a Node,
    environment: &'a Environment,
    locked: &'a LockedAttachment,
    port: NewPort,
    directory: PodDirectory,
    record: Record,
    request: ResolvedRequest,
    device_info: Option<DeviceInfoFile>,
    legacy_handoff: Option<LegacyHandoff>,
    shared_dir: Option<SharedDir>,
    assignment: Assignment,
    is_port_requested: bool,
    /// The write of the record to disk, which goes on beside the other steps, if it is needed.
    sync: Option<PendingSync>,
}

impl Attachment<'_> {
    /// Runs all steps. When one fails, everything is rolled back.
    pub fn run(mut self) -> Result<(Record, Assignment), Error> {
        for step in self.steps() {
            if let Err(error) = self.run_step(step) {
                return Err(self.roll_back(error));
            }
        }
        Ok((self.record, self.assignment))
    }

    fn steps(&self) -> [Step; 7] {
        if self.is_ipam_after_port() {
            Step::IPAM_AFTER_PORT
        } else if drivers::opens_sockets_later(self.record.engine) {
            Step::DIRECTORY_AFTER_PORT
        } else {
            Step::ALL
        }
    }

    fn is_ipam_after_port(&self) -> bool {
        self.record.ipam.as_ref().is_some_and(ipam::needs_interface)
    }

    /// Runs one step. A step that fails may have done a part.
    pub fn run_step(&mut self, step: Step) -> Result<(), Error> {
        self.is_port_requested |= step == Step::Port;
        match step {
            Step::Record => {
                self.locked.write(&self.record)?;
                let is_synced = is_needed_after_reboot(&self.record);
                self.sync = is_synced.then(|| self.locked.start_sync()).transpose()?;
                self.check_address_conflicts(&self.request.reserved)
            }
            Step::Addresses => {
                self.port.complete(&mut self.record)?;
                self.assign_addresses()?;
                self.route_addresses()?;
                if self.is_ipam_after_port() { self.configure_assigned_addresses() } else { Ok(()) }
            }
            Step::Directory => self.mount_directory(),
            Step::Interface => Ok(self.create_interface()?),
            Step::Port => {
                self.remove_earlier_socket()?;
                Ok(self.port.request(&self.record)?)
            }
            Step::Description => {
                self.port.complete(&mut self.record)?;
                self.configure_tap()?;
                self.write_description()
            }
            Step::Confirmation => {
                self.sync.take().map_or(Ok(()), PendingSync::wait)?;
                self.record.progress = Progress::Attached;
                self.record.assignment = self.assignment.recorded();
                Ok(self.locked.write(&self.record)?)
            }
        }
    }

    /// Rolls back the steps that were run. If that fails, the record is kept, and the next DEL or
    /// ADD or the agent completes the rollback.
    fn roll_back(self, cause: Error) -> Error {
        let detachment = Detachment::new(self.node, self.environment, self.locked, self.record);
        let detachment = if self.is_port_requested { detachment } else { detachment.without_port() };
        let detachment = match &cause {
            Error::Ipam(error) if !error.may_hold_address() => detachment.without_address(),
            _ => detachment,
        };
        match detachment.run().and_then(|outcome| Ok(outcome.require_port_removed()?)) {
            Ok(()) => cause,
            Err(left) => Error::RollbackFailed { cause: Box::new(cause), left: Box::new(left) },
        }
    }

    /// Checks that no other interface has these addresses. This runs after the attachment's own
    /// record is written, so that each of two concurrent calls sees the other.
    fn check_address_conflicts(&self, reserved: &ReservedAddresses) -> Result<(), Error> {
        if reserved.mac.is_none() && reserved.ips.is_empty() {
            return Ok(());
        }
        let network = &self.record.network;
        let mac = reserved.mac.map(|mac| mac.to_string());
        let macs = mac.iter().map(|mac| Key::Mac(network, mac));
        let mut others = Vec::new();
        for key in reserved.ips.iter().map(|ip| Key::Ip(network, *ip)).chain(macs) {
            others.extend(self.node.journal.find_others(key, &self.record.id)?.records);
        }
        // A sandbox without its namespace has ended even if DEL was never called, as after a
        // reboot.
        others.retain(|other| other.network_namespace.try_exists().unwrap_or(true));
        match static_ips::find_conflict(&self.record, reserved, &others) {
            Some(conflict) => Err(Box::new(conflict).into()),
            None => Ok(()),
        }
    }

    fn assign_addresses(&mut self) -> Result<(), IpamError> {
        let ips = &self.request.static_ips;
        self.assignment = match &self.record.ipam {
            None => static_ips::assignment(ips),
            Some(configuration) if ips.is_empty() && !static_ips::merges_all_sources(configuration) => {
                IpamPlugin::find(configuration, self.environment)?.holding_lock(self.locked).assign()?
            }
            Some(configuration) => {
                // The addresses that the pod requests are overridden, or are in the configuration
                // as well.
                let environment = self.environment.without_requested_address();
                let plugin = IpamPlugin::find(configuration, &environment)?.holding_lock(self.locked);
                if ips.is_empty() { plugin.assign()? } else { plugin.assign_static(ips)? }
            }
        };
        if let Some(address) = gateway::assigned_gateway(&self.assignment, self.request.gateway.as_ref()) {
            return Err(IpamError::AddressOfGateway(address));
        }
        let mut assigned = self.assignment.ips.iter().map(|assigned| assigned.address.addr());
        let node = self.request.node_access.as_ref();
        if let Some(address) = assigned.find(|address| node.is_some_and(|node| node.has(*address))) {
            return Err(IpamError::AddressOfNode(address));
        }
        if self.assignment.ips.is_empty() && self.record.port.settings.anti_spoofing == AntiSpoofing::Address {
            return Err(IpamError::NoGuardedAddress);
        }
        gateway::set_in_assignment(&mut self.assignment, self.request.gateway.as_ref());
        self.assignment.set_default_routes(&self.request.default_route);
        let addresses = self.assignment.ips.iter().map(|assigned| assigned.address);
        self.record.addresses =
            addresses.map(|address| Address { ip: address.addr(), prefix: address.prefix_len() }).collect();
        Ok(())
    }

    /// Has the engine route the addresses to the port. It routes each address to one port only: a
    /// second one would take it from the first.
    fn route_addresses(&mut self) -> Result<(), Error> {
        if !self.record.port.backend.is_routed() {
            return Ok(());
        }
        let routed = gateway::routed_addresses(&self.assignment, self.request.gateway.as_ref())?;
        let (ips, reserved) = (routed.iter().copied().collect(), &self.request.reserved);
        let assigned =
            ReservedAddresses { ips, are_ips_static: reserved.are_ips_static, mac: None, is_mac_static: false };
        self.check_address_conflicts(&assigned)?;
        self.record.port.settings.routed = routed;
        Ok(())
    }

    fn mount_directory(&self) -> Result<(), Error> {
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        self.shared_dir.as_ref().map_or(Ok(()), SharedDir::create)?;
        Ok(self.directory.mount()?)
    }

    /// A previous sandbox of the pod may have left its socket, or the pod may have put a file
    /// there: an engine that listens could not bind its socket, and one that connects would do so
    /// to the old one.
    fn remove_earlier_socket(&self) -> Result<(), Error> {
        match socket_of(&self.record).filter(|_| needs_volume(&self.record.port)) {
            Some(socket) => Ok(self.directory.remove(&socket)?),
            None => Ok(()),
        }
    }

    fn create_interface(&self) -> Result<(), InterfaceError> {
        match self.record.port.backend.device() {
            None if self.is_tap() => interface::tap::check_name(&self.record),
            Some(device) => {
                let ResolvedRequest { mac, default_route, .. } = &self.request;
                let default_route = if self.is_ipam_after_port() { &[] } else { default_route.as_slice() };
                interface::create(&self.record, device, *mac, &self.assignment, default_route)
            }
            None => Ok(()),
        }
    }

    fn is_tap(&self) -> bool {
        matches!(self.record.port.backend, PortBackend::Tap { .. })
    }

    /// The engine has created the pod's interface, without addresses.
    fn configure_tap(&self) -> Result<(), InterfaceError> {
        if self.is_tap() && !self.is_ipam_after_port() { self.configure_addresses() } else { Ok(()) }
    }

    /// The port was created before its addresses were known, from which its pod may send.
    fn configure_assigned_addresses(&self) -> Result<(), Error> {
        if self.record.port.settings.anti_spoofing == AntiSpoofing::Address {
            EngineClient::connect(&self.record)?.update_port(&self.record)?;
        }
        Ok(self.configure_addresses()?)
    }

    /// Configures the addresses that were assigned after the interface was created.
    fn configure_addresses(&self) -> Result<(), InterfaceError> {
        interface::assign(&self.record, &self.assignment, &self.request.default_route)
    }

    fn write_description(&mut self) -> Result<(), Error> {
        let Some(mut description) = Description::new(&self.record, self.request.mac, &self.assignment) else {
            return Ok(());
        };
        if let Some(socket) = server_socket::path_without_link(&self.record, &self.directory) {
            description.socket = Socket::File(socket);
        }
        if let Some(file) = &self.device_info {
            let folder = match (device_of(&self.node.paths, &self.record), &self.legacy_handoff) {
                (Some(device), _) => format!("{CONTAINER_FOLDER}/{device}"),
                (None, Some(_)) => USUAL_MAPPED_DIR.to_owned(),
                (None, None) => device_info::MOUNT_PATH.to_owned(),
            };
            let socket = PodSocket { folder: &folder, socket: &description.socket.to_string() };
            file.write(&description.endpoint, description.role, socket)?;
        }
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        server_socket::publish(&self.record, &self.directory)?;
        if description.engine_creates_socket() && !server_socket::has_own_place(&self.record) {
            socket_of(&self.record).map_or(Ok(()), |socket| self.directory.set_socket_permissions(&socket))?;
        }
        let handoff = self.legacy_handoff.as_ref();
        if let Some(status) = handoff.and_then(|handoff| handoff.interface_status(&self.record, &self.assignment)) {
            if !self.record.socket_only {
                self.directory.write(&legacy_annotation::file_name(&self.record.id), &status.to_file())?;
            }
            self.record.configuration_data = Some(status);
        }
        if self.record.socket_only {
            return Ok(());
        }
        Ok(self.directory.write(&Description::file_name(&description.interface), &description.to_json())?)
    }
}
