//! The interfaces of the pod.

use crate::error::Error;
use crate::interface::{End, Interface, parse_mac};
use ipnet::IpNet;
use nix::ifaddrs::getifaddrs;
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, SocketAddrV4, SocketAddrV6};
use std::path::{Path, PathBuf};

/// The folder at which the volume `usnet` is mounted.
const FOLDER: &str = "/run/usnet";
/// Variables with these prefixes have the folders of devices and of ports of resource claims.
const VARIABLES: [&str; 2] = ["USNET_DEVICES_", "USNET_CLAIM_"];

/// Returns the folders in which descriptions may be.
pub(crate) fn folders(named: Option<PathBuf>) -> Vec<PathBuf> {
    let is_of_folders = |name: &OsStr| VARIABLES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
    let variables = std::env::vars_os().filter(|(name, _)| is_of_folders(name));
    let split = |folders: OsString| folders.to_string_lossy().split(',').map(PathBuf::from).collect::<Vec<_>>();
    let devices = variables.flat_map(|(_, folders)| split(folders));
    match named {
        Some(folder) => vec![folder],
        None => [PathBuf::from(FOLDER)].into_iter().chain(devices).collect(),
    }
}

/// Returns all interfaces with a description, or the one with the given name. Without any, a device
/// of the kernel with that name is used, or `net1`.
pub(crate) fn interfaces(folders: &[PathBuf], name: Option<&str>) -> Result<Vec<Interface>, Error> {
    let mut found = Vec::new();
    for folder in folders {
        for path in descriptions(folder) {
            if name.is_none_or(|name| path.file_stem().is_some_and(|stem| stem == name)) {
                found.push(Interface::read(&path)?);
            }
        }
    }
    if found.is_empty() {
        let device = name.unwrap_or("net1");
        if !Path::new("/sys/class/net").join(device).exists() {
            let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            return Err(Error::NoInterface {
                interface: name.unwrap_or("net1").to_owned(),
                folders: folders.join(", "),
            });
        }
        found.push(device_of_kernel(device)?);
    }
    Ok(found)
}

fn descriptions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // Names of interfaces have no dash; names of files of the legacy Userspace CNI have one.
    let is_description = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "json")
            && !path.to_string_lossy().rsplit('/').next().is_some_and(|name| name.contains('-'))
    };
    paths.retain(is_description);
    paths.sort();
    paths
}

fn device_of_kernel(name: &str) -> Result<Interface, Error> {
    let attribute = |file: &str| {
        let path = Path::new("/sys/class/net").join(name).join(file);
        std::fs::read_to_string(&path).map(|text| text.trim().to_owned()).map_err(|source| Error::File { path, source })
    };
    let failed = |source: std::io::Error| Error::Device { device: name.to_owned(), source };
    let all = getifaddrs().map_err(|error| failed(error.into()))?.filter(|it| it.interface_name == name);
    let addresses = all.filter_map(|it| network_of(it.address?, it.netmask?)).collect();
    Ok(Interface {
        name: name.to_owned(),
        network: None,
        mac: parse_mac(&attribute("address")?).unwrap_or_default(),
        mtu: attribute("mtu")?.parse().unwrap_or(1500),
        addresses,
        routes: Vec::new(),
        end: End::Device,
    })
}

fn network_of(address: nix::sys::socket::SockaddrStorage, mask: nix::sys::socket::SockaddrStorage) -> Option<IpNet> {
    let ip = |it: nix::sys::socket::SockaddrStorage| {
        let v4 = it.as_sockaddr_in().map(|it| IpAddr::V4(*SocketAddrV4::from(*it).ip()));
        v4.or_else(|| it.as_sockaddr_in6().map(|it| IpAddr::V6(*SocketAddrV6::from(*it).ip())))
    };
    IpNet::with_netmask(ip(address)?, ip(mask)?).ok()
}
