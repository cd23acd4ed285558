//! `kubectl usnet capture`: `usnet node capture` on the node of a pod, whose output comes here.

use super::explain::pod::read::get;
use crate::kubectl::api::{Cluster, read_usnet, stream_from};
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::output::Answer;
use crate::node::CaptureLimits;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Options of `kubectl usnet capture`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The pod, or NAMESPACE/POD.
    #[arg(value_name = "POD")]
    pod: String,
    /// Its interface, such as net1.
    interface: String,
    /// Where the frames are written, as pcapng; - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
    #[command(flatten)]
    limits: CaptureLimits,
}

/// Captures. The exit status is that of a problem if the node could not.
///
/// # Errors
/// When there is no such pod, or its node cannot be asked.
pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Answer, Error> {
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
    Ok(Answer { text: String::new(), exit_status: if succeeded { FINE } else { PROBLEM } })
}

/// A new file that only its owner can read, or standard output.
fn open(path: &Path) -> Result<Box<dyn Write>, Error> {
    let failed = |problem: String| Error::File { path: path.to_owned(), problem };
    if path != Path::new("-") {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
        return file.map(|file| Box::new(file) as Box<dyn Write>).map_err(|error| failed(error.to_string()));
    }
    if io::stdout().is_terminal() {
        let problem = "frames are not written to a terminal: use --write FILE, or pipe the output into a program";
        return Err(Error::Output(problem.to_owned()));
    }
    Ok(Box::new(io::stdout()))
}
