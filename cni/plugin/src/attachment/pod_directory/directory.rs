//! One pod's directory: its source and its mount.

use super::error::{PodDirectoryError, file_error};
use super::folder::{create_folder, create_if_missing};
use super::lock::lock_mounts;
use super::source::Source;
use super::{containers, device, engine_folder, files, mount};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use usnet_crds::{DeviceId, VolumeName};
use usnet_dataplane::attachment::{AttachmentId, ClaimUid, Pod, PodUid, Record};
use usnet_dataplane::claim_records::port_folder;
use usnet_dataplane::journal;
use usnet_dataplane::locks::Lock;
use usnet_dataplane::paths::NodePaths;

/// The parts of a pod's directory that other attachments still need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillUsed {
    /// The names of files.
    pub files: BTreeSet<String>,
    pub directory: bool,
    pub source: bool,
}

#[derive(Debug, Clone)]
pub struct PodDirectory {
    source: Source,
    /// The source, once it was opened.
    opened: OnceLock<Arc<File>>,
    folder: PathBuf,
    uid: PodUid,
    /// The name of the mount in `folder`. It begins with the pod's uid, so that only the pod's own
    /// attachments use it.
    name: String,
    /// The inode of the pod's network namespace, if the pod has one.
    network_namespace: Option<u64>,
    /// The node's `/proc`.
    processes: PathBuf,
}

/// The constructors change nothing.
impl PodDirectory {
    /// The volume of the pod with this uid, shared by all of its interfaces.
    pub fn from_volume(paths: &NodePaths, uid: &PodUid) -> Self {
        Self::new(paths, uid, Source::volumes(paths, uid), uid.to_string())
    }

    /// The volume of the pod that has this name, for one interface.
    pub fn from_named_volume(paths: &NodePaths, uid: &PodUid, id: &AttachmentId, volume: &VolumeName) -> Self {
        Self::new(paths, uid, Source::named_volume(paths, uid, volume), format!("{uid}.{}", id.interface))
    }

    /// A folder of the node for this interface of the pod alone.
    pub fn from_folder(paths: &NodePaths, uid: &PodUid, id: &AttachmentId, folder: PathBuf) -> Self {
        Self::new(paths, uid, Source::folder(paths, folder), format!("{uid}.{}", id.interface))
    }

    /// The folder of a device that kubelet allocated to the pod, for one interface.
    pub fn from_device(paths: &NodePaths, uid: &PodUid, id: &AttachmentId, device: &DeviceId) -> Self {
        Self::from_folder(paths, uid, id, paths.devices().join(device.to_string()))
    }

    /// The folder of the port of a resource claim, for one interface.
    pub fn from_claim(paths: &NodePaths, uid: &PodUid, id: &AttachmentId, claim: &ClaimUid) -> Self {
        Self::from_folder(paths, uid, id, port_folder(paths, claim, &id.interface))
    }

    fn new(paths: &NodePaths, uid: &PodUid, source: Source, name: String) -> Self {
        let (folder, processes) = (paths.ports(), paths.processes.clone());
        Self { source, opened: OnceLock::new(), folder, uid: uid.clone(), name, network_namespace: None, processes }
    }

    /// The directory of an attachment that has a record.
    pub fn from_record(paths: &NodePaths, record: &Record) -> Self {
        let directory = match &record.directory_source {
            None => Self::from_volume(paths, &record.pod.uid),
            Some(folder) => Self::from_folder(paths, &record.pod.uid, &record.id, folder.clone()),
        };
        Self { network_namespace: record.network_namespace_inode, ..directory }
    }

    /// The same directory, which may be open already.
    #[must_use]
    pub fn opened_as(self, same: &Self) -> Self {
        Self { opened: same.opened.clone(), ..self }
    }

    /// Opens the source, once for all steps of a call: only kubelet and usnet could replace it.
    /// That of a device gets a file system with the mount.
    fn open(&self) -> Result<Arc<File>, PodDirectoryError> {
        if let Some(opened) = self.opened.get() {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(self.source.open()?);
        match self.source {
            Source::Device(_) => Ok(opened),
            Source::Volumes(_) | Source::NamedVolume(_) | Source::Folder(_) => {
                Ok(Arc::clone(self.opened.get_or_init(|| opened)))
            }
        }
    }

    /// The source folder, for the record; none for the pod's default volume.
    pub fn source_folder(&self) -> Option<&Path> {
        match &self.source {
            Source::Volumes(_) => None,
            Source::NamedVolume(folder) | Source::Folder(folder) | Source::Device(folder) => Some(folder),
        }
    }

    /// The path of the mount that the engine uses.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Checks that the source exists, or can be created, and is a folder of kubelet or usnet.
    pub fn check(&self, pod: &Pod) -> Result<(), PodDirectoryError> {
        if matches!(self.source, Source::Device(_)) {
            return Ok(());
        }
        match (self.open(), &self.source) {
            (Err(PodDirectoryError::File { source, path, .. }), Source::Volumes(_) | Source::NamedVolume(_))
                if source.kind() == ErrorKind::NotFound =>
            {
                let volume = path.file_name().unwrap_or_default().to_string_lossy().into();
                Err(PodDirectoryError::NoVolume { pod: pod.clone(), volume, path })
            }
            (other, _) => other.map(drop),
        }
    }

    /// Whether it is the volume of Userspace CNI.
    pub fn is_legacy_volume(&self) -> bool {
        self.source.is_legacy_volume()
    }

    pub fn is_mounted(&self) -> bool {
        self.source.open().is_ok_and(|volume| is_same_directory(&volume, &self.path()).unwrap_or(false))
    }

    /// Mounts the directory for the engine. Does nothing if it is mounted already.
    pub fn mount(&self) -> Result<(), PodDirectoryError> {
        let _lock = match self.lock() {
            Err(error) if error.is_not_found() => {
                create_folder(&self.folder)?;
                self.lock()?
            }
            locked => locked?,
        };
        if let Source::Device(device) = &self.source
            && !self.is_mounted()
        {
            device::prepare(&self.processes, device, self.network_namespace)?;
        }
        let volume = self.open()?;
        let path = self.path();
        // Nothing is mounted on a new folder.
        if !create_if_missing(&path)? {
            if is_same_directory(&volume, &path)? {
                return Ok(());
            }
            mount::unmount(&path)?;
        }
        mount::mount(&volume, &self.staging(), &path)
    }

    /// Removes our files and unmounts the directory, except for the parts that are `used` by other
    /// attachments. A part that is gone already is not an error.
    pub fn release(
        &self,
        files: &[String],
        used: impl FnOnce() -> Result<StillUsed, journal::Error>,
    ) -> Result<(), PodDirectoryError> {
        // The record is written before mounting, and the lock is held from the query to the
        // unmount, so no new user of the directory can be missed.
        let _lock = match self.lock() {
            // Without the folder nothing is mounted.
            Err(error) if error.is_not_found() => return Ok(()),
            locked => locked?,
        };
        let used = used()?;
        for file in files.iter().filter(|file| !used.files.contains(*file)) {
            // If this fails, the pod has replaced our file by a folder, which is removed with the
            // pod.
            let _removed = files::remove(&self.path(), file);
        }
        if !used.directory {
            mount::remove(&self.staging())?;
            mount::remove(&self.path())?;
        }
        match &self.source {
            Source::Device(device) if !used.source => device::release(device),
            _ => Ok(()),
        }
    }

    /// Writes or replaces a file that the pod's users may read. The replacement is atomic for
    /// readers.
    pub fn write(&self, file: &str, content: &[u8]) -> Result<(), PodDirectoryError> {
        files::write(&self.path(), file, content)
    }

    /// Lets the pod's users connect to a socket that the engine created, if it is still there.
    pub fn set_socket_permissions(&self, file: &str) -> Result<(), PodDirectoryError> {
        files::set_socket_permissions(&self.path(), file)
    }

    /// The name of the folder of the engine for the port of this name.
    pub fn engine_folder(port: &str) -> String {
        engine_folder::name(port)
    }

    /// Whether the pod can follow links in it: usnet mounts the folders of devices without.
    pub fn follows_links(&self) -> bool {
        !matches!(self.source, Source::Device(_))
    }

    /// Mounts a folder of the engine for the port of this name, and makes the socket `file` a link
    /// to the one in it.
    pub fn mount_engine_folder(&self, port: &str, folder: &Path, file: &str) -> Result<(), PodDirectoryError> {
        let _lock = self.lock()?;
        let directory = self.source.open()?;
        if self
            .network_namespace
            .is_some_and(|namespace| containers::are_running(&self.processes, namespace, &directory))
        {
            return Err(PodDirectoryError::RunningContainers);
        }
        engine_folder::mount(&directory, &engine_folder::name(port), (folder, &self.staging()), file)
    }

    /// Whether the folder of the engine is mounted for the port of this name.
    pub fn has_engine_folder(&self, port: &str, folder: &Path) -> bool {
        let name = engine_folder::name(port);
        self.source.open().is_ok_and(|directory| engine_folder::is_mounted(&directory, &name, folder))
    }

    /// Unmounts the folder of the engine for the port of this name.
    pub fn unmount_engine_folder(&self, port: &str) -> Result<(), PodDirectoryError> {
        let _lock = self.lock()?;
        match self.source.open() {
            // It is gone with the pod.
            Err(_) => Ok(()),
            Ok(directory) => engine_folder::unmount(&directory, &engine_folder::name(port)),
        }
    }

    /// Removes a file or a link of that name, if it exists, also before the directory is mounted. A
    /// directory is an error.
    pub fn remove(&self, file: &str) -> Result<(), PodDirectoryError> {
        match self.open() {
            // It is created with the mount, and empty.
            Err(PodDirectoryError::File { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
            // The mount is refused, and says more.
            Err(PodDirectoryError::NotADirectory(_)) => Ok(()),
            opened => {
                let directory = opened?;
                files::remove_from(&directory, file)
            }
        }
    }

    /// Locks the mounts of the pod and, because it may be reallocated to another pod, of the
    /// device.
    fn lock(&self) -> Result<Lock, PodDirectoryError> {
        let device = match &self.source {
            Source::Device(device) => Some(device.as_path()),
            Source::Volumes(_) | Source::NamedVolume(_) | Source::Folder(_) => None,
        };
        lock_mounts(&self.folder, Some(&self.uid), device)
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.folder.join(format!(".{}.new", self.name))
    }
}

fn is_same_directory(volume: &File, path: &Path) -> Result<bool, PodDirectoryError> {
    let failed = |error| file_error("read", path, error);
    let (one, other) = (volume.metadata().map_err(failed)?, fs::symlink_metadata(path).map_err(failed)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}
