//! An attachment's beginning. Everything is known and checked when it starts; each step can be repeated, and [`Detachment`] undoes all of
//! them, wherever they stopped.

use crate::cni::environment::Environment;
use crate::cni::result::Assignment;
use crate::description::Description;
use crate::detach::{Detachment, Outcome};
use crate::device_info::{self, DeviceInfoFile, PodSocket};
use crate::engine::{EngineClient, EngineClientError};
use crate::error::Error;
use crate::interface::{self, InterfaceError};
use crate::ipam::{self, Ipam, IpamError};
use crate::legacy::handoff::{LegacyHandoff, socket_of};
use crate::legacy::shared_dir::SharedDir;
use crate::node::{Node, device_of};
use crate::pod_directory::PodDirectory;
use crate::port::needs_volume;
use crate::static_ips::{self, ReservedAddresses};
use std::net::IpAddr;
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_crds::{InterfaceAddress, MacAddress};
use usnet_dataplane::attachment::{Address, Progress, Record};
use usnet_dataplane::configuration_data::{self, USUAL_MAPPED_DIR};
use usnet_dataplane::journal::Locked;

/// The steps, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The record says `attaching`.
    Record,
    /// IPAM gave addresses.
    Addresses,
    /// The engine sees the pod's directory, if the port needs it.
    Directory,
    /// The pod has the interface, if it is a device of the kernel, and the node its other end.
    Interface,
    /// The engine has the port.
    Port,
    /// The pod may use the engine's socket and has the description, if the port needs its directory.
    Description,
    /// The record says `attached`.
    Confirmation,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Record,
        Self::Addresses,
        Self::Directory,
        Self::Interface,
        Self::Port,
        Self::Description,
        Self::Confirmation,
    ];
    /// All of them, where the IPAM plugin asks over the interface: it has to be there, and joined to the network.
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

/// What the interface is known by beyond its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachParams {
    /// Its MAC address.
    pub mac: MacAddress,
    /// The addresses that are not IPAM's to choose; none means that it chooses.
    pub static_ips: Vec<InterfaceAddress>,
    /// What no other interface of the network may have.
    pub reserved: ReservedAddresses,
    /// The routers of the pod's default routes, if they are to be here.
    pub default_route: Vec<IpAddr>,
    /// Where else it is described, if the runtime asks for that.
    pub device_info: Option<DeviceInfoFile>,
    /// How it is handed over to programs for the older userspace CNI, if it is.
    pub legacy_handoff: Option<LegacyHandoff>,
    /// The folder of the node that the pod's directory comes from, if its definition names one.
    pub shared_dir: Option<SharedDir>,
}

/// An attachment that is being made.
#[derive(Debug)]
pub struct Attachment<'a> {
    node: &'a Node,
    environment: &'a Environment,
    locked: &'a Locked,
    /// Until the port was asked for.
    engine: Option<EngineClient>,
    directory: PodDirectory,
    record: Record,
    params: AttachParams,
    assignment: Assignment,
    is_port_requested: bool,
}

impl<'a> Attachment<'a> {
    /// The beginning of the attachment that `record` describes. Nothing is done yet.
    pub fn new(
        node: &'a Node,
        environment: &'a Environment,
        locked: &'a Locked,
        engine: EngineClient,
        record: Record,
        params: AttachParams,
    ) -> Self {
        let directory = PodDirectory::of_record(&node.roots, &record);
        let assignment = Assignment::default();
        Self {
            node,
            environment,
            locked,
            engine: Some(engine),
            directory,
            record,
            params,
            assignment,
            is_port_requested: false,
        }
    }

    /// Takes every step. What was done is undone when one fails.
    ///
    /// # Errors
    /// Why the step failed.
    pub fn run(mut self) -> Result<(Record, Assignment), Error> {
        for step in self.steps() {
            if let Err(error) = self.run_step(step) {
                return Err(self.roll_back(error));
            }
        }
        Ok((self.record, self.assignment))
    }

    fn steps(&self) -> [Step; 7] {
        if self.is_ipam_after_port() { Step::IPAM_AFTER_PORT } else { Step::ALL }
    }

    fn is_ipam_after_port(&self) -> bool {
        self.record.ipam.as_ref().is_some_and(ipam::needs_interface)
    }

    /// Takes one step.
    ///
    /// # Errors
    /// Why it failed. Part of it may have been done.
    pub fn run_step(&mut self, step: Step) -> Result<(), Error> {
        self.is_port_requested |= step == Step::Port;
        match step {
            Step::Record => {
                self.locked.write(&self.record)?;
                self.check_address_conflicts()
            }
            Step::Addresses => {
                self.assign_addresses()?;
                if self.is_ipam_after_port() { Ok(self.configure_addresses()?) } else { Ok(()) }
            }
            Step::Directory => self.mount_directory(),
            Step::Interface => Ok(self.create_interface()?),
            Step::Port => Ok(self.create_port()?),
            Step::Description => self.write_description(),
            Step::Confirmation => {
                self.record.progress = Progress::Attached;
                Ok(self.locked.write(&self.record)?)
            }
        }
    }

    /// Undoes what was done. What cannot be undone now keeps its record, and the next DEL, ADD or the agent finishes it.
    fn roll_back(self, cause: Error) -> Error {
        let detachment = Detachment::new(self.node, self.environment, self.locked, self.record);
        let detachment = if self.is_port_requested { detachment } else { detachment.without_port() };
        match detachment.run() {
            Ok(Outcome::Gone) => cause,
            Ok(Outcome::PortRemovalDeferred(left)) => {
                Error::RollbackFailed { cause: Box::new(cause), left: Box::new(left.into()) }
            }
            Err(left) => Error::RollbackFailed { cause: Box::new(cause), left: Box::new(left) },
        }
    }

    /// With its own record written, so that of two calls at once each sees the other.
    fn check_address_conflicts(&self) -> Result<(), Error> {
        let reserved = &self.params.reserved;
        if reserved.mac.is_none() && reserved.ips.is_empty() {
            return Ok(());
        }
        let mut others = self.node.journal.records()?.records;
        // A sandbox without its namespace is over, although nobody called DEL, as after a reboot.
        others.retain(|other| other.network_namespace.try_exists().unwrap_or(true));
        match static_ips::find_conflict(&self.record, reserved, &others) {
            Some(conflict) => Err(Box::new(conflict).into()),
            None => Ok(()),
        }
    }

    fn assign_addresses(&mut self) -> Result<(), IpamError> {
        let ips = &self.params.static_ips;
        self.assignment = match &self.record.ipam {
            None => static_ips::assignment(ips),
            Some(configuration) if ips.is_empty() && !static_ips::merges_all_sources(configuration) => {
                Ipam::find(configuration, self.environment)?.holding_lock(self.locked).assign()?
            }
            Some(configuration) => {
                // What the pod asks for there is not to be heard, or is in the configuration as well.
                let environment = self.environment.without_requested_address();
                let plugin = Ipam::find(configuration, &environment)?.holding_lock(self.locked);
                if ips.is_empty() { plugin.assign()? } else { plugin.assign_static(ips)? }
            }
        };
        self.assignment.set_default_routes(&self.params.default_route);
        let addresses = self.assignment.ips.iter().map(|assigned| assigned.address);
        self.record.addresses =
            addresses.map(|address| Address { ip: address.addr(), prefix: address.prefix_len() }).collect();
        Ok(())
    }

    fn mount_directory(&self) -> Result<(), Error> {
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        self.params.shared_dir.as_ref().map_or(Ok(()), SharedDir::create)?;
        self.directory.mount()?;
        // An earlier sandbox of the pod left its own, or the pod put something there that an engine which listens would stumble over.
        Ok(socket_of(&self.record).map_or(Ok(()), |socket| self.directory.remove(&socket))?)
    }

    fn create_interface(&self) -> Result<(), InterfaceError> {
        match self.record.port.connection.device() {
            Some(device) => {
                let AttachParams { mac, default_route, .. } = &self.params;
                let default_route = if self.is_ipam_after_port() { &[] } else { default_route.as_slice() };
                interface::create(&self.record, device, *mac, &self.assignment, default_route)
            }
            None => Ok(()),
        }
    }

    /// Gives the interface what was assigned after it was made.
    fn configure_addresses(&self) -> Result<(), InterfaceError> {
        interface::assign(&self.record, &self.assignment, &self.params.default_route)
    }

    fn create_port(&mut self) -> Result<(), EngineClientError> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => EngineClient::connect(&self.record)?,
        };
        engine.create_port(&self.record)
    }

    fn write_description(&mut self) -> Result<(), Error> {
        let Some(description) = Description::new(&self.record, self.params.mac, &self.assignment) else {
            return Ok(());
        };
        if let Some(file) = &self.params.device_info {
            let folder = match (device_of(&self.node.roots, &self.record), &self.params.legacy_handoff) {
                (Some(device), _) => format!("{CONTAINER_FOLDER}/{device}"),
                (None, Some(_)) => USUAL_MAPPED_DIR.to_owned(),
                (None, None) => device_info::MOUNT_PATH.to_owned(),
            };
            let socket = PodSocket { folder: &folder, socket: &description.socket.to_string() };
            file.write(&description.kind, description.role, socket)?;
        }
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        if description.engine_creates_socket() {
            socket_of(&self.record).map_or(Ok(()), |socket| self.directory.share_socket(&socket))?;
        }
        if let Some(element) = self
            .params
            .legacy_handoff
            .as_ref()
            .and_then(|handoff| handoff.interface_status(&self.record, &self.assignment))
        {
            self.directory.write(&configuration_data::file_name(&self.record.id), &element.to_file())?;
            self.record.configuration_data = Some(element);
        }
        Ok(self.directory.write(&Description::file_name(&description.interface), &description.to_json())?)
    }
}
