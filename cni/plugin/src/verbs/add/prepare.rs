//! What can be checked and determined before ADD changes anything. IO: reads files of the node, and
//! connects to the engine.

use super::request::AddRequest;
use crate::attachment::admission;
use crate::attachment::attach::{AttachParams, Attachment};
use crate::attachment::engine::EngineClient;
use crate::attachment::interface;
use crate::attachment::ipam::{self, Ipam, IpamError};
use crate::attachment::node::Node;
use crate::attachment::pod_directory::{PodDirectory, PodDirectoryError};
use crate::attachment::pod_files::device_info::DeviceInfoFile;
use crate::attachment::pod_files::names::socket_name;
use crate::attachment::port::{SocketLocation, needs_volume, port};
use crate::attachment::request::device_allocation::{self, DeviceAllocationError};
use crate::attachment::request::gateway;
use crate::attachment::request::pod_request::{self, PodRequestError};
use crate::attachment::request::static_ips::{self, ReservedAddresses};
use crate::error::Error;
use crate::legacy::handoff::LegacyHandoff;
use crate::legacy::shared_dir::SharedDir;
use crate::protocol::configuration::Target;
use serde_json::Value;
use std::path::Path;
use usnet_crds::legacy::shared_dir;
use usnet_crds::{FixedAttachment, InterfaceAddress, MacAddress, NodeNetwork};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::journal::LockedAttachment;
use usnet_dataplane::network_file::ProgrammedNetwork;
use usnet_dataplane::network_namespace;
use usnet_dataplane::shared_dirs::SharedDirs;

/// A validated ADD, connected to its engine.
#[derive(Debug)]
pub struct Prepared {
    pub(super) record: Record,
    pub(super) engine: EngineClient,
    pub(super) params: AttachParams,
}

impl Prepared {
    /// The attachment, before its first step.
    pub fn attachment<'a>(
        self,
        request: &AddRequest<'a>,
        node: &'a Node,
        locked: &'a LockedAttachment,
    ) -> Attachment<'a> {
        let Self { record, engine, params } = self;
        Attachment::new(node, request.environment, locked, engine, record, params)
    }
}

impl AddRequest<'_> {
    /// Checks everything that can be checked without a change, and connects to the engine.
    ///
    /// # Errors
    /// Why the interface cannot be attached.
    pub fn prepare(&self, node: &Node) -> Result<Prepared, Error> {
        let network = admission::admit(node, &self.target, &self.pod, admission::TIMEOUT)?;
        let directory = self.directory(node, &network.network)?;
        let shared_dir = self.shared_dir(node, &directory)?;
        let directory = match &shared_dir {
            Some(shared) => PodDirectory::from_folder(&node.roots, &self.pod.uid, &self.id, shared.folder()),
            None => directory,
        };
        let record = self.record(node, &network, &directory)?;
        if needs_volume(&record.port) && shared_dir.is_none() {
            self.check_directory(&directory, &network.network)?;
        }
        if record.port.backend.device().is_some() {
            interface::check_namespace(&record.network_namespace)?;
        }
        if let Some(ipam) = &record.ipam {
            let plugin = Ipam::find(ipam, self.environment)?;
            if ipam::needs_interface(ipam) && record.port.backend.device().is_none() {
                return Err(IpamError::NeedsInterface(plugin.name().to_owned()).into());
            }
        }
        let engine = EngineClient::connect(&record)?;
        let static_ips = self.ips(&network.network)?;
        let reserved = self.reserved_addresses(&network.network, &static_ips);
        let device_info = DeviceInfoFile::read(self.configuration, &node.roots.device_info)?;
        let default_route = self.pod_request.default_route.clone();
        let legacy_handoff = LegacyHandoff::from_target(self.configuration, &self.target);
        let mac = self.mac(&network.network);
        let gateway = network.network.gateway.clone();
        let params =
            AttachParams { mac, static_ips, reserved, gateway, default_route, device_info, legacy_handoff, shared_dir };
        Ok(Prepared { record, engine, params })
    }

    /// The directory of the pod's socket: the folder of a resource claim, that of a device that
    /// kubelet allocated to the pod, or else the pod's volume.
    fn directory(&self, node: &Node, network: &NodeNetwork) -> Result<PodDirectory, Error> {
        let (roots, uid) = (&node.roots, &self.pod.uid);
        if let Some(claim) = self.id.container.claim() {
            return Ok(PodDirectory::from_claim(roots, uid, &self.id, &claim));
        }
        let volume = match &network.port.volume {
            Some(name) => PodDirectory::from_named_volume(roots, uid, &self.id, name),
            None => PodDirectory::from_volume(roots, uid),
        };
        let has_device_plugin = network.device_plugin.is_some();
        // A pod that got a device while the network was an extended resource has no volume, and may
        // still get a new sandbox.
        if network.needs_folder() && (has_device_plugin || volume.check(&self.pod).is_err()) {
            let allocated = device_allocation::allocated(roots, uid, &network.name)?;
            let used = node.used_devices(uid, &self.id)?;
            let requested =
                if has_device_plugin { device_allocation::requested_device(self.configuration)? } else { None };
            if let Some(device) = device_allocation::choose(allocated, &used, requested, &self.pod, &network.name)? {
                return Ok(PodDirectory::from_device(roots, uid, &self.id, &device));
            }
        }
        Ok(volume)
    }

    fn check_directory(&self, directory: &PodDirectory, network: &NodeNetwork) -> Result<(), Error> {
        match directory.check(&self.pod) {
            Err(PodDirectoryError::NoVolume { pod, volume, .. }) if network.device_plugin.is_some() => {
                Err(DeviceAllocationError::NoDeviceOrVolume { pod, network: network.name.clone(), volume }.into())
            }
            checked => Ok(checked?),
        }
    }

    /// The `sharedDir` of a legacy configuration, for a pod without a volume.
    fn shared_dir(&self, node: &Node, directory: &PodDirectory) -> Result<Option<SharedDir>, Error> {
        let Target::Bridge(_) = &self.target else { return Ok(None) };
        let Some(text) = shared_dir(self.configuration.keys()) else { return Ok(None) };
        if !matches!(directory.check(&self.pod), Err(PodDirectoryError::NoVolume { .. })) {
            return Ok(None);
        }
        let allowed = SharedDirs::read(&node.roots).map_err(Error::SharedDirs)?;
        Ok(Some(SharedDir::allowed(text, &allowed.roots, &self.id)?))
    }

    /// The pod's entry in `spec.attachments` of the network, which overrides the pod's requests.
    fn static_attachment<'n>(&self, network: &'n NodeNetwork) -> Option<&'n FixedAttachment> {
        network.fixed(&self.pod.namespace, &self.pod.name)
    }

    /// The addresses that are not chosen by IPAM: those of `spec.attachments` or, on a network
    /// without IPAM, those that the pod requests.
    fn ips(&self, network: &NodeNetwork) -> Result<Vec<InterfaceAddress>, Error> {
        let ips = self.static_attachment(network).map(|attachment| attachment.ips.clone()).unwrap_or_default();
        if !ips.is_empty() || network.ipam.is_some() || self.own_ipam.is_some() {
            return Ok(ips);
        }
        let whole = |text: &String| text.parse().map_err(|_| PodRequestError::NoPrefix { text: text.clone() });
        Ok(self.pod_request.ips.iter().map(whole).collect::<Result<_, _>>()?)
    }

    /// The addresses that must be unique on the network.
    fn reserved_addresses(&self, network: &NodeNetwork, ips: &[InterfaceAddress]) -> ReservedAddresses {
        let static_attachment = self.static_attachment(network);
        let requested = self.pod_request.ips.iter().filter_map(|text| pod_request::address(text));
        ReservedAddresses {
            ips: if ips.is_empty() { requested.collect() } else { ips.iter().map(|ip| ip.ip()).collect() },
            are_ips_static: static_attachment.is_some_and(|static_attachment| !static_attachment.ips.is_empty()),
            mac: static_attachment.and_then(|attachment| attachment.mac).or(self.pod_request.mac),
            is_mac_static: static_attachment.is_some_and(|attachment| attachment.mac.is_some()),
        }
    }

    fn mac(&self, network: &NodeNetwork) -> MacAddress {
        self.static_attachment(network).and_then(|attachment| attachment.mac).unwrap_or(self.mac)
    }

    fn record(&self, node: &Node, programmed: &ProgrammedNetwork, directory: &PodDirectory) -> Result<Record, Error> {
        let ProgrammedNetwork { network, engine_socket, memif_socket_ids, .. } = programmed;
        let pod_directory = directory.path();
        let socket_name = &socket_name(&self.target, network.port.port_type, &self.id);
        let location =
            SocketLocation { directory: &pod_directory, socket_name, network_namespace: &self.network_namespace };
        let port = port(network, &self.id, &self.pod, self.pod_request.rate_limit, location)?;
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
            // A resource claim is prepared before its pod has one.
            network_namespace_inode: match self.id.container.claim() {
                Some(_) => None,
                None => network_namespace::inode(&self.network_namespace),
            },
            pod_directory,
            directory_source: directory.source_folder().map(Path::to_owned),
            mac: self.mac(network).to_string(),
            requested_rate_limit: self.pod_request.rate_limit,
            configuration_name: Some(self.configuration.name()?.to_owned()),
            invoked_ifname: self.invoked_ifname.clone(),
            // Recorded before IPAM runs, so that no concurrent call uses the same static addresses.
            addresses: static_ips::addresses(&self.ips(network)?),
            ipam: self.ipam(node, network)?,
            configuration_data: None,
            assignment: None,
            interface_index: None,
        })
    }

    /// The configuration for the IPAM plugin, with the pod's static addresses as requests.
    fn ipam(&self, node: &Node, network: &NodeNetwork) -> Result<Option<Value>, Error> {
        let named = (&network.name, Some(network));
        let requested = ipam::configuration_for(node, self.configuration, &self.target, named)?;
        let Some(requested) = requested else { return Ok(None) };
        let requested = gateway::set_in_ranges(requested, network.gateway.as_ref());
        let ips = self.static_attachment(network).map(|attachment| attachment.ips.as_slice()).unwrap_or_default();
        Ok(Some(match ips {
            [] => static_ips::request_ips(requested, &self.pod_request.ips),
            ips => static_ips::request_static_ips(requested, ips),
        }))
    }
}
