//! Checks and determines everything that it can before ADD changes anything. IO: reads files of the
//! node, and connects to the engine.

use super::directory::SocketDirectory;
use super::request::AddRequest;
use crate::attachment::admission;
use crate::attachment::attach::PreparedAttachment;
use crate::attachment::engine::EngineClient;
use crate::attachment::interface;
use crate::attachment::ipam::{self, IpamError, IpamPlugin, NetworkIpam};
use crate::attachment::node::Node;
use crate::attachment::pod_directory::PodDirectory;
use crate::attachment::pod_files::device_info::DeviceInfoFile;
use crate::attachment::pod_files::names::socket_name;
use crate::attachment::port::{SocketLocation, needs_volume, port};
use crate::attachment::request::resolved::ResolvedRequest;
use crate::error::Error;
use crate::legacy::handoff::LegacyHandoff;
use serde_json::Value;
use std::path::Path;
use usnet_crds::NodeNetwork;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::network_file::ProgrammedNetwork;
use usnet_dataplane::network_namespace;
use usnet_dataplane::port::AttachedPort;

impl AddRequest<'_> {
    /// Checks everything that can be checked without a change, and connects to the engine.
    ///
    /// # Errors
    /// The interface cannot be attached; nothing was changed.
    pub fn prepare(&self, node: &Node) -> Result<PreparedAttachment, Error> {
        let programmed = admission::admit(node, &self.target, &self.pod, admission::TIMEOUT)?;
        let network = &*programmed.network;
        let chosen = self.socket_directory(node, network)?;
        let port = self.port(network, &chosen.directory)?;
        let request = self.resolve(network)?;
        let ipam = self.ipam(node, network, &request)?;
        let socket_only = self.is_socket_only(&chosen);
        let record = Record { socket_only, ..self.record(&programmed, &chosen.directory, port, &request, ipam)? };
        self.check_record(&record, &chosen, network)?;
        Ok(PreparedAttachment {
            engine: EngineClient::connect(&record)?,
            device_info: DeviceInfoFile::read(self.configuration, &node.paths.device_info)?,
            legacy_handoff: LegacyHandoff::from_target(self.configuration, &self.target),
            directory: PodDirectory::from_record(&node.paths, &record).opened_as(&chosen.directory),
            shared_dir: chosen.shared_dir,
            record,
            request,
        })
    }

    fn port(&self, network: &NodeNetwork, directory: &PodDirectory) -> Result<AttachedPort, Error> {
        let location = SocketLocation {
            directory: &directory.path(),
            socket_name: &socket_name(&self.target, network.port.port_type, &self.id),
            network_namespace: &self.network_namespace,
        };
        Ok(port(network, &self.id, &self.pod, self.pod_request.rate_limit, location)?)
    }

    fn resolve(&self, network: &NodeNetwork) -> Result<ResolvedRequest, Error> {
        let has_ipam = network.ipam.is_some() || self.has_own_ipam;
        Ok(ResolvedRequest::new(&self.pod_request, network, &self.pod, self.default_mac, has_ipam)?)
    }

    /// The configuration for the IPAM plugin, with the requested addresses.
    fn ipam(&self, node: &Node, network: &NodeNetwork, request: &ResolvedRequest) -> Result<Option<Value>, Error> {
        let network_ipam = NetworkIpam { network: &network.name, ipam: network.ipam.as_ref() };
        let configuration = ipam::configuration_for(node, self.configuration, &self.target, network_ipam)?;
        Ok(configuration.map(|configuration| request.add_to_ipam(configuration)))
    }

    /// The record before the first step.
    fn record(
        &self,
        programmed: &ProgrammedNetwork,
        directory: &PodDirectory,
        port: AttachedPort,
        request: &ResolvedRequest,
        ipam: Option<Value>,
    ) -> Result<Record, Error> {
        let ProgrammedNetwork { network, engine_socket, memif_socket_ids, .. } = programmed;
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
            // A resource claim is prepared before its pod has a network namespace.
            network_namespace_inode: match self.id.container.claim() {
                Some(_) => None,
                None => network_namespace::inode(&self.network_namespace),
            },
            pod_directory: directory.path(),
            directory_source: directory.source_folder().map(Path::to_owned),
            mac: request.mac.to_string(),
            requested_rate_limit: self.pod_request.rate_limit,
            configuration_name: Some(self.configuration.name()?.to_owned()),
            invoked_ifname: self.invoked_ifname.clone(),
            // Recorded before IPAM runs, so that no concurrent call uses the same static addresses.
            addresses: request.recorded_ips(),
            ipam,
            configuration_data: None,
            socket_only: false,
            taken_over: false,
            assignment: None,
            interface_index: None,
        })
    }

    /// Checks that the directory, the network namespace and the IPAM plugin exist that the steps
    /// need.
    fn check_record(&self, record: &Record, chosen: &SocketDirectory, network: &NodeNetwork) -> Result<(), Error> {
        let has_device = record.port.backend.is_of_kernel();
        if needs_volume(&record.port) {
            self.check_directory(chosen, network)?;
        }
        if has_device {
            interface::check_namespace(&record.network_namespace)?;
        }
        if let Some(ipam) = &record.ipam {
            let plugin = IpamPlugin::find(ipam, self.environment)?;
            if ipam::needs_interface(ipam) && !has_device {
                return Err(IpamError::NeedsInterface(plugin.name().to_owned()).into());
            }
        }
        Ok(())
    }
}
