//! The sandboxes of pods, for interfaces that are attached while a pod runs. The plugin writes one
//! when a container runtime calls it for the pod itself and not for a network, so that pods without
//! a network are known as well.

use super::atomic_file::{self, Durability, Error};
use super::network_namespace::inode;
use crate::model::attachment::{ContainerId, PodUid};
use crate::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes.
const SIZE_MAX: u64 = 1 << 16;
const EXTENSION: &str = ".json";
const VERSION: u32 = 1;

/// The sandbox of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    pub container: ContainerId,
    pub network_namespace: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    version: u32,
    #[serde(flatten)]
    sandbox: Sandbox,
    /// Distinguishes the namespace from a later one at its path.
    #[serde(default)]
    network_namespace_inode: Option<u64>,
}

impl Content {
    /// Whether the namespace may be there. Where its folder is not visible, nothing is known.
    fn may_exist(&self) -> bool {
        let path = &self.sandbox.network_namespace;
        let is_visible = path.parent().is_some_and(Path::is_dir);
        !is_visible || (inode(path).is_some() && inode(path) == self.network_namespace_inode)
    }
}

/// The sandboxes of a node. The files do not outlive a reboot, and sandboxes do not either.
#[derive(Debug, Clone)]
pub struct Sandboxes(PathBuf);

impl Sandboxes {
    /// The sandboxes of the node with these paths.
    pub fn new(paths: &NodePaths) -> Self {
        Self(paths.sandboxes())
    }

    /// Records the sandbox of a pod, instead of an earlier one.
    pub fn write(&self, pod: &PodUid, sandbox: Sandbox) -> Result<(), Error> {
        atomic_file::create_folder(&self.0, 0o700)?;
        let network_namespace_inode = inode(&sandbox.network_namespace);
        let content = Content { version: VERSION, sandbox, network_namespace_inode };
        atomic_file::write(&self.path(pod), &content, Durability::Process)
    }

    /// The sandbox of a pod; none if it is not known or its network namespace is gone.
    pub fn read(&self, pod: &PodUid) -> Result<Option<Sandbox>, Error> {
        let content: Option<Content> = atomic_file::read(&self.path(pod), VERSION, SIZE_MAX)?;
        Ok(content.filter(Content::may_exist).map(|content| content.sandbox))
    }

    /// Removes the sandbox of a pod, unless it has another one by now.
    pub fn remove(&self, pod: &PodUid, container: &ContainerId) -> Result<(), Error> {
        let path = self.path(pod);
        match atomic_file::read::<Content>(&path, VERSION, SIZE_MAX) {
            Ok(Some(content)) if content.sandbox.container != *container => Ok(()),
            Ok(None) => Ok(()),
            Ok(Some(_)) | Err(_) => atomic_file::remove(&path),
        }
    }

    /// Removes the sandboxes whose network namespace is gone: of what a runtime did not call DEL
    /// for.
    ///
    /// # Errors
    /// When the folder cannot be listed or a file cannot be removed.
    pub fn remove_gone(&self) -> Result<(), Error> {
        let failed = |error| Error::file("list", &self.0, error);
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let pod = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.parse::<PodUid>().ok());
            let Some(pod) = pod else { continue };
            let content = atomic_file::read::<Content>(&self.path(&pod), VERSION, SIZE_MAX);
            if let Ok(Some(content)) = content
                && !content.may_exist()
            {
                self.remove(&pod, &content.sandbox.container)?;
            }
        }
        Ok(())
    }

    fn path(&self, pod: &PodUid) -> PathBuf {
        self.0.join(format!("{pod}{EXTENSION}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(container: &str, namespace: &str) -> Sandbox {
        Sandbox { container: container.parse().unwrap(), network_namespace: namespace.into() }
    }

    #[test]
    fn a_sandbox_is_known_until_it_is_removed_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let sandboxes = Sandboxes::new(&NodePaths::below(folder.path()));
        let pod: PodUid = "u-1".parse().unwrap();
        assert_eq!(sandboxes.read(&pod).unwrap(), None);
        sandboxes.remove(&pod, &"c1".parse().unwrap()).unwrap();
        let (first, second) = (sandbox("c1", "/proc/self/ns/net"), sandbox("c2", "/proc/self/ns/net"));
        sandboxes.write(&pod, first).unwrap();
        sandboxes.write(&pod, second.clone()).unwrap();
        sandboxes.remove(&pod, &"c1".parse().unwrap()).unwrap();
        assert_eq!(sandboxes.read(&pod).unwrap(), Some(second), "a late DEL of the first sandbox");
        sandboxes.remove(&pod, &"c2".parse().unwrap()).unwrap();
        assert_eq!(sandboxes.read(&pod).unwrap(), None);
    }

    #[test]
    fn a_sandbox_without_its_namespace_is_none_and_is_collected() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let sandboxes = Sandboxes::new(&paths);
        let (gone, there, unseen) = ("u-1", "u-2", "u-3");
        let pod = |uid: &str| uid.parse::<PodUid>().unwrap();
        let path = folder.path().join("netns").display().to_string();
        sandboxes.write(&pod(gone), sandbox("c1", &path)).unwrap();
        sandboxes.write(&pod(there), sandbox("c2", "/proc/self/ns/net")).unwrap();
        sandboxes.write(&pod(unseen), sandbox("c3", "/nowhere/netns/pod")).unwrap();
        assert_eq!(sandboxes.read(&pod(gone)).unwrap(), None);
        sandboxes.remove_gone().unwrap();
        assert_eq!(fs::read_dir(paths.sandboxes()).unwrap().count(), 2);
        assert!(sandboxes.read(&pod(there)).unwrap().is_some() && sandboxes.read(&pod(unseen)).unwrap().is_some());
    }
}
