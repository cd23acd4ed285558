//! Reads which interfaces of a VirtualMachineInstance are ports of usnet, and the plugin's
//! descriptions of them (IO).

use super::guest_device::{DeviceFields, FieldError, GuestDevice};
use super::nic::{Nic, SOCKET_PATH_MAX};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use usnet_crds::{MacAddress, RingSize};
use usnet_plugin::attachment::pod_files::description::Description;
use usnet_plugin::attachment::port::pod_endpoint::{EndpointType, Role};

/// The configuration of KubeVirt's network binding.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub name: String,
    /// The folder of sockets, as QEMU sees it.
    pub sockets: PathBuf,
    /// The folder of interface descriptions; none if they cannot be read.
    pub descriptions: Option<PathBuf>,
}

/// Why the interfaces cannot be determined.
#[derive(Debug, thiserror::Error)]
pub(super) enum MachineError {
    #[error("the VirtualMachineInstance that virt-launcher sent cannot be read")]
    Machine(#[source] serde_json::Error),
    #[error("macAddress {text:?} of interface {network} is not a MAC address")]
    Mac { text: String, network: String },
    /// The guest cannot have such a device.
    #[error(transparent)]
    Device(#[from] FieldError),
    /// The plugin described no such interface.
    #[error("cannot read the description {} of interface {network}: is port.volume of its network the volume that is mounted there?", path.display())]
    NoDescription { network: String, path: PathBuf, source: io::Error },
    /// The description is in another format.
    #[error("the description {} is not one of a vhost-user port", .0.display())]
    Description(PathBuf),
    /// The VirtualMachine requests another MAC address than the port has.
    #[error(
        "interface {network} has the MAC address {machine} in the VirtualMachine and {port} in its network: remove macAddress, or the entry in spec.attachments of the network"
    )]
    OtherMac { network: String, machine: MacAddress, port: MacAddress },
    /// The kernel accepts no unix socket with such a path.
    #[error("the path of socket {0} is longer than {SOCKET_PATH_MAX} bytes: choose a shorter --sockets")]
    LongPath(String),
}

#[derive(Deserialize)]
struct Machine {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    domain: Domain,
}

#[derive(Deserialize)]
struct Domain {
    #[serde(default)]
    cpu: Cpu,
    #[serde(default)]
    devices: Devices,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cpu {
    cores: Option<u32>,
    sockets: Option<u32>,
    threads: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Devices {
    interfaces: Vec<Interface>,
    network_interface_multiqueue: Option<bool>,
    use_virtio_transitional: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interface {
    name: String,
    #[serde(default)]
    binding: Option<BindingName>,
    #[serde(default)]
    mac_address: Option<String>,
    #[serde(flatten)]
    device: DeviceFields,
}

#[derive(Deserialize)]
struct BindingName {
    name: String,
}

/// Returns the interfaces of a VirtualMachineInstance that have this binding, with their
/// descriptions.
pub(super) fn nics(machine: &[u8], binding: &Binding) -> Result<Vec<Nic>, MachineError> {
    let Machine { spec: Spec { domain: Domain { cpu, devices } } } =
        serde_json::from_slice(machine).map_err(MachineError::Machine)?;
    let processors = [cpu.cores, cpu.sockets, cpu.threads].into_iter().map(|count| count.unwrap_or(1).max(1));
    let queues = match devices.network_interface_multiqueue {
        Some(true) => processors.fold(1, u32::saturating_mul),
        _ => 1,
    };
    let is_ours = |interface: &&Interface| interface.binding.as_ref().is_some_and(|of| of.name == binding.name);
    let is_transitional = devices.use_virtio_transitional == Some(true);
    let nic = |interface| nic(interface, queues, is_transitional, binding);
    devices.interfaces.iter().filter(is_ours).map(nic).collect()
}

fn nic(interface: &Interface, queues: u32, is_transitional: bool, binding: &Binding) -> Result<Nic, MachineError> {
    let network = interface.name.clone();
    let device = GuestDevice::read(&network, &interface.device, is_transitional)?;
    let pod_interface = pod_interface(&network);
    let parsed =
        |text: &String| text.parse().map_err(|_| MachineError::Mac { text: text.clone(), network: network.clone() });
    let mac: Option<MacAddress> = interface.mac_address.as_ref().map(parsed).transpose()?;
    let socket = |file: &str| {
        let path = binding.sockets.join(file).to_string_lossy().into_owned();
        if path.len() > SOCKET_PATH_MAX { Err(MachineError::LongPath(path)) } else { Ok(path) }
    };
    let Some(folder) = &binding.descriptions else {
        let socket = socket(&format!("{pod_interface}.sock"))?;
        let ring_size = u16::try_from(i64::from(RingSize::default())).unwrap_or(u16::MAX);
        return Ok(Nic { network, socket, listens: true, mac, mtu: None, queues, ring_size, device });
    };
    let described = describe(&network, &folder.join(format!("{pod_interface}.json")))?;
    if let Some(machine) = mac
        && machine != described.mac
    {
        return Err(MachineError::OtherMac { network, machine, port: described.mac });
    }
    Ok(Nic {
        socket: socket(&described.socket.to_string())?,
        listens: described.role == Role::Server,
        mac: Some(described.mac),
        mtu: u16::try_from(i64::from(described.mtu)).ok(),
        queues: u32::try_from(i64::from(described.queues)).unwrap_or(1),
        ring_size: u16::try_from(i64::from(described.ring_size)).unwrap_or(u16::MAX),
        device,
        network,
    })
}

fn describe(network: &str, path: &Path) -> Result<Description, MachineError> {
    let failed = |source| MachineError::NoDescription { network: network.to_owned(), path: path.to_owned(), source };
    let text = std::fs::read(path).map_err(failed)?;
    let described: Option<Description> = serde_json::from_slice(&text).ok();
    described
        .filter(|described| matches!(described.endpoint, EndpointType::VhostUser { .. }))
        .ok_or_else(|| MachineError::Description(path.to_owned()))
}

/// The name of a network's interface in the pod of a virtual machine: `pod` and a hash of the
/// network's name (KubeVirt, `pkg/network/namescheme`).
fn pod_interface(network: &str) -> String {
    let hash = digest(&SHA256, network.as_bytes());
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).take(6).collect();
    format!("pod{}", hex.get(..11).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::fs;

    fn machine() -> Value {
        json!({"spec": {"domain": {
            "cpu": {"cores": 2, "sockets": 2},
            "devices": {"networkInterfaceMultiqueue": true, "interfaces": [
                {"name": "default", "masquerade": {}},
                {"name": "blue", "binding": {"name": "usnet"}, "macAddress": "02:00:00:00:00:07"},
                {"name": "other", "binding": {"name": "passt"}},
            ]},
        }}})
    }

    fn binding(descriptions: Option<PathBuf>) -> Binding {
        Binding { name: "usnet".into(), sockets: "/var/run/kubevirt-hooks".into(), descriptions }
    }

    fn read(machine: &Value, binding: &Binding) -> Result<Vec<Nic>, MachineError> {
        nics(machine.to_string().as_bytes(), binding)
    }

    /// `printf blue | sha256sum`
    const BLUE: &str = "pod16477688c0e";

    #[test]
    fn interfaces_with_the_binding_are_ports() {
        let found = read(&machine(), &binding(None)).unwrap();
        let expected = Nic {
            network: "blue".into(),
            socket: format!("/var/run/kubevirt-hooks/{BLUE}.sock"),
            listens: true,
            mac: "02:00:00:00:00:07".parse().ok(),
            mtu: None,
            queues: 4,
            ring_size: 1024,
            device: GuestDevice::default(),
        };
        assert_eq!(found, [expected]);
        let mut down = machine();
        down["spec"]["domain"]["devices"]["interfaces"][1]["state"] = json!("down");
        down["spec"]["domain"]["devices"]["useVirtioTransitional"] = json!(true);
        let device = read(&down, &binding(None)).unwrap().remove(0).device;
        assert!(device.is_down && device.is_transitional, "{device:?}");
    }

    #[test]
    fn the_description_of_the_plugin_decides() {
        let folder = tempfile::tempdir().unwrap();
        let binding = binding(Some(folder.path().to_owned()));
        let missing = read(&machine(), &binding).unwrap_err();
        assert!(matches!(&missing, MachineError::NoDescription { network, .. } if network == "blue"), "{missing}");
        let path = folder.path().join(format!("{BLUE}.json"));
        let mut description = json!({
            "version": 1, "network": "blue", "interface": BLUE, "type": "vhost-user", "role": "client",
            "socket": "x.sock", "mac": "02:00:00:00:00:07", "mtu": 1400, "queues": 2, "ringSize": 512, "ips": [],
        });
        fs::write(&path, description.to_string()).unwrap();
        let nic = read(&machine(), &binding).unwrap().remove(0);
        assert_eq!((nic.socket.as_str(), nic.listens), ("/var/run/kubevirt-hooks/x.sock", false));
        assert_eq!((nic.mtu, nic.queues, nic.ring_size), (Some(1400), 2, 512));
        description["mac"] = json!("02:00:00:00:00:08");
        fs::write(&path, description.to_string()).unwrap();
        assert!(matches!(read(&machine(), &binding), Err(MachineError::OtherMac { .. })));
        fs::write(&path, "{}").unwrap();
        assert!(matches!(read(&machine(), &binding), Err(MachineError::Description(_))));
    }

    #[test]
    fn what_cannot_be_used_is_rejected() {
        let mut wrong = machine();
        wrong["spec"]["domain"]["devices"]["interfaces"][1]["macAddress"] = json!("x");
        assert!(matches!(read(&wrong, &binding(None)), Err(MachineError::Mac { .. })));
        wrong = machine();
        wrong["spec"]["domain"]["devices"]["interfaces"][1]["model"] = json!("e1000");
        assert!(matches!(read(&wrong, &binding(None)), Err(MachineError::Device(_))));
        assert!(matches!(nics(b"{", &binding(None)), Err(MachineError::Machine(_))));
        let long = Binding { sockets: format!("/{}", "a".repeat(107)).into(), ..binding(None) };
        assert!(matches!(read(&machine(), &long), Err(MachineError::LongPath(_))));
    }
}
