//! Copies programs of this machine into an image, together with the shared libraries that they
//! load.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{self, CommandError};
use crate::tarball::{Tarball, TarballError};

/// Why programs could not be put into an image.
#[derive(Debug, thiserror::Error)]
pub enum LibrariesError {
    /// A file could not be found or read.
    #[error("cannot put {path} into an image")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `ldd` failed.
    #[error(transparent)]
    Ldd(#[from] CommandError),
    /// A shared library is not on this machine.
    #[error("{program} needs {library}, which this machine does not have; install the package that brings it")]
    Missing {
        /// The program or library that needs it.
        program: PathBuf,
        /// The name of the library.
        library: String,
    },
    /// A program that shall get drivers of DPDK is not linked with DPDK.
    #[error("no program of the image loads librte_eal, so that it is not known which drivers of DPDK it needs")]
    NoDpdk,
    /// The layer could not be written.
    #[error(transparent)]
    Tarball(#[from] TarballError),
}

/// Returns every file that `programs` need at run time, including the programs, by its path on this
/// machine. Links and their targets are separate: DPDK rejects a library that it loads twice.
///
/// # Errors
/// When a program or one of its libraries is missing.
pub fn needed_by(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, LibrariesError> {
    let mut files = BTreeSet::new();
    for program in programs {
        files.extend(needed_by_one(program)?);
    }
    Ok(files)
}

/// Like [`needed_by`], without those programs that need a library which is missing.
///
/// # Errors
/// When a program is missing.
pub fn needed_by_complete(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, LibrariesError> {
    let mut files = BTreeSet::new();
    for program in programs {
        match needed_by_one(program) {
            Ok(needed) => files.extend(needed),
            Err(LibrariesError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

fn needed_by_one(program: &Path) -> Result<BTreeSet<PathBuf>, LibrariesError> {
    let mut files = BTreeSet::from_iter(chain(program)?);
    let listing = commands::run(Command::new("ldd").arg(program), b"")?;
    for line in String::from_utf8_lossy(&listing).lines() {
        if let Some(library) = missing_in_line(line) {
            return Err(LibrariesError::Missing { program: program.to_owned(), library: library.to_owned() });
        }
        if let Some(library) = library_of_line(line) {
            files.extend(chain(&library)?);
        }
    }
    Ok(files)
}

/// Adds files to a layer at the same paths; links stay links.
///
/// # Errors
/// When a file cannot be read or the layer not be written.
pub fn add(layer: &mut Tarball, files: &BTreeSet<PathBuf>) -> Result<(), LibrariesError> {
    for file in files {
        if file.is_symlink() {
            let destination = fs::read_link(file).map_err(|source| failed(file, source))?;
            layer.link(file, &destination)?;
        } else {
            layer.program(file, file)?;
        }
    }
    Ok(())
}

/// Adds `/bin`, `/lib` and `/lib64` if they are links on this machine, as on a current Debian: the
/// paths of [`needed_by`] are below their targets.
///
/// # Errors
/// When the layer cannot be written.
pub fn add_merged_folders(layer: &mut Tarball) -> Result<(), LibrariesError> {
    for folder in ["/bin", "/lib", "/lib64"].map(Path::new) {
        if let Ok(destination) = fs::read_link(folder) {
            layer.link(folder, &destination)?;
        }
    }
    Ok(())
}

/// Returns the path in a line of `ldd`: `libx.so.1 => /lib/libx.so.1 (0x...)` or
/// `/lib64/ld-linux-x86-64.so.2 (0x...)`. It is `None` for the library of the kernel.
fn library_of_line(line: &str) -> Option<PathBuf> {
    let path = line.rsplit("=>").next()?.split_whitespace().next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// Returns the name in a line of `ldd` such as `libx.so.1 => not found`.
fn missing_in_line(line: &str) -> Option<&str> {
    line.trim().strip_suffix("=> not found").map(str::trim_end)
}

/// Returns the path and, for a link, the chain of its targets. The folders of the paths are
/// resolved: with `/lib` as a link to `/usr/lib`, one library would have two paths.
fn chain(path: &Path) -> Result<Vec<PathBuf>, LibrariesError> {
    let mut found = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next.take() {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let folder = folder.canonicalize().map_err(|source| failed(folder, source))?;
        let plain = folder.join(path.file_name().unwrap_or_default());
        if plain.is_symlink() {
            let destination = fs::read_link(&plain).map_err(|source| failed(&plain, source))?;
            next = Some(folder.join(destination));
        }
        found.push(plain);
    }
    Ok(found)
}

fn failed(path: &Path, source: io::Error) -> LibrariesError {
    LibrariesError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ldd_lines_name_libraries() {
        let found = library_of_line("\tlibbsd.so.0 => /lib/x86_64-linux-gnu/libbsd.so.0 (0x00007f2)");
        assert_eq!(found, Some(PathBuf::from("/lib/x86_64-linux-gnu/libbsd.so.0")));
        let loader = library_of_line("\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)");
        assert_eq!(loader, Some(PathBuf::from("/lib64/ld-linux-x86-64.so.2")));
        assert_eq!(library_of_line("\tlinux-vdso.so.1 (0x00007ffc)"), None);
        assert_eq!(missing_in_line("\tlibmlx5.so.1 => not found"), Some("libmlx5.so.1"));
        assert_eq!(missing_in_line("\tlibbsd.so.0 => /lib/x86_64-linux-gnu/libbsd.so.0 (0x00007f2)"), None);
    }

    #[test]
    fn a_link_is_followed_by_its_targets() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("lib.so.1.2"), "").unwrap();
        std::os::unix::fs::symlink("lib.so.1.2", root.join("lib.so.1")).unwrap();
        std::os::unix::fs::symlink("lib.so.1", root.join("lib.so")).unwrap();
        let names = ["lib.so", "lib.so.1", "lib.so.1.2"].map(|name| root.join(name));
        assert_eq!(chain(&root.join("lib.so")).unwrap(), names);
    }
}
