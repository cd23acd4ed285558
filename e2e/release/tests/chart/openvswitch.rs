//! The image of Open vSwitch, which is made of this machine's packages.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use usnet_release::drivers::Drivers;
use usnet_release::openvswitch::Openvswitch;
use usnet_release::packages::Package;

const TIME: u64 = 1_700_000_000;

/// False, with a line that says so, without the packages.
pub(crate) fn is_installed() -> bool {
    let found = Openvswitch::find(Drivers::Named(&[]));
    if let Err(error) = &found {
        println!("SKIPPED: {error}");
    }
    found.is_ok()
}

/// The layer's entries, with the destinations of links, and the packages that they are from.
fn layer() -> (BTreeMap<PathBuf, Option<PathBuf>>, Vec<Package>) {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Openvswitch::find(Drivers::All).unwrap();
    let packages = found.add_licenses().unwrap();
    let layer = found.write_layer(&folder.path().join("layer"), TIME).unwrap();
    let mut archive = tar::Archive::new(File::open(layer).unwrap());
    let entry = |entry: std::io::Result<tar::Entry<'_, File>>| {
        let entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        assert_eq!(entry.header().mtime().unwrap(), TIME, "{path:?}");
        (path, entry.link_name().unwrap().map(|name| name.into_owned()))
    };
    (archive.entries().unwrap().map(entry).collect(), packages)
}

/// Follows the links of the image, also those of folders, and returns where a path ends.
fn resolve(entries: &BTreeMap<PathBuf, Option<PathBuf>>, path: &Path) -> Option<PathBuf> {
    let mut open: Vec<PathBuf> = path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
    let mut at = PathBuf::new();
    while let Some(part) = open.pop() {
        match part.components().next()? {
            Component::RootDir => at = PathBuf::new(),
            Component::ParentDir => drop(at.pop()),
            _ => {
                let next = at.join(part);
                match entries.get(&next)? {
                    Some(link) => open.extend(link.components().rev().map(|part| PathBuf::from(part.as_os_str()))),
                    None => at = next,
                }
            }
        }
    }
    Some(at)
}

#[test]
fn the_image_of_open_vswitch_is_whole() {
    if !is_installed() {
        return;
    }
    let (entries, packages) = layer();
    for (path, link) in &entries {
        assert!(resolve(&entries, path).is_some(), "{path:?} leads to {link:?}, which is not in the image");
    }
    let switch = resolve(&entries, Path::new("/usr/sbin/ovs-vswitchd")).unwrap();
    assert_eq!(switch, Path::new("usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"));
    for path in
        ["/usr/bin/ovsdb-tool", "/usr/share/openvswitch/vswitch.ovsschema", "/etc/libibverbs.d/mlx5.driver", "/tmp"]
    {
        assert!(resolve(&entries, Path::new(path)).is_some(), "{path}");
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    // Those of libraries end with the version of their ABI.
    for name in ["libc6", "libgcc-s1", "librte-net-i40e", "librte-net-virtio", "openvswitch-switch-dpdk"] {
        assert!(names.iter().any(|other| other.starts_with(name)), "no files of {name} in {names:?}");
    }
    assert!(!names.contains(&"libdpdk-dev"), "what is installed for development makes no difference");
    for package in packages {
        let copyright = package.copyright();
        assert!(resolve(&entries, &copyright).is_some(), "{copyright:?}");
    }
}
