//! `kubectl usnet capture`: streams the output of `usnet node capture` on the node of a pod.

use super::explain::pod::read::get;
use crate::api::{Cluster, read_usnet, stream_from};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::output::Output;
use crate::private_file;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use usnet_node_output::capture::Limits;
use usnet_node_output::pcapng;

/// How long the node may take beside the capture: its engine may need 10 s to connect.
const GRACE: Duration = Duration::from_secs(20);

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
    let mut output = FrameOutput::open(&options.write)?;
    let streamed = stream(cluster, options, &mut output).await;
    output.complete(&format!("{} {}", options.pod, options.interface))?;
    Ok(Output { text: String::new(), exit_status: if streamed? { SUCCESS } else { PROBLEM } })
}

/// Copies the output of the node of the pod. Returns whether the node could capture.
async fn stream(cluster: &Cluster, options: &Options, output: &mut dyn Write) -> Result<bool, Error> {
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
    let limit = cluster.timeout + Duration::from_secs(options.limits.seconds) + GRACE;
    stream_from(cluster, agent, "agent", &arguments, limit, output).await
}

/// The output of the frames.
struct FrameOutput {
    path: PathBuf,
    writer: Box<dyn Write>,
    /// Whether it is a file that has no content yet.
    is_empty_file: bool,
}

impl FrameOutput {
    /// Creates a file that only its owner can read, or uses standard output.
    fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::File { path: path.to_owned(), problem: error.to_string() };
        if path != Path::new("-") {
            let file = private_file::create(path).map_err(failed)?;
            let is_empty_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
            return Ok(Self { path: path.to_owned(), writer: Box::new(file), is_empty_file });
        }
        if io::stdout().is_terminal() {
            let problem = "frames cannot be written to a terminal: use --write FILE, or pipe the output into a program";
            return Err(Error::Output(problem.to_owned()));
        }
        Ok(Self { path: path.to_owned(), writer: Box::new(io::stdout()), is_empty_file: false })
    }

    /// Makes a file that Wireshark reads of one to which the node has written nothing.
    fn complete(&mut self, interface: &str) -> Result<(), Error> {
        if !self.is_empty_file {
            return Ok(());
        }
        let written = self.write_all(&pcapng::header(interface, 0));
        written.map_err(|error| Error::File { path: self.path.clone(), problem: error.to_string() })
    }
}

impl Write for FrameOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_empty_file &= bytes.is_empty();
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_frames_has_a_header_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.pcapng");
        let mut output = FrameOutput::open(&path).unwrap();
        output.complete("web/dpdk-0 net1").unwrap();
        let empty = std::fs::read(&path).unwrap();
        assert_eq!(empty[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        let mut output = FrameOutput::open(&path).unwrap();
        output.write_all(b"of the node").unwrap();
        output.complete("web/dpdk-0 net1").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"of the node");
    }
}
