//! Records, mounts, devices and files that are on the node.

use super::{NETWORK, TestNode, ip};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

impl TestNode {
    /// The mounts below the run folder, in this namespace: path and options.
    pub(crate) fn mounts(&self) -> Vec<(PathBuf, BTreeSet<String>)> {
        mounts_below(&self.paths.run, &fs::read_to_string("/proc/thread-self/mountinfo").unwrap())
    }

    /// The mounts below the run folder as Open vSwitch's namespace sees them.
    pub(crate) fn mounts_of_switch(&mut self) -> Vec<(PathBuf, BTreeSet<String>)> {
        let observed = self.open_vswitch().command("cat").arg("/proc/self/mountinfo").output().unwrap();
        mounts_below(&self.paths.run, &String::from_utf8(observed.stdout).unwrap())
    }

    /// The files of the journal.
    pub(crate) fn records(&self) -> Vec<PathBuf> {
        list(&self.paths.attachments()).into_iter().filter(|path| path.extension().is_some()).collect()
    }

    /// The files of the journal and its index and the folders of pods: empty when nothing is
    /// attached.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let is_visible = |path: &PathBuf| path.file_name().is_some_and(|name| name != ".lock");
        let keys = list(&self.paths.index()).into_iter().flat_map(|bucket| list(&bucket));
        let others = [self.paths.attachments(), self.paths.ports()].into_iter().flat_map(|folder| list(&folder));
        others.filter(is_visible).chain(keys).collect()
    }

    /// The ends of veth pairs on the node.
    pub(crate) fn devices(&self) -> Vec<String> {
        let observed = ip(&["-o", "link", "show", "type", "veth"]);
        observed.lines().filter_map(|line| Some(line.split([':', '@']).nth(1)?.trim().to_owned())).collect()
    }

    /// Asserts that nothing of any attachment remains: no port, no device, no mount, no file.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.devices(), Vec::<String>::new());
        assert_eq!(self.ports(NETWORK), Vec::<String>::new());
        self.engine.assert_no_leftovers();
        self.assert_no_files();
    }

    /// Asserts that no mount and no file of any attachment remains.
    #[track_caller]
    pub(crate) fn assert_no_files(&self) {
        assert_eq!(self.mounts(), []);
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new());
    }
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The format is that of proc_pid_mountinfo(5): the fifth field is the mount point, the sixth its
/// options.
fn mounts_below(root: &Path, observed: &str) -> Vec<(PathBuf, BTreeSet<String>)> {
    let fields = observed.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let all = fields.map(|fields| (PathBuf::from(fields[4]), fields[5].split(',').map(str::to_owned).collect()));
    all.filter(|(path, _)| path != root && path.starts_with(root)).collect()
}
