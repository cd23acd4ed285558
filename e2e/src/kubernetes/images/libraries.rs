//! Copies programs of this machine into an image, together with the shared libraries that they
//! load.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use usnet_release::tarball::Tarball;

use crate::host::command;
use crate::kubernetes::images::error::ArchiveError;

/// Returns every file that `programs` need at run time, including the programs, by its path on this
/// machine. Links and their targets are separate: DPDK rejects a library that it loads twice.
pub fn needed_by(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, ArchiveError> {
    let mut files = BTreeSet::new();
    for program in programs {
        files.extend(chain(program)?);
        let listing = command::run(Command::new("ldd").arg(program))?;
        for library in listing.lines().filter_map(library_of_line) {
            files.extend(chain(&library)?);
        }
    }
    Ok(files)
}

/// Adds files to a layer at the same paths; links stay links.
pub fn add(layer: &mut Tarball, files: &BTreeSet<PathBuf>) -> Result<(), ArchiveError> {
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

/// Returns the path in a line of `ldd`: `libx.so.1 => /lib/libx.so.1 (0x...)` or
/// `/lib64/ld-linux-x86-64.so.2 (0x...)`. It is `None` for the library of the kernel.
fn library_of_line(line: &str) -> Option<PathBuf> {
    let path = line.rsplit("=>").next()?.split_whitespace().next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// Returns the path and, for a link, the chain of its targets. The folders of the paths are
/// resolved: with `/lib` as a link to `/usr/lib`, one library would have two paths.
fn chain(path: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
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

fn failed(path: &Path, source: std::io::Error) -> ArchiveError {
    ArchiveError::file(path, source)
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
