//! The records of prepared resource claims: whose they are, and their ports. The agent writes one
//! before it makes the first port of a claim, and removes it last. What a container of the pod gets
//! follows from the record alone, so that it can be written again.

use super::atomic_file::{self, Durability, Error};
use crate::model::attachment::{AttachmentId, ClaimUid, ContainerId, InterfaceName, Pod, Record};
use crate::model::port::PortBackend;
use crate::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use usnet_crds::{InvalidMac, MacAddress, NetworkName, SocketRole};

/// The longest record that is read, in bytes. A claim has at most 32 ports.
const SIZE_MAX: u64 = 1 << 18;
const EXTENSION: &str = ".json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRecord {
    /// The layout of this record; [`ClaimRecord::VERSION`] when written by this release.
    pub version: u32,
    pub uid: ClaimUid,
    pub namespace: String,
    pub name: String,
    /// The generation of its device metadata: that of the claim when it was prepared, and one more
    /// with each change.
    #[serde(default)]
    pub generation: i64,
    /// The name of the claim in the pod, if it was created for the pod from a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_claim_name: Option<String>,
    /// Created by Kubernetes for an extended resource that the pod requests: neither pod nor user
    /// knows its name.
    #[serde(default)]
    pub is_of_extended_resource: bool,
    /// The pod that it is reserved for.
    pub pod: Pod,
    /// The ports of the claim, in the order of the allocation.
    pub ports: Vec<ClaimPort>,
    /// Whether `status.devices` of the claim has what the ports have now.
    #[serde(default)]
    pub is_reported: bool,
}

/// One allocated device of a claim: a port of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimPort {
    /// The request in the claim.
    pub request: String,
    /// The pool of the device.
    pub pool: String,
    pub device: String,
    /// Which share of the device it is, if several claims have one.
    #[serde(default, rename = "shareID", skip_serializing_if = "Option::is_none")]
    pub share_id: Option<String>,
    pub network: NetworkName,
    pub interface: InterfaceName,
    /// The name of its directory below that of the claim in containers.
    pub directory: String,
    /// What the plugin is called with, besides network and pod: `runtimeConfig` of CNI.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub requested: serde_json::Map<String, serde_json::Value>,
    /// A veth needs the network namespace of the pod, which does not exist yet when the claim is
    /// prepared: the plugin attaches it together with the pod's sandbox.
    #[serde(default)]
    pub is_with_sandbox: bool,
    /// What it got; none until it is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedClaimPort>,
}

/// An attached port of a claim, as far as its container and `status.devices` have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedClaimPort {
    /// The name of the socket's file, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// The program in the pod listens there for a vhost-user client, which is the engine.
    #[serde(default)]
    pub is_vhost_user_server: bool,
    pub mac: MacAddress,
    /// Largest payload, in bytes.
    pub mtu: u16,
    /// The addresses of the pod with prefix lengths.
    pub ips: Vec<String>,
}

impl AttachedClaimPort {
    /// That of an attachment record.
    ///
    /// # Errors
    /// When the record has no valid MAC address.
    pub fn of(record: &Record) -> Result<Self, InvalidMac> {
        let socket = record.port.backend.socket_file().and_then(Path::file_name);
        Ok(Self {
            socket: socket.map(|name| name.to_string_lossy().into_owned()),
            is_vhost_user_server: matches!(
                record.port.backend,
                PortBackend::VhostUser { engine_role: SocketRole::Client, .. }
            ),
            mac: record.mac.parse()?,
            mtu: record.port.settings.mtu.get(),
            ips: record.addresses.iter().map(|address| format!("{}/{}", address.ip, address.prefix)).collect(),
        })
    }
}

impl ClaimRecord {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The attachment of one of its ports.
    pub fn attachment(&self, port: &ClaimPort) -> AttachmentId {
        AttachmentId { container: ContainerId::of_claim(&self.uid), interface: port.interface.clone() }
    }

    /// Whether all ports are attached that can be before the pod has a sandbox.
    pub fn is_prepared(&self) -> bool {
        self.ports.iter().all(|port| port.is_with_sandbox || port.attached.is_some())
    }
}

/// The directory of a claim's port on the node.
pub fn port_folder(paths: &NodePaths, claim: &ClaimUid, interface: &InterfaceName) -> PathBuf {
    paths.claim_folders().join(format!("{claim}.{interface}"))
}

/// The claim whose port has this directory, by its name.
pub fn claim_of_folder(folder: &Path) -> Option<ClaimUid> {
    folder.file_name()?.to_str()?.split('.').next()?.parse().ok()
}

/// The records of a node.
#[derive(Debug, Clone)]
pub struct ClaimRecords(PathBuf);

impl ClaimRecords {
    /// The records of the node with these paths.
    pub fn new(paths: &NodePaths) -> Self {
        Self(paths.claims())
    }

    /// Whether there is a record of this claim, readable or not.
    pub fn contains(&self, claim: &ClaimUid) -> Result<bool, Error> {
        let path = self.path(claim);
        path.try_exists().map_err(|error| Error::file("read", &path, error))
    }

    /// The record of a claim; none if it is not prepared.
    pub fn read(&self, claim: &ClaimUid) -> Result<Option<ClaimRecord>, Error> {
        atomic_file::read(&self.path(claim), ClaimRecord::VERSION, SIZE_MAX)
    }

    /// Whether there is any record.
    pub fn is_empty(&self) -> bool {
        self.uids().is_ok_and(|uids| uids.is_empty())
    }

    /// All records, and why others cannot be read.
    pub fn all(&self) -> Result<(Vec<ClaimRecord>, Vec<Error>), Error> {
        let (mut records, mut errors) = (Vec::new(), Vec::new());
        for uid in self.uids()? {
            match self.read(&uid) {
                Ok(record) => records.extend(record),
                Err(error) => errors.push(error),
            }
        }
        Ok((records, errors))
    }

    /// Writes a record, which outlives a loss of power from then on.
    pub fn write(&self, record: &ClaimRecord) -> Result<(), Error> {
        let failed = |error| Error::file("create", &self.0, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        atomic_file::write(&self.path(&record.uid), record, Durability::Machine)
    }

    /// Removes a record, if it exists.
    pub fn remove(&self, claim: &ClaimUid) -> Result<(), Error> {
        atomic_file::remove(&self.path(claim))
    }

    fn path(&self, claim: &ClaimUid) -> PathBuf {
        self.0.join(format!("{claim}{EXTENSION}"))
    }

    fn uids(&self) -> Result<Vec<ClaimUid>, Error> {
        let failed = |error| Error::file("list", &self.0, error);
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut uids = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            uids.extend(name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.parse().ok()));
        }
        uids.sort();
        Ok(uids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(uid: &str) -> ClaimRecord {
        let pod = Pod { namespace: "db".into(), name: "a".into(), uid: "u1".parse().unwrap() };
        let port = ClaimPort {
            request: "port".into(),
            pool: "node-a".into(),
            device: "blue".into(),
            share_id: None,
            network: "blue".parse().unwrap(),
            interface: "claim1".parse().unwrap(),
            directory: "port".into(),
            requested: serde_json::Map::new(),
            is_with_sandbox: false,
            attached: None,
        };
        ClaimRecord {
            version: ClaimRecord::VERSION,
            uid: uid.parse().unwrap(),
            namespace: "db".into(),
            name: "uplink".into(),
            generation: 0,
            pod_claim_name: None,
            is_of_extended_resource: false,
            pod,
            ports: vec![port],
            is_reported: false,
        }
    }

    #[test]
    fn a_record_is_there_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let records = ClaimRecords::new(&NodePaths::below(folder.path()));
        assert!(records.is_empty() && records.all().unwrap().0.is_empty());
        let record = record("c-1");
        records.write(&record).unwrap();
        assert_eq!(records.read(&record.uid).unwrap().as_ref(), Some(&record));
        assert_eq!(records.all().unwrap().0, std::slice::from_ref(&record));
        assert!(records.contains(&record.uid).unwrap() && !records.is_empty());
        records.remove(&record.uid).unwrap();
        records.remove(&record.uid).unwrap();
        assert_eq!((records.read(&record.uid).unwrap(), records.contains(&record.uid).unwrap()), (None, false));
    }

    #[test]
    fn what_cannot_be_read_is_still_a_claim() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let records = ClaimRecords::new(&paths);
        records.write(&record("c-1")).unwrap();
        fs::write(paths.claims().join("c-2.json"), "{").unwrap();
        let (read, errors) = records.all().unwrap();
        assert_eq!((read.len(), errors.len()), (1, 1));
        assert!(records.contains(&"c-2".parse().unwrap()).unwrap());
    }

    #[test]
    fn the_attachment_and_the_folder_of_a_port_name_its_claim() {
        let record = record("c-1");
        let port = record.ports.first().unwrap();
        let id = record.attachment(port);
        assert_eq!((id.to_string().as_str(), id.container.claim()), ("claim-c-1.claim1", Some(record.uid.clone())));
        let folder = port_folder(&NodePaths::below(Path::new("/")), &record.uid, &port.interface);
        assert_eq!(folder, Path::new("/run/usnet/claims/c-1.claim1"));
        assert_eq!(claim_of_folder(&folder), Some(record.uid));
        assert_eq!("0123abcd".parse::<ContainerId>().unwrap().claim(), None);
    }
}
