//! The parts of libibverbs by which DPDK drives NICs of NVIDIA. libibverbs finds the library for a
//! NIC by a file in `/etc/libibverbs.d` and by a link with another name, of which `ldd` knows
//! nothing: a driver that is linked with `libmlx5` finds no NIC without them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::libraries::LibrariesError;

/// Where libibverbs reads which providers there are.
pub const CONFIGURATION: &str = "/etc/libibverbs.d";

/// What an image needs besides its programs and their libraries.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Providers {
    /// Links to libraries that the image has.
    pub links: BTreeSet<PathBuf>,
    /// Files in the folder of the configuration.
    pub files: BTreeSet<PathBuf>,
}

/// Returns the providers whose libraries are among `files`.
///
/// # Errors
/// When the folder of the providers cannot be read.
pub fn providers(files: &BTreeSet<PathBuf>, configuration: &Path) -> Result<Providers, LibrariesError> {
    let mut providers = Providers::default();
    let verbs = files.iter().find(|path| path.ends_with("libibverbs.so.1"));
    let folder = verbs.and_then(|verbs| verbs.parent()).map(|libraries| libraries.join("libibverbs"));
    // Debian has the providers in a package that libibverbs only recommends.
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else { return Ok(providers) };
    let failed = |source| LibrariesError::File { path: folder.clone(), source };
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let link = entry.map_err(failed)?.path();
        let file = configured_by(&link).map(|name| configuration.join(name)).filter(|file| file.is_file());
        let is_there = link.is_symlink() && link.canonicalize().is_ok_and(|library| files.contains(&library));
        if let Some(file) = file.filter(|_| is_there) {
            providers.links.insert(link);
            providers.files.insert(file);
        }
    }
    Ok(providers)
}

/// The name of the file for a provider such as `libmlx5-rdmav34.so`.
fn configured_by(link: &Path) -> Option<String> {
    let (name, _) = link.file_name()?.to_str()?.strip_prefix("lib")?.split_once("-rdmav")?;
    Some(format!("{name}.driver"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn providers_are_those_whose_libraries_are_in_the_image() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("libibverbs")).unwrap();
        for name in ["mlx5", "efa"] {
            fs::write(root.join(format!("lib{name}.so.1")), "").unwrap();
            symlink(format!("../lib{name}.so.1"), root.join(format!("libibverbs/lib{name}-rdmav34.so"))).unwrap();
            fs::write(root.join(format!("{name}.driver")), "").unwrap();
        }
        let files = ["libibverbs.so.1", "libmlx5.so.1"].map(|name| root.join(name));
        let found = providers(&files.clone().into(), &root).unwrap();
        assert_eq!(found.links, [root.join("libibverbs/libmlx5-rdmav34.so")].into());
        assert_eq!(found.files, [root.join("mlx5.driver")].into());
        let [_, without_verbs] = files;
        assert_eq!(providers(&[without_verbs].into(), &root).unwrap(), Providers::default());
    }
}
