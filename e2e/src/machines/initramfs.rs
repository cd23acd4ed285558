//! The initramfs of a machine: busybox, the modules with which it gets its root, and a script.

use std::fs;
use std::io;
use std::path::Path;

use super::packages::Packages;
use crate::host::cpio::{Cpio, FOLDER, PROGRAM};
use crate::host::requirements;

/// The script that the kernel starts.
const INIT: &str = include_str!("guest/init");

/// Writes the initramfs.
pub(super) fn write(packages: &Packages, file: &Path) -> io::Result<()> {
    let busybox = requirements::find_program("busybox").ok_or(io::ErrorKind::NotFound)?;
    let mut archive = Cpio::default();
    for folder in ["bin", "dev", "host", "layer", "modules", "proc", "root"] {
        archive.add(folder, FOLDER, &[]);
    }
    archive.add("init", PROGRAM, INIT.as_bytes());
    archive.add("bin/busybox", PROGRAM, &fs::read(busybox)?);
    let (modules, mut order) = (packages.version_folder()?, String::new());
    for path in fs::read_to_string(packages.early_modules())?.lines() {
        let name = path.rsplit('/').next().unwrap_or(path);
        archive.add(&format!("modules/{name}"), PROGRAM, &fs::read(modules.join(path))?);
        order = order + name + "\n";
    }
    archive.add("modules/order", PROGRAM, order.as_bytes());
    fs::write(file, archive.finish())
}
