//! `kubectl usnet capture`: streams the output of `usnet node capture` on the node of a pod.

use super::explain::pod::read::get;
use crate::api::{Cluster, read_usnet, stream_from};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::output::Output;
use crate::private_file;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use usnet_node_output::capture::Limits;

/// Options of `kubectl usnet capture`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The pod, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "POD")]
    pod: String,
    /// The interface of the pod, such as net1.
    interface: String,
    /// The pcapng file to write, or - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
    #[command(flatten)]
    limits: Limits,
}

/// Runs the command. The exit status is [`PROBLEM`] if the node could not capture.
pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Output, Error> {
    let mut output = open(&options.write)?;
    let snapshot = read_usnet(cluster).await?;
    let (namespace, name) = options.pod.split_once('/').unwrap_or((cluster.namespace(), &options.pod));
    let pod = get(cluster, namespace, name).await?;
    let missing = |kind, name: String| Error::NotFound { kind, name, suggestion: String::new() };
    let node = pod.node.as_deref().ok_or_else(|| missing("node", format!("of pod {}", pod.reference())))?;
    let agent = snapshot.agent(node).ok_or_else(|| missing("agent of usnet", format!("on node {node}")))?;
    let pod = pod.reference();
    let mut arguments = vec!["node", "capture", &pod, &options.interface, "--until-stdin-ends"];
    let limits = options.limits.arguments();
    arguments.extend(limits.iter().map(String::as_str));
    let succeeded = stream_from(cluster, agent, "agent", &arguments, &mut *output).await?;
    Ok(Output { text: String::new(), exit_status: if succeeded { SUCCESS } else { PROBLEM } })
}

/// Creates a file that only its owner can read, or returns standard output.
fn open(path: &Path) -> Result<Box<dyn Write>, Error> {
    let failed = |problem: String| Error::File { path: path.to_owned(), problem };
    if path != Path::new("-") {
        return private_file::create(path)
            .map(|file| Box::new(file) as Box<dyn Write>)
            .map_err(|error| failed(error.to_string()));
    }
    if io::stdout().is_terminal() {
        let problem = "frames cannot be written to a terminal: use --write FILE, or pipe the output into a program";
        return Err(Error::Output(problem.to_owned()));
    }
    Ok(Box::new(io::stdout()))
}
