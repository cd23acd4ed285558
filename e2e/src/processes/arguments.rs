//! The command line of `e2e/world`.

use std::path::PathBuf;

use clap::Parser;

use crate::engines::selection::Engines;

/// Runs a command in a Kubernetes cluster of its own, in namespaces of this machine, and ends the
/// cluster with it.
///
/// COMMAND finds kubectl, `on-node NODE COMMAND...`, `on-fabric COMMAND...` (a host outside of the
/// cluster, on the network of the nodes' eth1) and `component stop|start NAME [NODE]` on its PATH,
/// and KUBECONFIG and USNET_WORLD (the test bed's folder) in its environment; with a VPP,
/// USNET_WORLD_VPP says whether it is `real` or the `simulator`. The exit status is that of
/// COMMAND, or 125 when the test bed did not start. On failure the logs are kept in
/// e2e/world.failed/.
#[derive(Debug, Parser)]
#[command(name = "world")]
pub struct Arguments {
    /// Number of nodes: node-a, node-b and so on.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=26))]
    pub nodes: u8,

    /// What forwards packets on each node.
    #[arg(long, value_enum, default_value_t = Engines::Both)]
    pub engine: Engines,

    /// Leave out usnet: the cluster alone.
    #[arg(long)]
    pub no_install: bool,

    /// The version of Kubernetes, such as 1.32: one for which there is a folder
    /// `e2e/tools/kubernetes-VERSION`. Without it, that of `e2e/tools/kubernetes`.
    // `e2e/world` builds that version and passes it as one of the tools.
    #[arg(long, env = "USNET_KUBERNETES", value_name = "VERSION")]
    pub kubernetes: Option<String>,

    /// Folders of the Go-built programs, joined by ':'. `e2e/world` sets it.
    #[arg(long, env = "USNET_TOOLS", value_delimiter = ':', hide = true, required = true)]
    pub tools: Vec<PathBuf>,

    /// The checkout. `e2e/world` sets it.
    #[arg(long, env = "USNET_CHECKOUT", hide = true)]
    pub checkout: PathBuf,

    /// Folder with the static binaries `usnet` and `userspace`.
    #[arg(long, env = "USNET_IMAGE_BINARIES", hide = true, required_unless_present_any = ["no_install", "image"])]
    pub image_binaries: Option<PathBuf>,

    /// Archive of usnet's image, as `make image` writes it. All nodes load it, also without usnet.
    #[arg(long, env = "USNET_IMAGE", hide = true)]
    pub image: Option<PathBuf>,

    /// What to run in the test bed.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
