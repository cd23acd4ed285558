//! The Debian packages that files of this machine are from.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{self, CommandError};

/// Why the packages are not known.
#[derive(Debug, thiserror::Error)]
pub enum PackagesError {
    /// dpkg-query could not be started.
    #[error("cannot run dpkg-query; the packages of an image are known on Debian and the like of it alone")]
    Run(#[source] io::Error),
    /// dpkg-query failed.
    #[error(transparent)]
    Failed(#[from] CommandError),
    /// A file is from no package.
    #[error(
        "{0} is from no Debian package, so that its version and license are not known; remove it from this machine"
    )]
    Unowned(PathBuf),
    /// dpkg-query printed something else than expected.
    #[error("dpkg-query printed a line that is not understood: {0}")]
    Line(String),
}

/// A package that is installed here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name, without an architecture.
    pub name: String,
    /// Its version.
    pub version: String,
    /// As Debian names it: `amd64`, or `all`.
    pub architecture: String,
    /// The name of the package of sources, by which vulnerabilities are reported.
    pub source: String,
}

impl Package {
    /// Where it has its licenses.
    #[must_use]
    pub fn copyright(&self) -> PathBuf {
        Path::new("/usr/share/doc").join(&self.name).join("copyright")
    }
}

/// Returns the packages of files by name, each once.
///
/// # Errors
/// When a file is from no package.
pub fn owners<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<Package>, PackagesError> {
    let files: Vec<&PathBuf> = files.into_iter().collect();
    let mut search = Command::new("dpkg-query");
    search.env("LC_ALL", "C").arg("--search").args(files.iter().flat_map(|file| registered(file)));
    // The status is an error where one of a file's two paths is not known, which is usual.
    let listing = search.output().map_err(PackagesError::Run)?.stdout;
    let owners = parse_owners(&String::from_utf8_lossy(&listing));
    let mut names = BTreeSet::new();
    for file in files {
        let owner = registered(file).iter().find_map(|path| owners.get(path)).cloned();
        names.insert(owner.ok_or_else(|| PackagesError::Unowned(file.clone()))?);
    }
    describe(&names)
}

/// The paths by which dpkg may know a file: packages from before `/lib` was a link name it there.
fn registered(file: &Path) -> Vec<PathBuf> {
    let mut paths = vec![file.to_owned()];
    paths.extend(file.strip_prefix("/usr").ok().map(|rest| Path::new("/").join(rest)));
    paths
}

/// Reads lines such as `libc6:amd64, libc6:i386: /lib/x`; the first package counts. Lines on
/// diversions are left out.
fn parse_owners(listing: &str) -> BTreeMap<PathBuf, String> {
    let parse = |line: &str| {
        let (packages, path) = line.split_once(": ")?;
        let package = packages.split(", ").next().filter(|package| !package.contains(' '))?;
        Some((PathBuf::from(path), package.to_owned()))
    };
    listing.lines().filter_map(parse).collect()
}

fn describe(names: &BTreeSet<String>) -> Result<Vec<Package>, PackagesError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let format = "--showformat=${Package}\t${Version}\t${Architecture}\t${source:Package}\n";
    let listing = commands::run(Command::new("dpkg-query").args(["--show", format]).args(names), b"")?;
    let mut packages = parse_packages(&String::from_utf8_lossy(&listing))?;
    packages.sort();
    packages.dedup();
    Ok(packages)
}

fn parse_packages(listing: &str) -> Result<Vec<Package>, PackagesError> {
    let parse = |line: &str| {
        let fields: Vec<String> = line.split('\t').map(ToOwned::to_owned).collect();
        let [name, version, architecture, source]: [String; 4] =
            fields.try_into().map_err(|_| PackagesError::Line(line.to_owned()))?;
        Ok(Package { name, version, architecture, source })
    };
    listing.lines().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_a_merged_folder_is_also_known_by_its_old_path() {
        let file = Path::new("/usr/lib/x86_64-linux-gnu/libc.so.6");
        let old = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        assert_eq!(registered(file), [file, old]);
        assert_eq!(registered(Path::new("/etc/passwd")), [Path::new("/etc/passwd")]);
    }

    #[test]
    fn owners_are_packages_and_not_diversions() {
        let owners = parse_owners(
            "diversion by dash from: /bin/sh\ndiversion by dash to: /bin/sh.distrib\n\
             libc6:amd64, libc6:x32: /lib/libc.so.6\nopenvswitch-common: /usr/bin/ovs-appctl\n",
        );
        let expected = [("/lib/libc.so.6", "libc6:amd64"), ("/usr/bin/ovs-appctl", "openvswitch-common")];
        assert_eq!(owners, expected.map(|(path, name)| (PathBuf::from(path), name.to_owned())).into());
    }

    #[test]
    fn a_file_of_no_package_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own");
        std::fs::write(&file, "").unwrap();
        let Err(error) = owners([&file]) else { panic!("a package has {file:?}") };
        assert!(matches!(error, PackagesError::Run(_)) || error.to_string().starts_with(&file.display().to_string()));
    }

    #[test]
    fn packages_have_a_version_and_a_source() {
        let packages = parse_packages("librte-eal23\t22.11\tamd64\tdpdk\n").unwrap();
        let [package] = packages.as_slice() else { panic!("{packages:?}") };
        assert_eq!((package.name.as_str(), package.source.as_str()), ("librte-eal23", "dpdk"));
        assert_eq!(package.copyright(), Path::new("/usr/share/doc/librte-eal23/copyright"));
        assert!(parse_packages("librte-eal23 22.11\n").is_err());
    }
}
