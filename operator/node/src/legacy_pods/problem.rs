//! Why an interface of the legacy plugin is not taken over.

use std::path::PathBuf;
use usnet_crds::EngineKind;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::InvalidIdentifier;
use usnet_plugin::protocol::configuration::ConfigurationError;

/// Why an interface is not taken over.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    File(#[from] atomic_file::Error),
    #[error("its name is not local-<12 characters of the container's id>-<interface>.json")]
    Name,
    #[error("it is no regular file of at most {max_size} bytes")]
    NotAFile { max_size: u64 },
    #[error("it is not in the format of Intel's Userspace CNI")]
    Damaged(#[source] serde_json::Error),
    #[error(
        "it has neither \"vhostname\" of Open vSwitch nor \"swIfIndex\" of VPP: it is empty, cut, or of another program"
    )]
    Content,
    #[error("\"vhostname\" is {0:?}, which the legacy plugin names no port")]
    PortName(String),
    #[error(
        "no call for this interface is kept in {}: its pod is unknown, so recreate that pod",
        folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    NotCached { folders: Vec<PathBuf> },
    #[error("calls for {0} containers are kept whose ids begin like this one")]
    Ambiguous(usize),
    #[error("the configuration that is kept of its call is damaged, or of another plugin")]
    CachedConfiguration,
    #[error("the call has no valid {argument}: recreate its pod")]
    NoPod { argument: &'static str },
    #[error(transparent)]
    Identifier(#[from] InvalidIdentifier),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("its configuration names engine {configured}, and the file is of {found}")]
    Engine { configured: EngineKind, found: EngineKind },
    /// The switch creates such a socket again in its own folder, where the pod does not see it.
    #[error("Open vSwitch listens for its program (host.vhost.mode is not client): recreate its pod")]
    Listens,
    #[error("the result of its call has no network namespace")]
    NoNamespace,
    #[error("the addresses in the result of its call cannot be read")]
    Addresses(#[source] serde_json::Error),
    #[error("network namespace {} is gone, and so is its pod", .0.display())]
    Gone(PathBuf),
}
