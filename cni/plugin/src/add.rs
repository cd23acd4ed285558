//! ADD: one interface of a pod is attached to a network.

use crate::admission;
use crate::attach::{Attachment, Identity};
use crate::cni::configuration::{Configuration, Target};
use crate::cni::environment::{Environment, EnvironmentError};
use crate::cni::result::{Interface, result};
use crate::cni::version::SpecVersion;
use crate::detach::{Detachment, Outcome};
use crate::device_info::DeviceInfoFile;
use crate::engine::Switch;
use crate::error::Error;
use crate::fixed::{self, Claims};
use crate::interface;
use crate::ipam::Ipam;
use crate::mac::mac_of;
use crate::node::Node;
use crate::pod_directory::PodDirectory;
use crate::port::{Places, needs_volume, port};
use crate::wishes::{self, WishError, Wishes};
use serde_json::Value;
use std::path::PathBuf;
use usnet_crds::{FixedAttachment, InterfaceAddress, MacAddress, NodeNetwork};
use usnet_dataplane::attachment::{AttachmentId, Pod, Progress, Record};
use usnet_dataplane::journal::Locked;
use usnet_dataplane::network_file::ProgrammedNetwork;

/// What ADD is asked for. Everything that can be wrong with it is known before anything is touched.
#[derive(Debug)]
pub struct Request<'a> {
    environment: &'a Environment,
    configuration: &'a Configuration,
    version: SpecVersion,
    target: Target,
    own_ipam: Option<Value>,
    previous: Option<&'a Value>,
    id: AttachmentId,
    network_namespace: PathBuf,
    pod: Pod,
    mac: MacAddress,
    wishes: Wishes,
}

impl<'a> Request<'a> {
    /// Reads what a runtime gave.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(environment: &'a Environment, configuration: &'a Configuration) -> Result<Self, Error> {
        environment.require_for_add()?;
        let id = environment.attachment()?;
        let arguments = environment.arguments()?;
        configuration.name()?;
        let target = configuration.target()?;
        let wishes = Wishes::read(configuration, &arguments)?;
        let mac = match (wishes.mac, &target) {
            (Some(asked), _) => asked,
            (None, Target::Bridge(legacy)) => legacy.mac.unwrap_or_else(|| mac_of(&id)),
            (None, Target::Network(_)) => mac_of(&id),
        };
        Ok(Self {
            environment,
            configuration,
            version: configuration.version()?,
            target,
            own_ipam: configuration.ipam()?,
            previous: configuration.previous_result()?,
            id,
            network_namespace: environment.network_namespace(),
            pod: arguments.pod().map_err(EnvironmentError::Arguments)?,
            mac,
            wishes,
        })
    }

    /// Attaches the interface.
    ///
    /// # Errors
    /// Why not. Nothing is left then, or a record from which it is cleaned up.
    pub fn run(&self, node: &Node) -> Result<Value, Error> {
        let prepared = self.prepare(node)?;
        self.detach_older(node)?;
        let locked = node.journal.lock(&self.id)?;
        self.clear_unfinished(node, &locked)?;
        let (record, assignment) = prepared.attachment(self, node, &locked).run()?;
        let interface = Interface {
            name: self.id.interface.as_str(),
            mac: &record.mac,
            mtu: record.port.settings.mtu.get(),
            sandbox: &self.network_namespace,
            socket: record.port.connection.socket_file(),
        };
        Ok(result(self.version, interface, &assignment, self.previous))
    }

    /// Checks everything that can be checked without a change, and connects to the engine.
    ///
    /// # Errors
    /// Why the interface cannot be attached.
    pub fn prepare(&self, node: &Node) -> Result<Prepared, Error> {
        let network = admission::admit(&node.networks, &self.target, &self.pod, admission::PATIENCE)?;
        let directory = PodDirectory::new(&node.roots, &self.pod.uid);
        let record = self.record(&network, &directory)?;
        if needs_volume(&record.port) {
            directory.check(&self.pod)?;
        }
        if record.port.connection.device().is_some() {
            interface::check_namespace(&record.network_namespace)?;
        }
        if let Some(ipam) = &record.ipam {
            Ipam::find(ipam, self.environment)?;
        }
        let switch = Switch::connect(&record)?;
        let fixed_ips = self.ips(&network.network)?;
        let claims = self.claims(&network.network, &fixed_ips);
        let device_info = DeviceInfoFile::read(self.configuration, &node.roots.device_info)?;
        let identity = Identity { mac: self.mac(&network.network), fixed_ips, claims, device_info };
        Ok(Prepared { record, switch, identity })
    }

    /// What the network fixes for the pod, whatever the pod asks for.
    fn fixed<'n>(&self, network: &'n NodeNetwork) -> Option<&'n FixedAttachment> {
        network.fixed(&self.pod.namespace, &self.pod.name)
    }

    /// The addresses that are not IPAM's to choose: what the network fixes, or, where it has no IPAM, what the pod asks for.
    fn ips(&self, network: &NodeNetwork) -> Result<Vec<InterfaceAddress>, Error> {
        let fixed = self.fixed(network).map(|fixed| fixed.ips.clone()).unwrap_or_default();
        if !fixed.is_empty() || network.ipam.is_some() || self.own_ipam.is_some() {
            return Ok(fixed);
        }
        let whole = |text: &String| text.parse().map_err(|_| WishError::NoPrefix { text: text.clone() });
        Ok(self.wishes.ips.iter().map(whole).collect::<Result<_, _>>()?)
    }

    /// What no other interface of the network may have.
    fn claims(&self, network: &NodeNetwork, ips: &[InterfaceAddress]) -> Claims {
        let fixed = self.fixed(network);
        let asked = self.wishes.ips.iter().filter_map(|text| wishes::address(text));
        Claims {
            ips: if ips.is_empty() { asked.collect() } else { ips.iter().map(|ip| ip.ip()).collect() },
            are_ips_fixed: fixed.is_some_and(|fixed| !fixed.ips.is_empty()),
            mac: fixed.and_then(|fixed| fixed.mac).or(self.wishes.mac),
            is_mac_fixed: fixed.is_some_and(|fixed| fixed.mac.is_some()),
        }
    }

    fn mac(&self, network: &NodeNetwork) -> MacAddress {
        self.fixed(network).and_then(|fixed| fixed.mac).unwrap_or(self.mac)
    }

    fn record(&self, programmed: &ProgrammedNetwork, directory: &PodDirectory) -> Result<Record, Error> {
        let ProgrammedNetwork { network, engine_socket, memif_socket_ids, .. } = programmed;
        let pod_directory = directory.path();
        let places = Places { directory: &pod_directory, network_namespace: &self.network_namespace };
        let port = port(network, &self.id, &self.pod, self.wishes.rate_limit, places)?;
        Ok(Record {
            version: Record::VERSION,
            id: self.id.clone(),
            progress: Progress::Attaching,
            network: network.name.clone(),
            engine: network.engine,
            engine_socket: engine_socket.clone(),
            memif_socket_ids: *memif_socket_ids,
            port,
            pod: self.pod.clone(),
            network_namespace: self.network_namespace.clone(),
            pod_directory,
            mac: self.mac(network).to_string(),
            asked_rate_limit: self.wishes.rate_limit,
            configuration_name: Some(self.configuration.name()?.to_owned()),
            // Those that are not IPAM's to choose are known by now, so that no other call takes them meanwhile.
            addresses: fixed::addresses(&self.ips(network)?),
            ipam: self.ipam(programmed)?,
        })
    }

    /// The network's IPAM, or the configuration's own where the network has none, asked for the addresses that are fixed for the pod.
    ///
    /// IPAM plugins keep the addresses of each configuration name apart. Definitions of any name can join a network that has its own IPAM,
    /// and must not be given one address twice: there the network's name is used.
    fn ipam(&self, programmed: &ProgrammedNetwork) -> Result<Option<Value>, Error> {
        let network = &programmed.network;
        let configuration = self.configuration;
        let asked = match (&network.ipam, &self.own_ipam) {
            (Some(ipam), _) => configuration.for_ipam(network.name.as_str(), ipam),
            (None, Some(ipam)) => configuration.for_ipam(configuration.name()?, ipam),
            (None, None) => return Ok(None),
        };
        let ips = self.fixed(network).map(|fixed| fixed.ips.as_slice()).unwrap_or_default();
        Ok(Some(fixed::ask_for(asked, ips)))
    }

    /// kubelet may start a new sandbox of a pod before the old one's DEL. Both would have one socket.
    fn detach_older(&self, node: &Node) -> Result<(), Error> {
        let others = node.other_attachments(&self.pod.uid, &self.id)?;
        for older in others.known.iter().filter(|other| other.id.interface == self.id.interface) {
            let locked = node.journal.lock(&older.id)?;
            let environment = self.environment.of_attachment(&older.id);
            if let Some(record) = locked.read()? {
                finish(Detachment::new(node, &environment, &locked, record))?;
            }
        }
        Ok(())
    }

    /// A call that was killed left the attachment half-made or half-gone: it is begun anew.
    fn clear_unfinished(&self, node: &Node, locked: &Locked) -> Result<(), Error> {
        match locked.read()? {
            None => Ok(()),
            Some(record) if record.progress == Progress::Attached => Err(Error::AlreadyAttached(self.id.clone())),
            Some(record) => finish(Detachment::new(node, self.environment, locked, record)),
        }
    }
}

fn finish(detachment: Detachment<'_>) -> Result<(), Error> {
    match detachment.run()? {
        Outcome::Gone => Ok(()),
        Outcome::PortLeft(error) => Err(error.into()),
    }
}

/// What ADD needs for the attachment itself.
#[derive(Debug)]
pub struct Prepared {
    record: Record,
    switch: Switch,
    identity: Identity,
}

impl Prepared {
    /// The attachment, with nothing done yet.
    pub fn attachment<'a>(self, request: &Request<'a>, node: &'a Node, locked: &'a Locked) -> Attachment<'a> {
        let Self { record, switch, identity } = self;
        Attachment::new(node, request.environment, locked, switch, record, identity)
    }
}
