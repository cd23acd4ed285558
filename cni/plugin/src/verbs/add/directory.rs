//! The directory of the pod's socket. IO: reads files of the node.

use super::request::AddRequest;
use crate::attachment::node::Node;
use crate::attachment::pod_directory::{PodDirectory, PodDirectoryError};
use crate::attachment::request::device_allocation::{self, DeviceAllocationError};
use crate::error::Error;
use crate::legacy::shared_dir::SharedDir;
use crate::protocol::configuration::Target;
use usnet_crds::NodeNetwork;
use usnet_crds::legacy::{has_kubeconfig, shared_dir};
use usnet_dataplane::shared_dirs::SharedDirs;

#[derive(Debug)]
pub(super) struct SocketDirectory {
    pub(super) directory: PodDirectory,
    /// The `sharedDir` that the directory is mounted from, if it is one.
    pub(super) shared_dir: Option<SharedDir>,
}

impl AddRequest<'_> {
    /// The folder of a resource claim, that of a device that kubelet allocated to the pod, the
    /// pod's volume, or else the `sharedDir` of a legacy configuration.
    pub(super) fn socket_directory(&self, node: &Node, network: &NodeNetwork) -> Result<SocketDirectory, Error> {
        let directory = self.directory(node, network)?;
        let shared_dir = self.shared_dir(node, &directory)?;
        let directory = match &shared_dir {
            Some(shared) => PodDirectory::from_folder(&node.paths, &self.pod.uid, &self.id, shared.folder()),
            None => directory,
        };
        Ok(SocketDirectory { directory, shared_dir })
    }

    fn directory(&self, node: &Node, network: &NodeNetwork) -> Result<PodDirectory, Error> {
        let (paths, uid) = (&node.paths, &self.pod.uid);
        if let Some(claim) = self.id.container.claim() {
            return Ok(PodDirectory::from_claim(paths, uid, &self.id, &claim));
        }
        let volume = match &network.port.volume {
            Some(name) => PodDirectory::from_named_volume(paths, uid, &self.id, name),
            None => PodDirectory::from_volume(paths, uid),
        };
        let has_device_plugin = network.device_plugin.is_some();
        // A pod that got a device while the network was an extended resource has no volume, and may
        // still get a new sandbox.
        if network.needs_folder() && (has_device_plugin || volume.check(&self.pod).is_err()) {
            let allocated = device_allocation::allocated(paths, uid, &network.name)?;
            let used = node.used_devices(uid, &self.id)?;
            let requested =
                if has_device_plugin { device_allocation::requested_device(self.configuration)? } else { None };
            if let Some(device) = device_allocation::choose(allocated, &used, requested, &self.pod, &network.name)? {
                return Ok(PodDirectory::from_device(paths, uid, &self.id, &device));
            }
        }
        Ok(volume)
    }

    /// The `sharedDir` of a legacy configuration, for a pod without a volume; without that key the
    /// folder in which pods of the legacy plugin usually have their sockets, if the agent allows
    /// it.
    fn shared_dir(&self, node: &Node, directory: &PodDirectory) -> Result<Option<SharedDir>, Error> {
        let Target::Bridge(_) = &self.target else { return Ok(None) };
        if !matches!(directory.check(&self.pod), Err(PodDirectoryError::NoVolume { .. })) {
            return Ok(None);
        }
        let allowed = || SharedDirs::read(&node.paths).map_err(Error::SharedDirs);
        match shared_dir(self.configuration.keys()) {
            Some(text) => Ok(Some(SharedDir::below_root(text, &allowed()?.roots, &self.id)?)),
            None => Ok(SharedDir::usual(&node.paths, &allowed()?.roots, &self.id)),
        }
    }

    /// Whether the pod gets the socket alone, as with the legacy plugin: programs that look for it
    /// take any other file in its place. They have the folder that plugin used, and the annotation.
    pub(super) fn is_socket_only(&self, chosen: &SocketDirectory) -> bool {
        matches!(self.target, Target::Bridge(_))
            && has_kubeconfig(self.configuration.keys())
            && (chosen.shared_dir.is_some() || chosen.directory.is_legacy_volume())
    }

    /// Checks that the source of the directory exists. A `sharedDir` is created later.
    pub(super) fn check_directory(&self, chosen: &SocketDirectory, network: &NodeNetwork) -> Result<(), Error> {
        if chosen.shared_dir.is_some() {
            return Ok(());
        }
        match chosen.directory.check(&self.pod) {
            Err(PodDirectoryError::NoVolume { pod, volume, .. }) if network.device_plugin.is_some() => {
                Err(DeviceAllocationError::NoDeviceOrVolume { pod, network: network.name.clone(), volume }.into())
            }
            checked => Ok(checked?),
        }
    }
}
