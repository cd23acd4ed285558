//! An attachment's beginning. Everything is known and checked when it starts; each step can be repeated, and [`Detachment`] undoes all of
//! them, wherever they stopped.

use crate::cni::environment::Environment;
use crate::cni::result::Assignment;
use crate::description::Description;
use crate::detach::{Detachment, Outcome};
use crate::device_info::DeviceInfoFile;
use crate::engine::{Switch, SwitchError};
use crate::error::Error;
use crate::fixed::{self, Claims};
use crate::interface::{self, InterfaceError};
use crate::ipam::{Ipam, IpamError};
use crate::node::Node;
use crate::pod_directory::{PodDirectory, PodDirectoryError};
use crate::port::needs_volume;
use usnet_crds::{InterfaceAddress, MacAddress};
use usnet_dataplane::attachment::{Address, Progress, Record};
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
}

/// What the interface is known by beyond its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its MAC address.
    pub mac: MacAddress,
    /// The addresses that are not IPAM's to choose; none means that it chooses.
    pub fixed_ips: Vec<InterfaceAddress>,
    /// What no other interface of the network may have.
    pub claims: Claims,
    /// Where else it is described, if the runtime asks for that.
    pub device_info: Option<DeviceInfoFile>,
}

/// An attachment that is being made.
#[derive(Debug)]
pub struct Attachment<'a> {
    node: &'a Node,
    environment: &'a Environment,
    locked: &'a Locked,
    /// Until the port was asked for.
    switch: Option<Switch>,
    directory: PodDirectory,
    record: Record,
    identity: Identity,
    assignment: Assignment,
    reached: Option<Step>,
}

impl<'a> Attachment<'a> {
    /// The beginning of the attachment that `record` describes. Nothing is done yet.
    pub fn new(
        node: &'a Node,
        environment: &'a Environment,
        locked: &'a Locked,
        switch: Switch,
        record: Record,
        identity: Identity,
    ) -> Self {
        let directory = PodDirectory::new(&node.roots, &record.pod.uid);
        let assignment = Assignment::default();
        Self { node, environment, locked, switch: Some(switch), directory, record, identity, assignment, reached: None }
    }

    /// Takes every step. What was done is undone when one fails.
    ///
    /// # Errors
    /// Why the step failed.
    pub fn run(mut self) -> Result<(Record, Assignment), Error> {
        for step in Step::ALL {
            if let Err(error) = self.take(step) {
                return Err(self.undo(error));
            }
        }
        Ok((self.record, self.assignment))
    }

    /// Takes one step.
    ///
    /// # Errors
    /// Why it failed. Part of it may have been done.
    pub fn take(&mut self, step: Step) -> Result<(), Error> {
        self.reached = Some(step);
        match step {
            Step::Record => {
                self.locked.write(&self.record)?;
                self.refuse_what_is_taken()
            }
            Step::Addresses => Ok(self.assign_addresses()?),
            Step::Directory => Ok(self.mount_directory()?),
            Step::Interface => Ok(self.create_interface()?),
            Step::Port => Ok(self.create_port()?),
            Step::Description => self.describe(),
            Step::Confirmation => {
                self.record.progress = Progress::Attached;
                Ok(self.locked.write(&self.record)?)
            }
        }
    }

    /// Undoes what was done. What cannot be undone now keeps its record, and the next DEL, ADD or the agent finishes it.
    fn undo(self, cause: Error) -> Error {
        let detachment = Detachment::new(self.node, self.environment, self.locked, self.record);
        let detachment = if self.reached < Some(Step::Port) { detachment.without_port() } else { detachment };
        match detachment.run() {
            Ok(Outcome::Gone) => cause,
            Ok(Outcome::PortLeft(left)) => Error::NotUndone { cause: Box::new(cause), left: Box::new(left.into()) },
            Err(left) => Error::NotUndone { cause: Box::new(cause), left: Box::new(left) },
        }
    }

    /// With its own record written, so that of two calls at once each sees the other.
    fn refuse_what_is_taken(&self) -> Result<(), Error> {
        let claims = &self.identity.claims;
        if claims.mac.is_none() && claims.ips.is_empty() {
            return Ok(());
        }
        let mut others = self.node.journal.records()?.records;
        // A sandbox without its namespace is over, although nobody called DEL, as after a reboot.
        others.retain(|other| other.network_namespace.try_exists().unwrap_or(true));
        match fixed::taken(&self.record, claims, &others) {
            Some(taken) => Err(Box::new(taken).into()),
            None => Ok(()),
        }
    }

    fn assign_addresses(&mut self) -> Result<(), IpamError> {
        let ips = &self.identity.fixed_ips;
        self.assignment = match &self.record.ipam {
            None => fixed::assignment(ips),
            Some(configuration) if ips.is_empty() => Ipam::find(configuration, self.environment)?.assign()?,
            Some(configuration) => {
                // The pod may have asked for another one there, and would get both.
                let environment = self.environment.without_requested_address();
                Ipam::find(configuration, &environment)?.assign_fixed(ips)?
            }
        };
        let addresses = self.assignment.ips.iter().map(|assigned| assigned.address);
        self.record.addresses =
            addresses.map(|address| Address { ip: address.addr(), prefix: address.prefix_len() }).collect();
        Ok(())
    }

    fn mount_directory(&self) -> Result<(), PodDirectoryError> {
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        self.directory.mount()?;
        // An earlier sandbox of the pod left its own, or the pod put something there that an engine which listens would stumble over.
        self.directory.remove(&Description::socket_name(&self.record.id.interface))
    }

    fn create_interface(&self) -> Result<(), InterfaceError> {
        match self.record.port.connection.device() {
            Some(device) => interface::create(&self.record, device, self.identity.mac, &self.assignment),
            None => Ok(()),
        }
    }

    fn create_port(&mut self) -> Result<(), SwitchError> {
        let switch = match self.switch.take() {
            Some(switch) => switch,
            None => Switch::connect(&self.record)?,
        };
        switch.create_port(&self.record)
    }

    fn describe(&self) -> Result<(), Error> {
        let Some(description) = Description::new(&self.record, self.identity.mac, &self.assignment) else {
            return Ok(());
        };
        if let Some(file) = &self.identity.device_info {
            file.write(&description.kind, description.role, &description.socket.to_string())?;
        }
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        if description.socket_is_engines() {
            self.directory.share_socket(&Description::socket_name(&description.interface))?;
        }
        Ok(self.directory.write(&Description::file_name(&description.interface), &description.to_json())?)
    }
}
