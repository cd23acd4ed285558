//! Programs with drivers of DPDK, which are shared libraries in a folder that DPDK reads at start.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::libraries::{self, LibrariesError};

/// Which drivers an image gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drivers<'a> {
    /// All that this machine has, but for those that need a library which it does not have.
    All,
    /// Those with these names, such as `net_virtio`.
    Named(&'a [&'a str]),
}

/// Returns every file that `programs` and the drivers need at run time, including both.
///
/// # Errors
/// When a program, a library of it or a named driver is missing, or no program is linked with DPDK.
pub fn needed_by(programs: &[PathBuf], drivers: Drivers<'_>) -> Result<BTreeSet<PathBuf>, LibrariesError> {
    let mut files = libraries::needed_by(programs)?;
    let folder = DriverFolder::of(&files).ok_or(LibrariesError::NoDpdk)?;
    files.extend(match drivers {
        Drivers::All => libraries::needed_by_complete(&folder.all()?)?,
        Drivers::Named(names) => libraries::needed_by(&folder.named(names))?,
    });
    if let Some(library) = loaded_by_libc(&files) {
        files.extend(libraries::needed_by(&[library])?);
    }
    Ok(files)
}

/// The library that libc loads when a thread is cancelled, as DPDK does with those of devices that
/// are removed: without it, libc ends the program. `ldd` does not name it.
fn loaded_by_libc(files: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let libc = files.iter().find(|path| path.ends_with("libc.so.6"))?;
    Some(libc.with_file_name("libgcc_s.so.1"))
}

/// The folder from which DPDK loads all drivers.
#[derive(Debug, PartialEq, Eq)]
struct DriverFolder {
    path: PathBuf,
    /// The end of the names that DPDK looks for: `.so.` and the version of its ABI. It also looks
    /// for those that end with `.so`, which only machines for development have.
    suffix: String,
}

impl DriverFolder {
    /// That of a program with these files. Debian names it by the ABI, so that the folders of
    /// several versions of DPDK can be on one machine.
    fn of(files: &BTreeSet<PathBuf>) -> Option<Self> {
        // `librte_eal.so.23` is a link to `librte_eal.so.23.0`.
        let eal = files.iter().find_map(|path| {
            let version = path.file_name()?.to_str()?.strip_prefix("librte_eal.so.")?;
            version.contains('.').then_some((path.parent()?, version))
        });
        let (libraries, version) = eal?;
        let path = libraries.join("dpdk").join(format!("pmds-{version}"));
        Some(Self { path, suffix: format!(".so.{version}") })
    }

    fn named(&self, names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(|name| self.path.join(format!("librte_{name}{}", self.suffix))).collect()
    }

    fn all(&self) -> Result<Vec<PathBuf>, LibrariesError> {
        let failed = |source| LibrariesError::File { path: self.path.clone(), source };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            found.push(entry.map_err(failed)?.path());
        }
        found.retain(|path| self.has(path));
        found.sort();
        Ok(found)
    }

    fn has(&self, driver: &Path) -> bool {
        driver.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&self.suffix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[PathBuf]) -> Option<DriverFolder> {
        DriverFolder::of(&files.iter().cloned().collect())
    }

    #[test]
    fn drivers_are_those_of_the_dpdk_that_the_program_loads() {
        let folder = tempfile::tempdir().unwrap();
        let libraries = folder.path();
        for version in ["23.0", "24.0"] {
            let drivers = libraries.join(format!("dpdk/pmds-{version}"));
            fs::create_dir_all(&drivers).unwrap();
            for name in ["net_virtio", "bus_pci"] {
                let major = version.split('.').next().unwrap();
                for end in ["", &format!(".{major}"), &format!(".{version}")] {
                    fs::write(drivers.join(format!("librte_{name}.so{end}")), "").unwrap();
                }
            }
        }
        let loaded = ["librte_eal.so.24", "librte_eal.so.24.0", "libc.so.6"].map(|name| libraries.join(name));
        let drivers = of(&loaded).unwrap();
        let path = |name: &str| libraries.join("dpdk/pmds-24.0").join(name);
        assert_eq!(drivers.named(&["net_virtio"]), [path("librte_net_virtio.so.24.0")]);
        assert_eq!(drivers.all().unwrap(), ["librte_bus_pci.so.24.0", "librte_net_virtio.so.24.0"].map(path));
        assert_eq!(of(&[libraries.join("libc.so.6")]), None);
        assert_eq!(loaded_by_libc(&loaded.into()), Some(libraries.join("libgcc_s.so.1")));
    }
}
