//! The command line of `e2e/world`.

use std::path::PathBuf;

use clap::Parser;

use crate::engines::selection::Engines;

/// Runs a command in a new Kubernetes cluster in namespaces of this machine, and removes the
/// cluster afterwards.
///
/// COMMAND has kubectl, `on-node NODE COMMAND...`, `on-fabric COMMAND...` (for a host outside of
/// the cluster, on the network of the nodes' eth1) and `component stop|start NAME [NODE]` on its
/// PATH, and KUBECONFIG and USNET_WORLD (the test bed's folder) in its environment. With VPP,
/// USNET_WORLD_VPP is `real` or `simulator`. The exit status is that of COMMAND, or 125 if the test
/// bed did not start. After a failure the logs are in e2e/world.failed/.
#[derive(Debug, Parser)]
#[command(name = "world")]
pub struct Arguments {
    /// The number of nodes, which are called node-a, node-b and so on.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=26))]
    pub nodes: u8,

    /// The engines on each node.
    #[arg(long, value_enum, default_value_t = Engines::Both)]
    pub engine: Engines,

    /// Start the cluster without usnet.
    #[arg(long)]
    pub no_install: bool,

    /// The version of Kubernetes, such as 1.32, for which there is a folder
    /// `e2e/tools/kubernetes-VERSION`; default that of `e2e/tools/kubernetes`.
    // `e2e/world` builds that version and passes its folder in USNET_TOOLS.
    #[arg(long, env = "USNET_KUBERNETES", value_name = "VERSION")]
    pub kubernetes: Option<String>,

    /// The folders of the Go programs, separated by ':'. `e2e/world` sets it.
    #[arg(long, env = "USNET_TOOLS", value_delimiter = ':', hide = true, required = true)]
    pub tools: Vec<PathBuf>,

    /// The checkout. `e2e/world` sets it.
    #[arg(long, env = "USNET_CHECKOUT", hide = true)]
    pub checkout: PathBuf,

    /// The folder with the static binaries `usnet` and `userspace`.
    #[arg(long, env = "USNET_IMAGE_BINARIES", hide = true, required_unless_present_any = ["no_install", "image"])]
    pub image_binaries: Option<PathBuf>,

    /// The archive of usnet's image that `make image` wrote. All nodes load it, even with
    /// --no-install.
    #[arg(long, env = "USNET_IMAGE", hide = true)]
    pub image: Option<PathBuf>,

    /// The command to run in the test bed.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
