//! The command line of QEMU for a machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::channel;
use super::model::NicModel;
use super::packages::Packages;

/// What a machine is to have.
#[derive(Debug, Clone)]
pub struct Specification {
    /// Its host name.
    pub name: String,
    pub nics: Vec<NicSpec>,
    pub cpus: u8,
    /// In MiB.
    pub memory: u32,
    /// Huge pages of 2 MiB for DPDK.
    pub hugepages: u32,
    /// Whether it has an IOMMU, without which vfio-pci takes no NIC.
    pub has_iommu: bool,
    /// 1, or 2 with half of the CPUs and of the memory each; the second NIC is on the last one.
    pub numa_nodes: u8,
}

/// A NIC, and its cable.
#[derive(Debug, Clone)]
pub struct NicSpec {
    pub model: NicModel,
    pub cable: Cable,
    pub mac: String,
}

/// Where the frames of a NIC go.
#[derive(Debug, Clone)]
pub enum Cable {
    /// To another machine, by a socket. The end that listens has to be there first.
    Socket { path: PathBuf, is_listening: bool },
    /// To a tap device of this machine.
    Tap(String),
}

impl Cable {
    /// The device of this machine, as `-netdev` has it.
    fn netdev(&self, nic: usize) -> String {
        let id = netdev(nic);
        match self {
            Self::Socket { path, is_listening } => {
                let server = if *is_listening { "on" } else { "off" };
                format!("stream,id={id},addr.type=unix,addr.path={},server={server}", path.display())
            }
            Self::Tap(name) => format!("tap,id={id},ifname={name},script=no,downscript=no"),
        }
    }
}

/// The files of a machine on this one.
pub(super) mod files {
    pub(in crate::machines) const CONSOLE: &str = "console.log";
    pub(in crate::machines) const QEMU_LOG: &str = "qemu.log";
    pub(in crate::machines) const QMP: &str = "qmp.sock";
    pub(in crate::machines) const SHELL: &str = "shell.sock";
    pub(in crate::machines) const INITRAMFS: &str = "initramfs";
    /// The folder that the machine has as `/machine`.
    pub(in crate::machines) const SHARE: &str = "share";
}

/// The name of a NIC's end of the cable in QEMU.
pub(super) fn netdev(nic: usize) -> String {
    format!("cable{nic}")
}

/// The name of a NIC in QEMU.
pub(super) fn device(nic: usize) -> String {
    format!("nic{nic}")
}

/// The PCI port of a NIC. Each has one of its own, and so an IOMMU group of its own.
fn port(nic: usize) -> String {
    format!("port{nic}")
}

/// The properties of the device of a NIC, as `-device` and `device_add` have them. The addresses
/// are 0000:01:00.0 and so on only if there is one NUMA node. No NIC needs to start the machine.
pub(super) fn nic_device(nic: usize, spec: &NicSpec) -> String {
    let (model, mac) = (spec.model.device(), &spec.mac);
    format!("{model},id={},bus={},netdev={},mac={mac},romfile=", device(nic), port(nic), netdev(nic))
}

/// Returns QEMU's command for a machine with files in a folder.
pub(super) fn command(packages: &Packages, spec: &Specification, folder: &Path) -> Command {
    let mut command = packages.qemu();
    command.args(["-nodefaults", "-display", "none", "-no-reboot", "-cpu", "max", "-m", &spec.memory.to_string()]);
    // Not KVM, which is offered and does not work on many virtual machines: figures are comparable.
    command.args(["-accel", "tcg,thread=multi", "-machine", "q35"]);
    for argument in processors(spec) {
        command.arg(argument);
    }
    // Before all devices, as those before it would not use it.
    if spec.has_iommu {
        command.args(["-device", "intel-iommu,intremap=on"]);
    }
    command.arg("-kernel").arg(packages.kernel()).arg("-initrd").arg(folder.join(files::INITRAMFS));
    command.arg("-append").arg(kernel_command_line(packages, spec));
    shares(&mut command, folder);
    consoles(&mut command, folder);
    // After the devices that name no bus: QEMU would plug them in here.
    if spec.numa_nodes > 1 {
        command.args(["-device", "pxb-pcie,id=far,bus=pcie.0,bus_nr=128,numa_node=1"]);
    }
    for (nic, of) in spec.nics.iter().enumerate() {
        let bus = if spec.numa_nodes > 1 && nic > 0 { "far" } else { "pcie.0" };
        command.args([
            "-device",
            &format!("pcie-root-port,id={},chassis={},slot={},bus={bus}", port(nic), nic + 1, nic + 1),
        ]);
        command.args(["-netdev", &of.cable.netdev(nic), "-device", &nic_device(nic, of)]);
    }
    command
}

fn processors(spec: &Specification) -> Vec<String> {
    let nodes = spec.numa_nodes.max(1);
    let mut arguments = vec!["-smp".to_owned(), format!("cpus={},sockets={nodes}", spec.cpus)];
    if nodes > 1 {
        let (memory, cpus) = (spec.memory / u32::from(nodes), spec.cpus / nodes);
        for node in 0..nodes {
            let (first, last) = (node * cpus, (node + 1) * cpus - 1);
            arguments.extend(["-object".to_owned(), format!("memory-backend-ram,id=memory{node},size={memory}M")]);
            arguments
                .extend(["-numa".to_owned(), format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}")]);
        }
    }
    arguments
}

/// No mitigations: an emulated processor is slow enough. No watchdog, and no check of the timer,
/// which panics: it may have to wait for its turn.
fn kernel_command_line(packages: &Packages, spec: &Specification) -> OsString {
    let iommu = if spec.has_iommu { "on" } else { "off" };
    let mut line = OsString::from(format!(
        "console=ttyS0 quiet panic=-1 mitigations=off nowatchdog no_timer_check random.trust_cpu=on intel_iommu={iommu} iommu=pt \
         net.ifnames=0 hugepages={} machine.name={} machine.drivers={} machine.channels={} machine.modules=",
        spec.hugepages,
        spec.name,
        drivers(&spec.nics),
        channel::COUNT
    ));
    line.push(packages.modules());
    line
}

/// The drivers of the NICs, each once.
fn drivers(nics: &[NicSpec]) -> String {
    let drivers: BTreeSet<&str> = nics.iter().map(|nic| nic.model.driver()).collect();
    drivers.into_iter().collect::<Vec<_>>().join(",")
}

/// The root of this machine, which is read only, and a folder that can be written.
fn shares(command: &mut Command, folder: &Path) {
    let mut share = OsString::from("local,id=machine,security_model=none,path=");
    share.push(folder.join(files::SHARE));
    command.args(["-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap", "-fsdev"]);
    command.arg(share);
    for tag in ["root", "machine"] {
        command.args(["-device", &format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}")]);
    }
}

/// The console, a line with a shell, the channels, and QEMU's own socket.
fn consoles(command: &mut Command, folder: &Path) {
    let file = |name: &str| folder.join(name).display().to_string();
    command.args(["-chardev", &format!("file,id=console,path={}", file(files::CONSOLE)), "-serial", "chardev:console"]);
    let shell = format!("socket,id=shell,path={},server=on,wait=off", file(files::SHELL));
    command.args(["-chardev", &shell, "-serial", "chardev:shell"]);
    command.args(["-qmp", &format!("unix:{},server=on,wait=off", file(files::QMP))]);
    command.args(["-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random"]);
    command.args(["-device", "virtio-serial-pci"]);
    for number in 0..channel::COUNT {
        let name = channel::name(number);
        command.args(["-chardev", &format!("pipe,id={name},path={}", file(&name))]);
        command.args(["-device", &format!("virtserialport,chardev={name},name={name}")]);
    }
}
