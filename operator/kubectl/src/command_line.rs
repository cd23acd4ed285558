//! The command line of `kubectl usnet`.

use super::api::{Cluster, ConnectionOptions};
use super::commands::{
    capture, explain, graph, history, migrate, plan, pods, report, status, support_bundle, test, top, trace, version,
};
use super::completion;
use super::error::{Error, SUCCESS};
use super::output::{ColorChoice, Format, Output, Screen, print};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use tokio::runtime::Builder;
use usnet_common::release;

/// kubectl finds the plugin by this name.
const NAME: &str = "kubectl-usnet";
/// kubectl runs the program by this name for completion.
const COMPLETION_NAME: &str = "kubectl_complete-usnet";

pub(crate) const EXIT_STATUSES: &str = "\
Exit status:
  0  nothing is wrong, or nothing would change
  1  something is wrong, or would change
  2  wrong options
  3  an object does not exist, or its name is ambiguous
  4  no permission to read what the command needs
  5  the API server cannot be reached or failed, or the kubeconfig cannot be used
  6  usnet is not installed in this cluster
  7  a file cannot be used, or the output cannot be written";

/// Show and explain the networks of DPDK and VPP pods on all nodes of a cluster. Only the command
/// test changes networks or pods.
#[derive(Debug, Parser)]
#[command(name = NAME, bin_name = "kubectl usnet", version = release::text(), after_help = EXIT_STATUSES)]
struct CommandLine {
    #[command(flatten)]
    connection: ConnectionOptions,
    /// When states have colors in texts.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, clap::Args)]
struct OutputOptions {
    /// The output format.
    #[arg(short = 'o', long = "output", global = true, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show whether controllers, agents, engines and networks work, and what needs action.
    Status(OutputOptions),
    /// Show the pods of a network with their nodes, and whether their programs are connected.
    Pods {
        #[command(flatten)]
        options: pods::Options,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show what agents and the CNI plugin changed on the nodes, oldest first.
    History {
        #[command(flatten)]
        options: history::Options,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show the traffic of the interfaces of pods, the busiest first.
    Top {
        #[command(flatten)]
        options: top::Options,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Copy the frames of a pod's interface to a file, for Wireshark and tcpdump.
    Capture(capture::Options),
    /// Show why a pod, a network, a node or a UserspaceEngine (usne) does not work, and what to do.
    /// Of a Deployment and the like it explains the worst of its pods, of a UserspaceAttachment
    /// (usna) its interface.
    Explain {
        #[command(flatten)]
        subject: explain::Subject,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show what manifests would change on the nodes, without applying them. The exit status is
    /// that of kubectl diff: 0 if nothing would change, 1 if something would, greater than 1 on
    /// failure.
    Plan {
        #[command(flatten)]
        options: plan::Options,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Prepare the migration from the userspace CNI (Intel).
    Migrate {
        #[command(subcommand)]
        action: migrate::Action,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Test whether pods can be attached and exchange frames, on each node and engine. The
    /// namespaces and networks that the test creates are removed afterwards.
    Test {
        #[command(flatten)]
        options: test::Options,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show networks, nodes and pods as a graph.
    Graph(graph::Options),
    /// Write the state of all of usnet as a page for a browser: problems, the graph, traffic and
    /// changes. The page is one file and loads nothing.
    Report(report::Options),
    /// Show the path of packets from one pod to another step by step, and where it is broken.
    Trace {
        #[command(flatten)]
        options: trace::Options,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Collect diagnostic data from the API server and all nodes into one file, without secrets.
    SupportBundle(support_bundle::Options),
    /// Show the versions of this program, the controllers and the agents, and whether they differ.
    Version(OutputOptions),
    /// Print the completion script of a shell for kubectl-usnet.
    Completion {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
}

pub(crate) fn command() -> clap::Command {
    let mut command = CommandLine::command();
    command.build();
    command
}

/// Runs the plugin, or prints completion candidates if the first of `arguments`, the name of the
/// program, is that for completion.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let name = arguments.first().and_then(|program| Path::new(program).file_stem());
    if name.is_some_and(|name| name == COMPLETION_NAME) {
        let words = arguments.get(1..).unwrap_or_default();
        return exit_code(print(&completion::complete(&command(), words)).map(|()| SUCCESS));
    }
    let command_line = CommandLine::parse_from(arguments);
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit_code(Err(Error::Output(error.to_string()))),
    };
    let output = runtime.block_on(run(command_line));
    exit_code(output.and_then(|output| print(&output.text).map(|()| output.exit_status)))
}

fn exit_code(result: Result<u8, Error>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let _printed = writeln!(io::stderr(), "kubectl usnet: {}", error.sentence());
            ExitCode::from(&error)
        }
    }
}

async fn run(command_line: CommandLine) -> Result<Output, Error> {
    let CommandLine { connection, color, command } = command_line;
    // The texts of a bundle are files.
    if !matches!(command, Command::SupportBundle(_)) {
        Screen::of_stdout(color).set();
    }
    if let Command::Completion { shell } = command {
        return Ok(Output { text: script(shell), exit_status: SUCCESS });
    }
    let cluster = Cluster::connect(&connection).await?;
    match command {
        Command::Status(output) => status::run(&cluster, output.format).await,
        Command::Pods { options, output } => pods::run(&cluster, &options, output.format).await,
        Command::History { options, output } => history::run(&cluster, &options, output.format).await,
        Command::Top { options, output } => top::run(&cluster, &options, output.format).await,
        Command::Capture(options) => capture::run(&cluster, &options).await,
        Command::Explain { subject, output } => explain::run(&cluster, &subject, output.format).await,
        Command::Migrate { action, output } => migrate::run(&cluster, &action, output.format).await,
        Command::Plan { options, output } => plan::run(&cluster, &options, output.format).await,
        Command::Test { options, output } => test::run(&cluster, &options, output.format).await,
        Command::Graph(options) => graph::run(&cluster, &options).await,
        Command::Report(options) => report::run(&cluster, &options).await,
        Command::Trace { options, output } => trace::run(&cluster, &options, output.format).await,
        Command::SupportBundle(options) => support_bundle::run(&cluster, &options).await,
        Command::Version(output) => version::run(&cluster, output.format).await,
        Command::Completion { .. } => Ok(Output { text: String::new(), exit_status: SUCCESS }),
    }
}

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
