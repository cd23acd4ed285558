//! The image of a virtual machine: QEMU with its firmware, busybox, and a guest. Test beds do not
//! import it by default, because QEMU with its libraries has 50 MB.

use std::path::{Path, PathBuf};

use usnet_release::digest;
use usnet_release::libraries;
use usnet_release::tarball::Tarball;

use crate::host::requirements;
use crate::kubernetes::images::archives::{add_busybox, cached, digest_of, image_of};
use crate::kubernetes::images::error::ArchiveError;
use crate::kubernetes::images::guest;
use crate::kubernetes::images::names::VIRTUAL_MACHINE_IMAGE;

pub const QEMU: &str = "qemu-system-x86_64";

/// The path of the guest's kernel in the image.
pub const KERNEL: &str = "/guest/vmlinuz";

/// The path of the guest's initramfs in the image.
pub const INITRAMFS: &str = "/guest/initramfs";

/// The module with QEMU's emulation of processors, which not every QEMU has.
const ACCELERATOR: &str = "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so";

/// The firmware that QEMU reads for a machine `q35` that boots a kernel directly.
const FIRMWARE: [&str; 3] =
    ["/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/kvmvapic.bin", "/usr/share/qemu/linuxboot_dma.bin"];

/// The files of the machine that are put into the image.
pub struct Sources {
    qemu: PathBuf,
    firmware: Vec<PathBuf>,
    /// The folder with the guest's kernel and its modules.
    guest: PathBuf,
    busybox: PathBuf,
}

impl Sources {
    /// Finds the files on this machine and in the folders of the test bed's tools. The error says
    /// what is missing and how to get it.
    pub fn find(tools: &[PathBuf]) -> Result<Self, String> {
        let program =
            |name: &str| requirements::find_program(name).ok_or_else(|| format!("there is no {name} on this machine"));
        let firmware = FIRMWARE.map(PathBuf::from).to_vec();
        if let Some(missing) = firmware.iter().find(|file| !file.is_file()) {
            return Err(format!(
                "there is no {} on this machine: `e2e/scripts/setup` installs QEMU",
                missing.display()
            ));
        }
        let kernel = requirements::find_in(tools, "vmlinuz");
        let kernel = kernel.ok_or("there is no kernel for guests: `e2e/tools/build all` downloads one")?;
        let guest = kernel.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { qemu: program(QEMU)?, firmware, guest, busybox: program("busybox")? })
    }

    /// Builds the archive of the image, or finds it in the cache.
    pub fn archive(&self, cache: &Path) -> Result<PathBuf, ArchiveError> {
        let mut programs = vec![self.qemu.clone()];
        programs.extend(Some(PathBuf::from(ACCELERATOR)).filter(|module| module.is_file()));
        let needed = libraries::needed_by(&programs)?;
        let kernel = self.guest.join("vmlinuz");
        let mut hashed: Vec<PathBuf> = needed.iter().chain(&self.firmware).cloned().collect();
        hashed.extend(guest::modules_in(&self.guest)?);
        hashed.extend([kernel.clone(), self.busybox.clone()]);
        let digest = digest::of_bytes(format!("{}\n{}", digest_of(&hashed)?, guest::INIT).as_bytes());
        cached(cache, ("virtual-machine", &digest), |folder| {
            let mut layer = Tarball::create(&folder.join("layer"), 0)?;
            libraries::add(&mut layer, &needed)?;
            for file in &self.firmware {
                layer.file(file, file)?;
            }
            add_busybox(&mut layer, &self.busybox)?;
            libraries::add_merged_folders(&mut layer)?;
            layer.file(Path::new(KERNEL), &kernel)?;
            layer.content(Path::new(INITRAMFS), &guest::initramfs(&self.busybox, &self.guest)?)?;
            Ok(image_of(VIRTUAL_MACHINE_IMAGE, &[], layer.finish()?))
        })
    }
}
