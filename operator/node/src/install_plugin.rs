//! Installs the CNI plugin into the CNI plugin directory of the node (IO). This is a command
//! because the image has no shell and no `cp`. A container runtime may execute the old plugin at
//! the same time, so that the new file replaces it atomically.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The mode of the plugin: executable by the container runtime, and writable by root only.
const MODE: u32 = 0o755;

/// Options of `usnet install-plugin`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The plugin in this image.
    #[arg(long, default_value = "/usr/local/bin/userspace")]
    pub from: PathBuf,
    /// The node's folder of CNI plugins, as this container sees it.
    #[arg(long, default_value = "/host/opt/cni/bin")]
    pub to: PathBuf,
}

/// Why the plugin was not installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the plugin {}: set its path with --from", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} has no file name: set the path of the plugin with --from", .0.display())]
    NoFileName(PathBuf),
    #[error("cannot install the plugin as {}: the node's folder of CNI plugins must be mounted there, and writable", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Installs the plugin, unless the same one is installed already. If that fails, the old plugin is
/// still complete.
pub fn run(options: &Options) -> Result<(), Error> {
    let read = |source| Error::Read { path: options.from.clone(), source };
    let bytes = fs::metadata(&options.from).map_err(read)?.len();
    let name = options.from.file_name().ok_or_else(|| Error::NoFileName(options.from.clone()))?;
    let target = options.to.join(name);
    if is_installed(&target, &options.from) {
        tracing::info!(plugin = %target.display(), "the plugin is installed already");
        return Ok(());
    }
    replace(&options.to, &target, &options.from).map_err(|source| Error::Write { path: target.clone(), source })?;
    tracing::info!(plugin = %target.display(), bytes, "installed the plugin");
    Ok(())
}

fn is_installed(target: &Path, from: &Path) -> bool {
    let executable = fs::metadata(target).is_ok_and(|found| found.permissions().mode() & 0o777 == MODE);
    executable && are_equal(target, from).unwrap_or(false)
}

/// Compares files in parts: the container may have less memory than a program has bytes.
fn are_equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (BufReader::new(File::open(one)?), BufReader::new(File::open(other)?));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Writes into the same directory, so that the rename stays on one file system, and under a name
/// that no network configuration can use as a plugin type.
fn replace(folder: &Path, target: &Path, from: &Path) -> io::Result<()> {
    let temporary = folder.join(format!(".usnet-install-{}", std::process::id()));
    let result = copy(&temporary, from).and_then(|()| fs::rename(&temporary, target));
    if result.is_err() {
        // Only the first error is returned; a leftover is harmless, and the next attempt overwrites
        // it.
        let _ = fs::remove_file(&temporary);
    }
    result.and_then(|()| File::open(folder)?.sync_all())
}

fn copy(path: &Path, from: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    io::copy(&mut File::open(from)?, &mut file)?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn folder_with_plugin(content: &str) -> (tempfile::TempDir, Options) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { from: folder.path().join("userspace"), to: folder.path().join("bin") };
        fs::create_dir(&options.to).unwrap();
        fs::write(&options.from, content).unwrap();
        (folder, options)
    }

    #[test]
    fn installs_an_executable_and_leaves_no_temporary_file() {
        let (_folder, options) = folder_with_plugin("new");
        fs::write(options.to.join("userspace"), "old").unwrap();
        run(&options).unwrap();
        let names: Vec<_> = fs::read_dir(&options.to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["userspace"]);
        let target = options.to.join("userspace");
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(fs::metadata(target).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn the_same_plugin_is_not_written_again() {
        let (_folder, options) = folder_with_plugin("same");
        run(&options).unwrap();
        let inode = || fs::metadata(options.to.join("userspace")).unwrap().ino();
        let before = inode();
        run(&options).unwrap();
        assert_eq!(inode(), before);
    }

    #[test]
    fn a_plugin_that_differs_in_its_last_part_is_replaced() {
        let long = "x".repeat(100_000);
        for old in [format!("{long}y"), format!("{long}xx"), long[1..].to_owned(), String::new()] {
            let (_folder, options) = folder_with_plugin(&format!("{long}x"));
            let target = options.to.join("userspace");
            fs::write(&target, &old).unwrap();
            fs::set_permissions(&target, Permissions::from_mode(MODE)).unwrap();
            run(&options).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap().len(), 100_001);
            assert!(are_equal(&target, &options.from).unwrap(), "{} bytes before", old.len());
        }
    }

    #[test]
    fn a_missing_folder_is_named() {
        let (_folder, mut options) = folder_with_plugin("new");
        options.to = options.to.join("missing");
        let error = run(&options).unwrap_err();
        assert!(matches!(&error, Error::Write { path, .. } if path.starts_with(&options.to)), "{error}");
    }
}
