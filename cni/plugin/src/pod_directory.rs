//! The directory that a pod shares with the engine, seen by the engine under a short path. It comes from the pod's `emptyDir` volume `usnet`,
//! or from a folder of the node that is the pod's alone.
//!
//! The pod owns what is in it, and an engine that connects to a socket there does so as root. Therefore the engine and we never see the
//! volume itself but a mount of it with `nosymfollow`: a link that the pod left there leads nowhere.

mod device;
mod mount;
mod source;

use self::source::Source;
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
use usnet_dataplane::roots::Roots;

/// The name of the volume in the pod.
pub const VOLUME: &str = "usnet";
/// What the older userspace CNI called it; taken where there is no [`VOLUME`]. An `emptyDir` as well: a folder of the host is no pod's own.
pub const LEGACY_VOLUME: &str = "shared-dir";
/// How long one waits for other processes that mount or unmount. Each takes milliseconds; on a busy node where many pods start or stop at once
/// it is some seconds until all had their turn.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// Why a pod's directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PodDirectoryError {
    /// The pod does not declare the volume.
    #[error(
        "pod {pod} has no emptyDir volume \"{VOLUME}\" (looked for {}): add `volumes: [{{name: {VOLUME}, emptyDir: {{}}}}]` to the pod and mount it in the container, for example at /run/usnet",
        path.display()
    )]
    NoVolume {
        /// The pod.
        pod: Pod,
        /// Where kubelet would have made it.
        path: PathBuf,
    },
    /// Something else is where the volume should be.
    #[error("{} is not a directory, so it is neither an emptyDir volume of kubelet nor a folder that usnet made", .0.display())]
    NotADirectory(PathBuf),
    /// A file or folder cannot be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The pod left something that is in the way of a file of ours.
    #[error(
        "cannot {action} {file:?} in the folder that the pod shares with the engine: something that the pod left there is in the way"
    )]
    PathOccupied {
        /// What was tried.
        action: &'static str,
        /// The name of the file.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// The kernel cannot keep the engine from following links.
    #[error("this node's kernel has no mounts without symbolic links (nosymfollow): Linux 5.10 or later is needed")]
    NosymfollowUnsupported,
    /// Another process mounts or unmounts and does not come to an end.
    #[error("another process holds {}; try again", .0.display())]
    Busy(PathBuf),
    /// It is not known who else uses the directory.
    #[error("cannot tell whether another interface of the pod is attached")]
    Journal(#[from] journal::Error),
}

/// What other attachments of the pod need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillUsed {
    /// The files of these names.
    pub files: BTreeSet<String>,
    /// The directory.
    pub directory: bool,
    /// The folder that it comes from.
    pub source: bool,
}

/// A pod's directory.
#[derive(Debug, Clone)]
pub struct PodDirectory {
    source: Source,
    folder: PathBuf,
    /// Of the mount in `folder`. It begins with the pod's uid, so that nobody but the pod's own attachments can need it.
    name: String,
}

impl PodDirectory {
    /// The volume of the pod with this uid, which all of its interfaces share. Nothing is touched yet.
    pub fn of_volume(roots: &Roots, uid: &PodUid) -> Self {
        Self { source: Source::volumes(roots, uid), folder: roots.ports(), name: uid.to_string() }
    }

    /// A folder of the node that is there for this interface of the pod alone. Nothing is touched yet.
    pub fn of_folder(roots: &Roots, uid: &PodUid, id: &AttachmentId, folder: PathBuf) -> Self {
        Self { source: Source::folder(roots, folder), folder: roots.ports(), name: format!("{uid}.{}", id.interface) }
    }

    /// The folder of a device that kubelet gave to the pod, for one interface. Nothing is touched yet.
    pub fn of_device(roots: &Roots, uid: &PodUid, id: &AttachmentId, device: &DeviceId) -> Self {
        Self::of_folder(roots, uid, id, roots.devices().join(device.to_string()))
    }

    /// The one that an attachment was made with.
    pub fn of_record(roots: &Roots, record: &Record) -> Self {
        match &record.directory_source {
            None => Self::of_volume(roots, &record.pod.uid),
            Some(folder) => Self::of_folder(roots, &record.pod.uid, &record.id, folder.clone()),
        }
    }

    /// The folder that it comes from, for the record; none when it is the pod's volume.
    pub fn source_folder(&self) -> Option<&Path> {
        match &self.source {
            Source::Volumes(_) => None,
            Source::Folder(folder) | Source::Device(folder) => Some(folder),
        }
    }

    /// Where the engine sees it.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Whether what it comes from is there, or can be made.
    ///
    /// # Errors
    /// When it is not, or it is not what kubelet or usnet makes.
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

    /// Whether the engine sees it there.
    pub fn is_mounted(&self) -> bool {
        self.source.open().is_ok_and(|volume| is_same_directory(&volume, &self.path()).unwrap_or(false))
    }

    /// Lets the engine see the directory. Nothing happens when it does already.
    ///
    /// # Errors
    /// When what it comes from is not there or cannot be mounted.
    pub fn mount(&self) -> Result<(), PodDirectoryError> {
        create_folder(&self.folder)?;
        let _turn = self.lock_mounts()?;
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
        remove_folder(&staging)?;
        mounted
    }

    /// Removes files of ours and takes the directory from the engine, as far as `used` says that nobody needs them. What is gone already is
    /// no error.
    ///
    /// # Errors
    /// When it cannot be told who needs them, or the mount stays.
    pub fn release(
        &self,
        files: &[String],
        used: impl FnOnce() -> Result<StillUsed, journal::Error>,
    ) -> Result<(), PodDirectoryError> {
        if !self.folder.exists() {
            return Ok(());
        }
        // Whoever mounts writes its record before: between question and unmount nobody can come to need the directory unseen.
        let _turn = self.lock_mounts()?;
        let used = used()?;
        for file in files.iter().filter(|file| !used.files.contains(*file)) {
            // What the pod put there in place of our file is the pod's own, and goes with it.
            let _removed = self.remove(file);
        }
        if !used.directory {
            for path in [self.staging(), self.path()] {
                mount::unmount(&path)?;
                remove_folder(&path)?;
            }
        }
        match &self.source {
            Source::Device(device) if !used.source => device::release(device),
            _ => Ok(()),
        }
    }

    /// Writes a file that the pod's users may read, in place of what is there under that name. Readers see the old one or the new one.
    ///
    /// # Errors
    /// When the pod left something there that is in the way, or the volume is full.
    pub fn write(&self, file: &str, content: &[u8]) -> Result<(), PodDirectoryError> {
        let failed = |action| move |source| PodDirectoryError::PathOccupied { action, file: file.to_owned(), source };
        let temporary = self.path().join(format!(".{file}.new"));
        remove(&temporary).map_err(failed("prepare"))?;
        // The pod may put something there at any moment: what is there is never opened, and no link is followed.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).mode(0o644);
        let mut opened = options.open(&temporary).map_err(failed("create"))?;
        opened.set_permissions(Permissions::from_mode(0o644)).map_err(failed("give access to"))?;
        opened.write_all(content).map_err(failed("write"))?;
        fs::rename(&temporary, self.path().join(file)).map_err(failed("replace"))
    }

    /// Lets the pod's users connect to a socket that the engine made: they need not be root, and the engine gives no access to others. What
    /// the pod put in its place stays as it is.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn share_socket(&self, file: &str) -> Result<(), PodDirectoryError> {
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
        // By its descriptor: what was looked at is what is changed.
        let descriptor = format!("/proc/self/fd/{}", opened.as_raw_fd());
        fs::set_permissions(descriptor, Permissions::from_mode(0o777)).map_err(failed)
    }

    /// Removes a file, or a link, under that name. It may be absent.
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

    /// One at a time mounts and unmounts. The lock is on the folder itself, and goes with its holder.
    fn lock_mounts(&self) -> Result<Flock<File>, PodDirectoryError> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        let mut folder = File::open(&self.folder).map_err(|error| file_error("open", &self.folder, error))?;
        loop {
            folder = match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
                Ok(turn) => return Ok(turn),
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
    let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|error| file_error("create", path, error))
}

fn remove_folder(path: &Path) -> Result<(), PodDirectoryError> {
    match fs::remove_dir(path) {
        // What somebody else put there is not ours to remove.
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
            Err(file_error("remove", path, error))
        }
        _ => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn file_error(action: &'static str, path: &Path, source: io::Error) -> PodDirectoryError {
    PodDirectoryError::File { action, path: path.to_owned(), source }
}
