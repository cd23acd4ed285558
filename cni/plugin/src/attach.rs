//! An attachment's beginning. Everything is known and checked when it starts; each step can be repeated, and [`Detachment`] undoes all of
//! them, wherever they stopped.

use crate::cni::environment::Environment;
use crate::cni::result::Assignment;
use crate::description::Description;
use crate::detach::{Detachment, Outcome};
use crate::device_info::{self, DeviceInfoFile, Place};
use crate::engine::{Switch, SwitchError};
use crate::error::Error;
use crate::fixed::{self, Claims};
use crate::hand_over::{HandOver, socket_of};
use crate::interface::{self, InterfaceError};
use crate::ipam::{self, Ipam, IpamError};
use crate::node::{Node, device_of};
use crate::pod_directory::PodDirectory;
use crate::port::needs_volume;
use crate::shared_dir::SharedDir;
use std::net::IpAddr;
use usnet_crds::device::CONTAINER_FOLDER;
use usnet_crds::{InterfaceAddress, MacAddress};
use usnet_dataplane::attachment::{Address, Progress, Record};
use usnet_dataplane::journal::Locked;
use usnet_dataplane::legacy_annotation::{self, USUAL_MAPPED_DIR};

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
    pub const ADDRESSES_LATER: [Self; 7] = [
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
pub struct Identity {
    /// Its MAC address.
    pub mac: MacAddress,
    /// The addresses that are not IPAM's to choose; none means that it chooses.
    pub fixed_ips: Vec<InterfaceAddress>,
    /// What no other interface of the network may have.
    pub claims: Claims,
    /// The routers of the pod's default routes, if they are to be here.
    pub default_route: Vec<IpAddr>,
    /// Where else it is described, if the runtime asks for that.
    pub device_info: Option<DeviceInfoFile>,
    /// How it is handed over to programs for the older userspace CNI, if it is.
    pub hand_over: Option<HandOver>,
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
    switch: Option<Switch>,
    directory: PodDirectory,
    record: Record,
    identity: Identity,
    assignment: Assignment,
    is_port_asked_for: bool,
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
        let directory = PodDirectory::of_record(&node.roots, &record);
        let assignment = Assignment::default();
        Self {
            node,
            environment,
            locked,
            switch: Some(switch),
            directory,
            record,
            identity,
            assignment,
            is_port_asked_for: false,
        }
    }

    /// Takes every step. What was done is undone when one fails.
    ///
    /// # Errors
    /// Why the step failed.
    pub fn run(mut self) -> Result<(Record, Assignment), Error> {
        for step in self.order() {
            if let Err(error) = self.take(step) {
                return Err(self.undo(error));
            }
        }
        Ok((self.record, self.assignment))
    }

    fn order(&self) -> [Step; 7] {
        if self.addresses_come_later() { Step::ADDRESSES_LATER } else { Step::ALL }
    }

    fn addresses_come_later(&self) -> bool {
        self.record.ipam.as_ref().is_some_and(ipam::needs_interface)
    }

    /// Takes one step.
    ///
    /// # Errors
    /// Why it failed. Part of it may have been done.
    pub fn take(&mut self, step: Step) -> Result<(), Error> {
        self.is_port_asked_for |= step == Step::Port;
        match step {
            Step::Record => {
                self.locked.write(&self.record)?;
                self.refuse_what_is_taken()
            }
            Step::Addresses => {
                self.assign_addresses()?;
                if self.addresses_come_later() { Ok(self.complete_interface()?) } else { Ok(()) }
            }
            Step::Directory => self.mount_directory(),
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
        let detachment = if self.is_port_asked_for { detachment } else { detachment.without_port() };
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
            Some(configuration) if ips.is_empty() && !fixed::hears_all_ways(configuration) => {
                Ipam::find(configuration, self.environment)?.holding(self.locked).assign()?
            }
            Some(configuration) => {
                // What the pod asks for there is not to be heard, or is in the configuration as well.
                let environment = self.environment.without_requested_address();
                let plugin = Ipam::find(configuration, &environment)?.holding(self.locked);
                if ips.is_empty() { plugin.assign()? } else { plugin.assign_fixed(ips)? }
            }
        };
        self.assignment.set_default_routes(&self.identity.default_route);
        let addresses = self.assignment.ips.iter().map(|assigned| assigned.address);
        self.record.addresses =
            addresses.map(|address| Address { ip: address.addr(), prefix: address.prefix_len() }).collect();
        Ok(())
    }

    fn mount_directory(&self) -> Result<(), Error> {
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        self.identity.shared_dir.as_ref().map_or(Ok(()), SharedDir::make)?;
        self.directory.mount()?;
        // An earlier sandbox of the pod left its own, or the pod put something there that an engine which listens would stumble over.
        Ok(socket_of(&self.record).map_or(Ok(()), |socket| self.directory.remove(&socket))?)
    }

    fn create_interface(&self) -> Result<(), InterfaceError> {
        match self.record.port.backend.device() {
            Some(device) => {
                let Identity { mac, default_route, .. } = &self.identity;
                let default_route = if self.addresses_come_later() { &[] } else { default_route.as_slice() };
                interface::create(&self.record, device, *mac, &self.assignment, default_route)
            }
            None => Ok(()),
        }
    }

    /// Gives the interface what was assigned after it was made.
    fn complete_interface(&self) -> Result<(), InterfaceError> {
        interface::assign(&self.record, &self.assignment, &self.identity.default_route)
    }

    fn create_port(&mut self) -> Result<(), SwitchError> {
        let switch = match self.switch.take() {
            Some(switch) => switch,
            None => Switch::connect(&self.record)?,
        };
        switch.create_port(&self.record)
    }

    fn describe(&mut self) -> Result<(), Error> {
        let Some(description) = Description::new(&self.record, self.identity.mac, &self.assignment) else {
            return Ok(());
        };
        if let Some(file) = &self.identity.device_info {
            let folder = match (device_of(&self.node.roots, &self.record), &self.identity.hand_over) {
                (Some(device), _) => format!("{CONTAINER_FOLDER}/{device}"),
                (None, Some(_)) => USUAL_MAPPED_DIR.to_owned(),
                (None, None) => device_info::MOUNT_PATH.to_owned(),
            };
            let place = Place { folder: &folder, socket: &description.socket.to_string() };
            file.write(&description.kind, description.role, place)?;
        }
        if !needs_volume(&self.record.port) {
            return Ok(());
        }
        if description.socket_is_engines() {
            socket_of(&self.record).map_or(Ok(()), |socket| self.directory.share_socket(&socket))?;
        }
        if let Some(element) =
            self.identity.hand_over.as_ref().and_then(|way| way.element(&self.record, &self.assignment))
        {
            self.directory.write(&legacy_annotation::file_name(&self.record.id), &element.to_file())?;
            self.record.configuration_data = Some(element);
        }
        Ok(self.directory.write(&Description::file_name(&description.interface), &description.to_json())?)
    }
}
