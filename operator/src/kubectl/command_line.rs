//! The command line of `kubectl usnet`.

use super::api::{Cluster, ConnectionOptions};
use super::commands::{
    capture, explain, graph, history, migrate, plan, pods, status, support_bundle, test, top, trace, version,
};
use super::completion;
use super::error::{Error, FINE};
use super::output::{Answer, Format, print};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use tokio::runtime::Builder;

/// The name of the binary by which it is this plugin.
pub const NAME: &str = "kubectl-usnet";
/// The name by which kubectl asks what can be completed.
pub const COMPLETION_NAME: &str = "kubectl_complete-usnet";

/// The end of the help.
pub(crate) const EXIT_STATUSES: &str = "\
Exit status:
  0  nothing is wrong, or nothing would change
  1  something is wrong, or would change
  2  wrong options
  3  an object does not exist, or its name is ambiguous
  4  no permission to read what the answer needs
  5  the API server cannot be reached, or failed
  6  usnet is not installed in this cluster
  7  a file cannot be used, or the output cannot be written";

/// Show networks for DPDK pods, across all nodes of a cluster. No command but test changes networks
/// or pods.
#[derive(Debug, Parser)]
#[command(name = NAME, bin_name = "kubectl usnet", version, after_help = EXIT_STATUSES)]
struct CommandLine {
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(subcommand)]
    command: Command,
}

/// How the answer of most commands is written.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Written {
    /// The output format.
    #[arg(short, long, global = true, value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show whether controllers, agents, engines and networks work, and what needs action.
    Status(Written),
    /// Show the pods of a network, on which nodes they are, and whether their programs are
    /// connected.
    Pods {
        #[command(flatten)]
        options: pods::Options,
        #[command(flatten)]
        written: Written,
    },
    /// Show what agents and the CNI plugin changed on the nodes, oldest first.
    History {
        #[command(flatten)]
        options: history::Options,
        #[command(flatten)]
        written: Written,
    },
    /// Show the traffic of interfaces, those with the most first.
    Top {
        #[command(flatten)]
        options: top::Options,
        #[command(flatten)]
        written: Written,
    },
    /// Copy the frames of a pod's interface to a file, for Wireshark and tcpdump.
    Capture(capture::Options),
    /// Show why a pod, a network or a node does not work, and what to do.
    Explain {
        #[command(subcommand)]
        subject: explain::Subject,
        #[command(flatten)]
        written: Written,
    },
    /// Show what manifests would change on the nodes, without applying them. The exit status is
    /// that of kubectl diff: 0 if nothing would change, 1 if something would, more on failure.
    Plan {
        #[command(flatten)]
        options: plan::Options,
        #[command(flatten)]
        written: Written,
    },
    /// Prepare the migration from the userspace CNI (Intel).
    Migrate {
        #[command(subcommand)]
        action: migrate::Action,
        #[command(flatten)]
        written: Written,
    },
    /// Test whether pods can be attached and exchange frames, on each node and engine. Namespaces
    /// and networks of its own are removed afterwards.
    Test {
        #[command(flatten)]
        options: test::Options,
        #[command(flatten)]
        written: Written,
    },
    /// Show networks, nodes and pods as a graph.
    Graph(graph::Options),
    /// Show the way of packets from one pod to another step by step, and where it ends.
    Trace {
        #[command(flatten)]
        options: trace::Options,
        #[command(flatten)]
        written: Written,
    },
    /// Collect what is needed to find a fault, from the API server and all nodes, into one file,
    /// without secrets.
    SupportBundle(support_bundle::Options),
    /// Show the versions of this program, the controllers and the agents, and whether they differ.
    Version(Written),
    /// Print a script by which a shell completes the options of kubectl-usnet.
    Completion {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// The definition of the command line.
pub(crate) fn command() -> clap::Command {
    let mut command = CommandLine::command();
    command.build();
    command
}

/// Runs the plugin, or answers what can be completed. `arguments` begin with the name of the
/// program.
pub fn main(arguments: Vec<OsString>, is_completion: bool) -> ExitCode {
    if is_completion {
        let words = arguments.get(1..).unwrap_or_default();
        return exit_code(print(&completion::complete(&command(), words)).map(|()| FINE));
    }
    let command_line = CommandLine::parse_from(arguments);
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit_code(Err(Error::Output(error.to_string()))),
    };
    let answer = runtime.block_on(run(command_line));
    exit_code(answer.and_then(|answer| print(&answer.text).map(|()| answer.exit_status)))
}

fn exit_code(result: Result<u8, Error>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let _written = writeln!(io::stderr(), "kubectl usnet: {}", error.sentence());
            ExitCode::from(&error)
        }
    }
}

async fn run(command_line: CommandLine) -> Result<Answer, Error> {
    let CommandLine { connection, command } = command_line;
    if let Command::Completion { shell } = command {
        return Ok(Answer { text: script(shell), exit_status: FINE });
    }
    let cluster = Cluster::connect(&connection).await?;
    match command {
        Command::Status(written) => status::run(&cluster, written.output).await,
        Command::Pods { options, written } => pods::run(&cluster, &options, written.output).await,
        Command::History { options, written } => history::run(&cluster, &options, written.output).await,
        Command::Top { options, written } => top::run(&cluster, &options, written.output).await,
        Command::Capture(options) => capture::run(&cluster, &options).await,
        Command::Explain { subject, written } => explain::run(&cluster, &subject, written.output).await,
        Command::Migrate { action, written } => migrate::run(&cluster, &action, written.output).await,
        Command::Plan { options, written } => plan::run(&cluster, &options, written.output).await,
        Command::Test { options, written } => test::run(&cluster, &options, written.output).await,
        Command::Graph(options) => graph::run(&cluster, &options).await,
        Command::Trace { options, written } => trace::run(&cluster, &options, written.output).await,
        Command::SupportBundle(options) => support_bundle::run(&cluster, &options).await,
        Command::Version(written) => version::run(&cluster, written.output).await,
        Command::Completion { .. } => Ok(Answer { text: String::new(), exit_status: FINE }),
    }
}

/// The completion script of a shell.
fn script(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), NAME, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_do_not_clash() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn each_shell_has_a_script() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(text.contains(NAME) && text.contains("explain"), "{shell}: {text}");
        }
    }
}
