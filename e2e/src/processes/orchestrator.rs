//! Starts the parts of a test bed in order, in parallel where possible, and runs the user's
//! command.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use crate::engines::vpp;
use crate::kubernetes::certificates::Authority;
use crate::kubernetes::control_plane::{self, ControlPlane};
use crate::kubernetes::images::archives;
use crate::kubernetes::images::error::ArchiveError;
use crate::kubernetes::images::names::USNET_IMAGE;
use crate::kubernetes::install;
use crate::kubernetes::kubectl::Kubectl;
use crate::nodes::fabric;
use crate::nodes::node::Node;
use crate::nodes::pod_network;
use crate::nodes::programs;
use crate::processes::control::{self, Components};
use crate::processes::start::{NOT_STARTED, OrchestratorError, Start};
use crate::processes::user_command;
use crate::testbed::failure;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::progress;
use crate::testbed::settings::Settings;

/// The hidden subcommand of [`run`].
pub const ROLE: &str = "internal-orchestrator";

/// Starts the test bed in `folder`, runs the user's command and returns its exit status.
#[must_use]
pub fn run(folder: &TestbedFolder) -> u8 {
    let result = start_and_run(folder);
    if !matches!(result, Ok(0)) {
        failure::record_cluster(folder);
    }
    result.unwrap_or_else(|error| {
        progress::error(&error);
        NOT_STARTED
    })
}

fn start_and_run(folder: &TestbedFolder) -> Result<u8, OrchestratorError> {
    let settings = Settings::read(folder)?;
    for path in [folder.logs(), folder.temporary()] {
        fs::create_dir_all(&path).map_err(|source| OrchestratorError::Folder(path, source))?;
    }
    user_command::prepare(folder, &settings)?;
    let authority = Authority::create(&folder.certificates())?;
    let control_plane = control_plane::prepare(folder, &authority)?;
    let components = Arc::new(Components::default());
    let start = Start { folder: folder.clone(), settings, authority, components };
    fabric::create(&folder.outside())?;
    let _nodes = start_all(&start, &control_plane)?;
    let socket = folder.control_socket();
    control::serve(&socket, Arc::clone(&start.components))
        .map_err(|source| OrchestratorError::Control(socket, source))?;
    let program = start.settings.command.first().map(String::as_str).unwrap_or_default();
    progress::say(&start.settings, &format!("ready; running {program}"));
    Ok(user_command::run(folder, &start.settings)?)
}

/// Starts everything up to a test bed in which pods can run. The nodes live as long as the returned
/// values.
fn start_all(start: &Start, control_plane: &ControlPlane) -> Result<Vec<Node>, OrchestratorError> {
    thread::scope(|scope| {
        let api = scope.spawn(|| start_api(start, control_plane));
        let (nodes, archives) = start_nodes(start)?;
        report_engines(&start.settings, &nodes)?;
        thread::scope(|scope| {
            let imports: Vec<_> = nodes
                .iter()
                .flat_map(|node| archives.iter().map(move |archive| (node, archive)))
                .map(|(node, archive)| scope.spawn(move || archives::import(node, archive)))
                .collect();
            join(api)??;
            let kubelets: Vec<_> =
                nodes.iter().map(|node| scope.spawn(|| programs::start_kubelet(start, node))).collect();
            start_controllers(start, control_plane)?;
            imports.into_iter().try_for_each(|import| Ok::<_, OrchestratorError>(join(import)??))?;
            progress::say(&start.settings, "the nodes have the images");
            kubelets.into_iter().try_for_each(|kubelet| join(kubelet)?)
        })?;
        wait_for_pods(start)?;
        Ok(nodes)
    })
}

fn report_engines(settings: &Settings, nodes: &[Node]) -> Result<(), OrchestratorError> {
    progress::say(settings, &format!("the nodes have containerd, {}", settings.engines.names()));
    if let (Some(vpp), Some(node)) = (&settings.vpp, nodes.first()) {
        progress::say(settings, &vpp::describe(vpp, node)?);
    }
    Ok(())
}

/// Starts the nodes with the programs that do not need the API server. Also returns the archives of
/// the images.
fn start_nodes(start: &Start) -> Result<(Vec<Node>, Vec<PathBuf>), OrchestratorError> {
    let names = start.settings.node_names();
    thread::scope(|scope| {
        let base = scope.spawn(|| archives::base_archive(&start.folder, &start.settings));
        let usnet = scope.spawn(|| usnet_archive(start));
        let nodes: Vec<_> = (0_u8..)
            .zip(&names)
            .map(|(index, name)| scope.spawn(move || programs::start(start, name, index)))
            .collect();
        let nodes = nodes.into_iter().map(|node| join(node)?).collect::<Result<Vec<_>, OrchestratorError>>()?;
        let archives = std::iter::once(join(base)??).chain(join(usnet)??).collect();
        Ok((nodes, archives))
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> Result<T, OrchestratorError> {
    thread.join().map_err(|_| OrchestratorError::Panic)
}

fn usnet_archive(start: &Start) -> Result<Option<PathBuf>, ArchiveError> {
    if start.settings.image.is_some() {
        return Ok(start.settings.image.clone());
    }
    let binaries = start.settings.binaries.as_ref().filter(|_| start.settings.install);
    let folder = start.folder.temporary();
    binaries.map(|binaries| archives::usnet_archive(&folder, binaries, USNET_IMAGE)).transpose()
}

fn start_api(start: &Start, control_plane: &ControlPlane) -> Result<(), OrchestratorError> {
    start.components.start(&control_plane.etcd)?;
    start.components.start(&control_plane.apiserver)?;
    progress::say(&start.settings, "the API server is ready");
    Ok(())
}

/// Starts the control plane's other programs, and applies the objects of the test bed.
fn start_controllers(start: &Start, control_plane: &ControlPlane) -> Result<(), OrchestratorError> {
    thread::scope(|scope| {
        let manager = scope.spawn(|| start.components.start(&control_plane.controller_manager));
        let scheduler = scope.spawn(|| start.components.start(&control_plane.scheduler));
        Kubectl::new(&start.folder).apply(pod_network::CRDS)?;
        if start.settings.install {
            let image = start.settings.image.as_deref().map(archives::name_of).transpose()?;
            install::apply(&start.folder, &start.settings.checkout, image.as_deref().unwrap_or(USNET_IMAGE))?;
            progress::say(&start.settings, "config/default is applied");
        }
        join(manager)??;
        Ok(join(scheduler)??)
    })
}

/// Waits until pods can run: nodes are ready, and there is a service account for pods.
fn wait_for_pods(start: &Start) -> Result<(), OrchestratorError> {
    let kubectl = Kubectl::new(&start.folder);
    let nodes: Vec<String> = start.settings.node_names().iter().map(|name| format!("node/{name}")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    kubectl.wait_for_existence(&nodes)?;
    kubectl.wait_while_progressing(&[&["wait", "--for=condition=Ready"], nodes.as_slice()].concat())?;
    progress::say(&start.settings, "the nodes are ready");
    kubectl.wait_for_existence(&["serviceaccount/default"])?;
    if start.settings.install {
        install::wait(&start.folder)?;
        progress::say(&start.settings, "usnet is installed");
    }
    Ok(())
}
