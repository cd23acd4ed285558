//! `sharedDir` of a legacy configuration: a folder of the node that a pod without a volume shares
//! with the engine. Each container has a folder in it.
//!
//! The author of a configuration could name any folder. Therefore it has to be below a root that
//! the agent's options allow; each component from there to the container's folder is opened
//! separately, and no link is followed. As with the legacy plugin, a pod that sees the folder sees
//! the files of all other pods in it.

use crate::protocol::error::ErrorCode;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use usnet_crds::legacy::plain_path;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::legacy_annotation::{USUAL_MAPPED_DIR, short_id};
use usnet_dataplane::paths::NodePaths;

#[derive(Debug, thiserror::Error)]
pub enum SharedDirError {
    #[error(
        "\"sharedDir\" is {0:?}, and must be an absolute path without \"..\": add the volume `{{name: shared-dir, emptyDir: {{}}}}` to the pod, or correct the NetworkAttachmentDefinition"
    )]
    InvalidPath(String),
    #[error(
        "\"sharedDir\" is {}, and this node allows {}: add the volume `{{name: shared-dir, emptyDir: {{}}}}` to the pod, or start the usnet agent with --shared-dir-root for a folder above it",
        folder.display(), Allowed(roots)
    )]
    NotAllowed { folder: PathBuf, roots: Vec<PathBuf> },
    /// A component of the path is not a folder, for example a link.
    #[error("{}, below the folder that the agent allows, is a link or not a folder, and links are not followed: remove it", .0.display())]
    NotADirectory(PathBuf),
    #[error("cannot create folder {}, which \"sharedDir\" requests", path.display())]
    Create { path: PathBuf, source: io::Error },
}

impl SharedDirError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Create { .. } => ErrorCode::IoFailure,
            Self::InvalidPath(_) | Self::NotAllowed { .. } | Self::NotADirectory(_) => ErrorCode::PodVolume,
        }
    }
}

struct Allowed<'a>(&'a [PathBuf]);

impl std::fmt::Display for Allowed<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => formatter.write_str("none"),
            all => {
                let all: Vec<String> = all.iter().map(|root| root.display().to_string()).collect();
                write!(formatter, "only those below {}", all.join(" and "))
            }
        }
    }
}

/// The folder of one container in a `sharedDir`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedDir {
    /// The root that the agent allows.
    root: PathBuf,
    /// The path from the root to the container's folder.
    path: PathBuf,
}

impl SharedDir {
    /// The folder for this attachment's container in the `sharedDir` of this text, which must be
    /// below one of the roots. Nothing is changed yet.
    pub fn below_root(text: &str, roots: &[PathBuf], id: &AttachmentId) -> Result<Self, SharedDirError> {
        let folder = plain_path(text).ok_or_else(|| SharedDirError::InvalidPath(text.to_owned()))?;
        let below = |root: &PathBuf| Some((root.clone(), folder.strip_prefix(root).ok()?.join(short_id(id))));
        match roots.iter().find_map(below) {
            Some((root, path)) => Ok(Self { root, path }),
            None => Err(SharedDirError::NotAllowed { folder, roots: roots.to_vec() }),
        }
    }

    /// The folder for this attachment's container in the usual folder of the legacy plugin, if that
    /// is one of the roots.
    pub fn usual(paths: &NodePaths, roots: &[PathBuf], id: &AttachmentId) -> Option<Self> {
        let usual = paths.legacy_root.join(USUAL_MAPPED_DIR.trim_start_matches('/'));
        roots.contains(&usual).then(|| Self { root: usual, path: short_id(id).into() })
    }

    pub fn folder(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    /// Creates the folder, with missing parents. The allowed root itself must exist.
    pub fn create(&self) -> Result<(), SharedDirError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut path = self.root.clone();
        let failed = |path: &Path, error: Errno| match error {
            Errno::ELOOP | Errno::ENOTDIR => SharedDirError::NotADirectory(path.to_owned()),
            error => SharedDirError::Create { path: path.to_owned(), source: error.into() },
        };
        let mut above = open(&path, flags, Mode::empty()).map_err(|error| failed(&path, error))?;
        for part in &self.path {
            path.push(part);
            match mkdirat(&above, part, Mode::from_bits_truncate(0o755)) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(&path, error)),
            }
            above =
                openat(&above, part, flags | OFlag::O_NOFOLLOW, Mode::empty()).map_err(|error| failed(&path, error))?;
        }
        set_permissions(&above).map_err(|error| failed(&path, error))
    }
}

/// Lets all users write to the folder, as in an `emptyDir` of kubelet: the pod's users need not be
/// root, and create sockets there.
fn set_permissions(folder: &OwnedFd) -> Result<(), Errno> {
    fchmod(folder, Mode::from_bits_truncate(0o777))
}

/// Removes the folder of a container, unless the pod left files in it.
pub fn clear(record: &Record) {
    let folder = record.directory_source.as_ref();
    let is_ours = |folder: &&PathBuf| folder.file_name().is_some_and(|name| *name == *short_id(&record.id));
    if let Some(folder) = folder.filter(is_ours) {
        let _removed = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn id() -> AttachmentId {
        "ab12cd34ab12cd34.net1".parse().unwrap()
    }

    fn allowed(text: &str, roots: &[&str]) -> Result<PathBuf, SharedDirError> {
        let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        SharedDir::below_root(text, &roots, &id()).map(|shared| shared.folder())
    }

    #[test]
    fn only_folders_below_an_allowed_root_are_accepted() {
        for text in ["/var/run/old", "/var/run/old/", "/var/run/old/deeper/", "/var/run/./old"] {
            let folder = allowed(text, &["/srv", "/var/run/old"]).unwrap();
            assert!(folder.starts_with("/var/run/old") && folder.ends_with("ab12cd34ab12"), "{}", folder.display());
        }
        for text in ["/var/run/older", "/var/run", "/", "/etc"] {
            let rejected = allowed(text, &["/var/run/old"]).unwrap_err().to_string();
            assert!(
                rejected.contains("only those below /var/run/old") && rejected.contains("--shared-dir-root"),
                "{rejected}"
            );
        }
        assert!(allowed("/var/run/old", &[]).unwrap_err().to_string().contains("this node allows none"));
        for text in ["/var/run/old/../../etc", "var/run/old", "", "/var/run/old/\0", "../old"] {
            assert!(matches!(allowed(text, &["/var/run/old"]), Err(SharedDirError::InvalidPath(_))), "{text}");
        }
    }

    #[test]
    fn folders_are_writable_for_all_users_of_the_pod_and_no_link_is_followed() {
        let temporary = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (temporary.path().join("root"), temporary.path().join("elsewhere"));
        fs::create_dir(&elsewhere).unwrap();
        let shared = |text: &str| {
            SharedDir::below_root(root.join(text).to_str().unwrap(), std::slice::from_ref(&root), &id()).unwrap()
        };
        assert!(
            matches!(shared("a").create(), Err(SharedDirError::Create { .. })),
            "the administrator creates the root"
        );
        fs::create_dir(&root).unwrap();
        shared("a/b").create().unwrap();
        shared("a/b").create().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&root.join("a/b/ab12cd34ab12")), mode(&root.join("a/b"))), (0o777, 0o755));
        symlink(&elsewhere, root.join("link")).unwrap();
        fs::create_dir(root.join("c")).unwrap();
        symlink(&elsewhere, root.join("c/ab12cd34ab12")).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/ab12cd34ab12"), "").unwrap();
        for text in ["link", "c", "d"] {
            assert!(matches!(shared(text).create(), Err(SharedDirError::NotADirectory(_))), "{text}");
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
