//! The device info file `runtimeConfig.CNIDeviceInfoFile`, which Multus copies into the pod's
//! network status. The format is that of the Device Information Specification 1.1.0 of the Network
//! Plumbing Working Group; it describes the side of the pod's program.

use crate::attachment::port::pod_endpoint::{self, EndpointType, Role};
use crate::attachment::request::pod_request::PodRequestError;
use crate::protocol::configuration::Configuration;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// The version of the format.
const VERSION: &str = "1.1.0";
/// The path at which a pod should mount its volume, by the documentation.
pub const MOUNT_PATH: &str = "/run/usnet";
const KEY: &str = "runtimeConfig.CNIDeviceInfoFile";

/// The path of the socket in the pod. For a device it is determined by the agent; where the pod
/// mounts its volume is unknown to the plugin, so the recommended path is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodSocket<'a> {
    /// The folder of the volume, as the program sees it.
    pub folder: &'a str,
    /// The name of the socket in the folder, or an abstract one with a leading `@`.
    pub socket: &'a str,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write the device information of the interface to {}", path.display())]
pub struct DeviceInfoError {
    path: PathBuf,
    source: io::Error,
}

/// The path of a device info file. It is allowed, because it is directly in the folder of such
/// files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfoFile(PathBuf);

impl DeviceInfoFile {
    /// The file that the runtime requests, if any. It must be in `folder`: the author of a NAD
    /// could request any file of the node in the same way.
    pub fn read(configuration: &Configuration, folder: &Path) -> Result<Option<Self>, PodRequestError> {
        let requested =
            configuration.runtime_config()?.and_then(|all| all.get("CNIDeviceInfoFile")).and_then(Value::as_str);
        let Some(requested) = requested.filter(|path| !path.is_empty()) else { return Ok(None) };
        let path = Path::new(requested);
        let has_name = matches!(path.components().next_back(), Some(Component::Normal(_))) && !requested.ends_with('/');
        // The text is compared and nothing is resolved, so that links and ".." are rejected.
        if has_name && path.parent().is_some_and(|parent| parent.as_os_str() == folder.as_os_str()) {
            return Ok(Some(Self(path.to_owned())));
        }
        Err(PodRequestError::Unsupported {
            key: KEY,
            value: requested.to_owned(),
            reason: "such files are written only to /var/run/k8s.cni.cncf.io/devinfo/cni; remove it from the NetworkAttachmentDefinition",
        })
    }

    /// Writes or replaces the file. Parameters that this format does not have are omitted.
    pub fn write(&self, endpoint: &EndpointType, role: Role, socket: PodSocket<'_>) -> Result<(), DeviceInfoError> {
        let failed = |source| DeviceInfoError { path: self.0.clone(), source };
        let text = device_info(endpoint, role, socket).to_string();
        self.replace(text.as_bytes()).map_err(failed)
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.0.with_file_name(format!(".{name}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o444);
        let mut file = match options.open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.0.parent().unwrap_or(Path::new("/"));
                DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
                options.open(&temporary)?
            }
            // A call that was killed has left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&temporary)?;
                options.open(&temporary)?
            }
            opened => opened?,
        };
        file.write_all(text)?;
        fs::rename(&temporary, &self.0)
    }
}

/// The content of the file. `@` stands for the NUL that the kernel has before the name of an
/// abstract socket.
fn device_info(endpoint: &EndpointType, role: Role, PodSocket { folder, socket }: PodSocket<'_>) -> Value {
    let path = if socket.starts_with('@') { socket.to_owned() } else { format!("{folder}/{socket}") };
    let (name, section) = pod_endpoint::device_info(endpoint, role, &path);
    json!({"type": name, "version": VERSION, (name): section})
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::MemifMode;

    fn read(path: &str) -> Result<Option<DeviceInfoFile>, PodRequestError> {
        let configuration = json!({"runtimeConfig": {"CNIDeviceInfoFile": path}}).to_string();
        DeviceInfoFile::read(&Configuration::parse(configuration.as_bytes()).unwrap(), Path::new("/run/devinfo"))
    }

    #[test]
    fn only_files_directly_in_the_folder_of_such_files_are_written() {
        assert!(read("/run/devinfo/db-blue-c1_net1").unwrap().is_some());
        assert_eq!(read("").unwrap(), None);
        for path in [
            "/etc/passwd",
            "/run/devinfo/../passwd",
            "/run/devinfo/x/y",
            "/run/devinfo/",
            "/run/devinfo/x/",
            "/run/devinfo/..",
            "/run/./devinfo/x",
            "x",
        ] {
            assert!(matches!(read(path), Err(PodRequestError::Unsupported { .. })), "{path}");
        }
    }

    #[test]
    fn device_info_describes_the_pods_side() {
        let in_volume = |socket| PodSocket { folder: MOUNT_PATH, socket };
        let memif = |mode| EndpointType::Memif { id: 0, mode, secret: None };
        for (mode, name) in [(MemifMode::Ethernet, "ethernet"), (MemifMode::Ip, "ip")] {
            let expected = json!({"role": "slave", "path": "/run/usnet/net1.sock", "mode": name});
            let found = device_info(&memif(mode), Role::Client, in_volume("net1.sock"));
            assert_eq!(found, json!({"type": "memif", "version": "1.1.0", "memif": expected}));
        }
        let device = PodSocket { folder: "/run/usnet.dev/blue-3", socket: "net1.sock" };
        let vhost = device_info(&EndpointType::VhostUser { packed_rings: true }, Role::Server, device);
        let expected = json!({"mode": "server", "path": "/run/usnet.dev/blue-3/net1.sock"});
        assert_eq!(vhost, json!({"type": "vhost-user", "version": "1.1.0", "vhost-user": expected}));
        let hidden = device_info(&memif(MemifMode::Ethernet), Role::Client, in_volume("@net1"));
        assert_eq!(hidden["memif"]["path"], "@net1");
    }
}
