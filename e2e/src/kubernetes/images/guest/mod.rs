//! The guest of a virtual machine: a kernel of Debian, and an initramfs with busybox, the modules
//! of a virtio NIC, and a script that sets an address and pings.

use std::fs;
use std::path::Path;

use crate::host::cpio::{Cpio, FOLDER, PROGRAM};

use crate::kubernetes::images::error::ArchiveError;

/// The script that the kernel starts.
pub(super) const INIT: &str = include_str!("init");

/// Returns the initramfs of a guest, with the modules (`*.ko`) of a folder.
pub(super) fn initramfs(busybox: &Path, modules: &Path) -> Result<Vec<u8>, ArchiveError> {
    let read = |path: &Path| fs::read(path).map_err(|source| ArchiveError::file(path, source));
    let mut archive = Cpio::default();
    for folder in ["bin", "dev", "modules", "proc", "sys"] {
        archive.add(folder, FOLDER, &[]);
    }
    archive.add("init", PROGRAM, INIT.as_bytes());
    archive.add("bin/busybox", PROGRAM, &read(busybox)?);
    for module in modules_in(modules)? {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.add(&format!("modules/{name}"), PROGRAM, &read(&module)?);
    }
    Ok(archive.finish())
}

/// Returns the modules of a folder, sorted by name.
pub(super) fn modules_in(folder: &Path) -> Result<Vec<std::path::PathBuf>, ArchiveError> {
    let entries = fs::read_dir(folder).map_err(|source| ArchiveError::file(folder, source))?;
    let mut modules: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    modules.retain(|path| path.extension().is_some_and(|extension| extension == "ko"));
    modules.sort();
    Ok(modules)
}
