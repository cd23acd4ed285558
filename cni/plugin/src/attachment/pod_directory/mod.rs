//! The directory that a pod shares with the engine, mounted for the engine at a short path. Its
//! source is the pod's `emptyDir` volume `usnet`, or a folder of the node that belongs to the pod
//! alone.
//!
//! The pod controls its content, and an engine connects to a socket there as root. Therefore the
//! engine and the plugin never use the volume itself but a mount with `nosymfollow`: a link that
//! the pod creates there cannot be followed.

mod device;
mod error;
mod mount;
mod source;
mod volume;

pub use self::error::PodDirectoryError;
use self::error::file_error;
use self::source::Source;
pub use self::volume::{LEGACY_VOLUME, VOLUME};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::DeviceId;
use usnet_dataplane::attachment::{AttachmentId, Pod, PodUid, Record};
use usnet_dataplane::journal;
use usnet_dataplane::paths::NodePaths;

/// How long to wait for the lock of concurrent mounts and unmounts. Each takes milliseconds; on a
/// busy node where many pods start or stop at the same time the queue takes some seconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// What other attachments of the pod still need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillUsed {
    /// The files of these names.
    pub files: BTreeSet<String>,
    /// The directory.
    pub directory: bool,
    /// The source of the directory.
    pub source: bool,
}

/// A pod's directory.
#[derive(Debug, Clone)]
pub struct PodDirectory {
    source: Source,
    folder: PathBuf,
    /// The name of the mount in `folder`. It begins with the pod's uid, so that only the pod's own
    /// attachments use it.
    name: String,
}

impl PodDirectory {
    /// The volume of the pod with this uid, shared by all of its interfaces. Nothing is changed
    /// yet.
    pub fn from_volume(roots: &NodePaths, uid: &PodUid) -> Self {
        Self { source: Source::volumes(roots, uid), folder: roots.ports(), name: uid.to_string() }
    }

    /// A folder of the node for this interface of the pod alone. Nothing is changed yet.
    pub fn from_folder(roots: &NodePaths, uid: &PodUid, id: &AttachmentId, folder: PathBuf) -> Self {
        Self { source: Source::folder(roots, folder), folder: roots.ports(), name: format!("{uid}.{}", id.interface) }
    }

    /// The folder of a device that kubelet allocated to the pod, for one interface. Nothing is
    /// changed yet.
    pub fn from_device(roots: &NodePaths, uid: &PodUid, id: &AttachmentId, device: &DeviceId) -> Self {
        Self::from_folder(roots, uid, id, roots.devices().join(device.to_string()))
    }

    /// The directory of an existing attachment.
    pub fn from_record(roots: &NodePaths, record: &Record) -> Self {
        match &record.directory_source {
            None => Self::from_volume(roots, &record.pod.uid),
            Some(folder) => Self::from_folder(roots, &record.pod.uid, &record.id, folder.clone()),
        }
    }

    /// The source folder, for the record; none for the pod's volume.
    pub fn source_folder(&self) -> Option<&Path> {
        match &self.source {
            Source::Volumes(_) => None,
            Source::Folder(folder) | Source::Device(folder) => Some(folder),
        }
    }

    /// The path of the mount that the engine uses.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Checks that the source exists, or can be created.
    ///
    /// # Errors
    /// When it does not, or it is not a folder of kubelet or usnet.
    pub fn check(&self, pod: &Pod) -> Result<(), PodDirectoryError> {
        if matches!(self.source, Source::Device(_)) {
            return Ok(());
        }
        match (self.source.open(), &self.source) {
            (Err(PodDirectoryError::File { source, path, .. }), Source::Volumes(_))
                if source.kind() == ErrorKind::NotFound =>
            {
                Err(PodDirectoryError::NoVolume { pod: pod.clone(), path })
            }
            (other, _) => other.map(drop),
        }
    }

    /// Whether it is mounted for the engine.
    pub fn is_mounted(&self) -> bool {
        self.source.open().is_ok_and(|volume| is_same_directory(&volume, &self.path()).unwrap_or(false))
    }

    /// Mounts the directory for the engine. Does nothing if it is mounted already.
    ///
    /// # Errors
    /// When the source does not exist or cannot be mounted.
    pub fn mount(&self) -> Result<(), PodDirectoryError> {
        create_folder(&self.folder)?;
        let _lock = self.lock_mounts()?;
        if let Source::Device(device) = &self.source
            && !self.is_mounted()
        {
            device::prepare(device)?;
        }
        let volume = self.source.open()?;
        let path = self.path();
        create_folder(&path)?;
        if is_same_directory(&volume, &path)? {
            return Ok(());
        }
        mount::unmount(&path)?;
        let staging = self.staging();
        mount::unmount(&staging)?;
        create_folder(&staging)?;
        let mounted = mount::mount(&volume, &staging, &path);
        mount::unmount(&staging)?;
        mount::remove_folder(&staging)?;
        mounted
    }

    /// Removes our files and unmounts the directory, except for what is `used` by other
    /// attachments. What is gone already is not an error.
    ///
    /// # Errors
    /// When the other users are unknown, or unmounting fails.
    pub fn release(
        &self,
        files: &[String],
        used: impl FnOnce() -> Result<StillUsed, journal::Error>,
    ) -> Result<(), PodDirectoryError> {
        if !self.folder.exists() {
            return Ok(());
        }
        // The record is written before mounting, and the lock is held from the query to the
        // unmount, so no new user of the directory can be missed.
        let _lock = self.lock_mounts()?;
        let used = used()?;
        for file in files.iter().filter(|file| !used.files.contains(*file)) {
            // If the pod replaced our file, the replacement belongs to the pod and is removed with
            // it.
            let _removed = self.remove(file);
        }
        if !used.directory {
            for path in [self.staging(), self.path()] {
                mount::unmount(&path)?;
                mount::remove_folder(&path)?;
            }
        }
        match &self.source {
            Source::Device(device) if !used.source => device::release(device),
            _ => Ok(()),
        }
    }

    /// Writes or replaces a file that the pod's users may read. The replacement is atomic for
    /// readers.
    ///
    /// # Errors
    /// When the pod occupies the path, or the volume is full.
    pub fn write(&self, file: &str, content: &[u8]) -> Result<(), PodDirectoryError> {
        let failed = |action| move |source| PodDirectoryError::PathOccupied { action, file: file.to_owned(), source };
        let temporary = self.path().join(format!(".{file}.new"));
        remove(&temporary).map_err(failed("prepare"))?;
        // The pod may create a file there at any moment: existing files are never opened, and no
        // link is followed.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).mode(0o644);
        let mut opened = options.open(&temporary).map_err(failed("create"))?;
        opened.set_permissions(Permissions::from_mode(0o644)).map_err(failed("give access to"))?;
        opened.write_all(content).map_err(failed("write"))?;
        fs::rename(&temporary, self.path().join(file)).map_err(failed("replace"))
    }

    /// Lets the pod's users connect to a socket that the engine created: they need not be root, and
    /// engines create sockets without access for others. If the pod replaced the socket, the
    /// replacement is kept as it is.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn set_socket_permissions(&self, file: &str) -> Result<(), PodDirectoryError> {
        let failed =
            |source| PodDirectoryError::PathOccupied { action: "give access to", file: file.to_owned(), source };
        let flags = libc::O_PATH | libc::O_NOFOLLOW;
        let opened = match OpenOptions::new().read(true).custom_flags(flags).open(self.path().join(file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(failed)?,
        };
        if !opened.metadata().map_err(failed)?.file_type().is_socket() {
            return Ok(());
        }
        // By its descriptor: the permissions of the file that was checked are changed.
        let descriptor = format!("/proc/self/fd/{}", opened.as_raw_fd());
        fs::set_permissions(descriptor, Permissions::from_mode(0o777)).map_err(failed)
    }

    /// Removes a file or a link of that name, if it exists.
    ///
    /// # Errors
    /// When it is a directory.
    pub fn remove(&self, file: &str) -> Result<(), PodDirectoryError> {
        let failed = |source| PodDirectoryError::PathOccupied { action: "remove", file: file.to_owned(), source };
        remove(&self.path().join(file)).map_err(failed)
    }

    fn staging(&self) -> PathBuf {
        self.folder.join(format!(".{}.new", self.name))
    }

    /// Serializes mounts and unmounts. The lock is on the folder itself, and is released when its
    /// holder ends.
    fn lock_mounts(&self) -> Result<Flock<File>, PodDirectoryError> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        let mut folder = File::open(&self.folder).map_err(|error| file_error("open", &self.folder, error))?;
        loop {
            folder = match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(lock),
                Err((folder, Errno::EAGAIN | Errno::EINTR)) => folder,
                Err((_, error)) => return Err(file_error("lock", &self.folder, error.into())),
            };
            if Instant::now() >= deadline {
                return Err(PodDirectoryError::Busy(self.folder.clone()));
            }
            sleep(LOCK_RETRY);
        }
    }
}

fn is_same_directory(volume: &File, path: &Path) -> Result<bool, PodDirectoryError> {
    let failed = |error| file_error("look at", path, error);
    let (one, other) = (volume.metadata().map_err(failed)?, fs::symlink_metadata(path).map_err(failed)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

fn create_folder(path: &Path) -> Result<(), PodDirectoryError> {
    // The engine need not run as root.
    let created = DirBuilder::new().recursive(true).mode(0o755).create(path);
    created.map_err(|error| file_error("create", path, error))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
