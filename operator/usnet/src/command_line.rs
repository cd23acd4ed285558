//! The command line of `usnet`, and the runtime that each of its programs runs in.

use crate::logging::LogFormat;
use crate::shutdown;
use clap::{Parser, Subcommand};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::io::{self, Write};
use std::process::ExitCode;
use tokio::runtime::Builder;
use usnet_common::release;
use usnet_common::telemetry::probe;
use usnet_engines::supervisor::{image_check, readiness};
use usnet_engines::{controller, supervisor};
use usnet_node::{attach, commands, garbage, install_plugin};

/// Networks for DPDK pods: Kubernetes objects, programmed into Open vSwitch and VPP on every node.
#[derive(Debug, Parser)]
#[command(name = "usnet", version = release::text())]
pub(crate) struct CommandLine {
    /// The format of log lines; RUST_LOG selects which are written.
    #[arg(long, global = true, value_enum, default_value_t, env = "USNET_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    /// Computes the desired state of all nodes from the networks of the cluster (one per cluster).
    Controller(usnet_controller::Options),
    /// Programs the networks of this node into Open vSwitch and VPP (one per node).
    Agent(usnet_agent::Options),
    /// Removes what no living pod of this node owns (one per node).
    CollectGarbage(garbage::Options),
    /// Runs the CNI plugin on request of the agent (one per node).
    ServeAttachments(attach::Options),
    /// Runs, updates and reports the engines of UserspaceEngines (one per cluster).
    Engines(controller::Options),
    /// Compiles the policies of namespaces for the nodes (one per cluster).
    Policies(usnet_policies::Options),
    /// Starts the processes of an engine and keeps them running (in the pod of an engine).
    SuperviseEngine(supervisor::Options),
    /// Says whether the engine of this pod runs: its probe.
    CheckEngine(supervisor::Options),
    /// Says whether this image has the programs of the engine (in a pod of the engine).
    CheckImage(supervisor::Options),
    /// Waits until all controllers and agents are ready: `helm test`.
    CheckInstallation(usnet_controller::run::check::Options),
    /// Shows the state of this node and its last changes, without an API server.
    Node(commands::Options),
    /// Asks the program of this container how it is: the probe of its pod.
    Probe(probe::Options),
    /// Installs the CNI plugin into the node's folder of CNI plugins.
    InstallPlugin(install_plugin::Options),
    /// Gives a virtual machine of KubeVirt the vhost-user ports of its pod (a sidecar of
    /// virt-launcher).
    KubevirtSidecar(usnet_kubevirt::Options),
}

/// Why a program of `usnet` ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The async runtime or the signal handlers could not be set up.
    #[error("cannot start the async runtime")]
    Runtime(#[source] io::Error),
    /// The controller ended.
    #[error("the controller failed")]
    Controller(#[source] usnet_controller::Error),
    /// Not all controllers and agents are ready.
    #[error(transparent)]
    Check(#[from] usnet_controller::run::check::Error),
    /// The agent ended.
    #[error("the agent failed")]
    Agent(#[source] usnet_agent::Error),
    /// The garbage collection ended.
    #[error("the garbage collection failed")]
    Garbage(#[source] garbage::Error),
    /// The service for attachments ended.
    #[error("the service for attachments failed")]
    Attach(#[source] attach::ServerError),
    /// The controller of engines ended.
    #[error("the controller of engines failed")]
    Engines(#[source] controller::Error),
    /// The controller of policies ended.
    #[error("the controller of policies failed")]
    Policies(#[source] usnet_policies::Error),
    /// The supervisor of an engine ended.
    #[error("the supervisor of the engine failed")]
    Supervisor(#[source] supervisor::Error),
    /// The engine of this pod does not run.
    #[error(transparent)]
    EngineCheck(#[from] readiness::Error),
    /// The image lacks what the engine needs.
    #[error(transparent)]
    ImageCheck(#[from] image_check::Error),
    /// The state or the history of the node cannot be printed.
    #[error(transparent)]
    Node(#[from] commands::Error),
    /// The program of this container does not work.
    #[error(transparent)]
    Probe(#[from] probe::Error),
    /// The plugin was not installed.
    #[error(transparent)]
    InstallPlugin(#[from] install_plugin::Error),
    /// The sidecar ended.
    #[error("the sidecar of KubeVirt failed")]
    Kubevirt(#[source] usnet_kubevirt::Error),
}

impl CommandLine {
    /// Runs the selected program until it is done, or until a signal requests the shutdown. Returns
    /// the exit status.
    ///
    /// # Errors
    /// When the program cannot start or cannot continue.
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        match self.program {
            Program::Controller(options) => run_until_shutdown(&mut two_threads(), async |requested| {
                usnet_controller::run(options, requested).await.map_err(Error::Controller)
            }),
            Program::CheckInstallation(options) => {
                let runtime = one_thread().enable_all().build().map_err(Error::Runtime)?;
                Ok(runtime.block_on(usnet_controller::run::check::run(options)).map(|said| print_line(&said))?)
            }
            Program::Agent(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                usnet_agent::run(options, usnet_standalone::follow, requested).await.map_err(Error::Agent)
            }),
            Program::CollectGarbage(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                tokio::select! {
                    result = garbage::run(options) => result.map(|never| match never {}).map_err(Error::Garbage),
                    () = requested => Ok(()),
                }
            }),
            Program::ServeAttachments(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                tokio::select! {
                    result = attach::run(options) => result.map(|never| match never {}).map_err(Error::Attach),
                    () = requested => Ok(()),
                }
            }),
            Program::Engines(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                tokio::select! {
                    result = controller::run(options) => result.map(|never| match never {}).map_err(Error::Engines),
                    () = requested => Ok(()),
                }
            }),
            Program::Policies(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                tokio::select! {
                    result = usnet_policies::run(options) => result.map(|never| match never {}).map_err(Error::Policies),
                    () = requested => Ok(()),
                }
            }),
            Program::SuperviseEngine(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                supervisor::run(options, requested).await.map_err(Error::Supervisor)
            }),
            Program::CheckEngine(options) => Ok(readiness::check(&options).map(|said| print_line(&said))?),
            Program::CheckImage(options) => Ok(image_check::check(&options).map(|said| print_line(&said))?),
            Program::Probe(options) => Ok(probe::run(&options).map(|said| print_line(&said))?),
            Program::Node(options) => Ok(commands::run(options)?),
            Program::KubevirtSidecar(options) => run_until_shutdown(&mut one_thread(), async |requested| {
                tokio::select! {
                    result = usnet_kubevirt::run(options) => result.map_err(Error::Kubevirt),
                    () = requested => Ok(()),
                }
            }),
            Program::InstallPlugin(options) => Ok(install_plugin::run(&options).map(|()| ExitCode::SUCCESS)?),
        }
    }
}

/// The kubelet repeats it in an event if the probe fails.
fn print_line(text: &str) -> ExitCode {
    // Standard output may be closed.
    let _written = writeln!(io::stdout(), "{text}");
    ExitCode::SUCCESS
}

/// Enough for the agent, which is mostly idle; each thread would have its own memory arena.
fn one_thread() -> Builder {
    Builder::new_current_thread()
}

/// The controller computes for seconds when it starts with a large cluster. Spawned tasks, such as
/// the election, run meanwhile.
fn two_threads() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    builder
}

/// Runs a program with a future that is ready on shutdown.
fn run_until_shutdown(
    runtime: &mut Builder,
    program: impl AsyncFnOnce(BoxFuture<'static, ()>) -> Result<(), Error>,
) -> Result<ExitCode, Error> {
    let runtime = runtime.enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(async { program(shutdown::requested().map_err(Error::Runtime)?.boxed()).await })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_do_not_clash() {
        CommandLine::command().debug_assert();
    }
}
