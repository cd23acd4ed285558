//! The report of versions. Pure.

use crate::model::snapshot::{AGENT, CONTROLLER};
use crate::model::{Pod, Unread};
use serde::Serialize;
use std::collections::BTreeMap;
use usnet_common::release::Build;
use usnet_crds::{EngineKind, UserspaceNodeStateStatus};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub client: Build,
    pub controllers: Vec<Program>,
    pub agents: Vec<Program>,
    /// The engines of nodes, by version.
    pub engines: Vec<Engine>,
    pub kubernetes: Kubernetes,
    /// Whether a known build differs from that of this program.
    pub versions_differ: bool,
    /// What differs and what to do, for users.
    pub skew: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

/// The pods with one image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Program {
    /// `None` if the queried pod did not respond.
    #[serde(flatten)]
    pub build: Option<Build>,
    pub image: String,
    pub pods: usize,
    pub nodes: Vec<String>,
}

/// A version of an engine, or of kubelet, and the nodes that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Engine {
    pub engine: EngineKind,
    pub version: String,
    pub nodes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubernetes {
    /// The version of the API server; `None` if it could not be read.
    pub api_server: Option<String>,
    /// The nodes with each version of kubelet.
    pub kubelets: BTreeMap<String, Vec<String>>,
}

/// The pods with one image, and the response of one of them.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub component: &'static str,
    pub pods: Vec<&'a Pod>,
    pub answer: Result<String, String>,
}

/// What was read beside the pods of usnet.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    pub states: BTreeMap<String, UserspaceNodeStateStatus>,
    pub kubernetes: Kubernetes,
    pub not_read: Vec<Unread>,
}

/// Groups the pods of controllers and agents by image.
pub(super) fn groups(pods: &[Pod]) -> Vec<(&'static str, Vec<&Pod>)> {
    let mut groups: BTreeMap<(&'static str, &str), Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.has_ended()) {
        let Some(component) = [CONTROLLER, AGENT].into_iter().find(|it| pod.component.as_deref() == Some(it)) else {
            continue;
        };
        let Some(container) = pod.container(component) else { continue };
        let image = if container.image_id.is_empty() { &container.image } else { &container.image_id };
        groups.entry((component, image)).or_default().push(pod);
    }
    groups.into_iter().map(|((component, _), pods)| (component, pods)).collect()
}

pub(super) fn report(client: Build, asked: Vec<Group<'_>>, surroundings: Surroundings) -> Report {
    let Surroundings { states, kubernetes, mut not_read } = surroundings;
    let (mut controllers, mut agents) = (Vec::new(), Vec::new());
    for Group { component, pods, answer } in asked {
        let image = pods.first().and_then(|pod| pod.container(component)).map(|it| it.image.clone());
        let image = image.unwrap_or_default();
        if let Err(why) = &answer {
            not_read.push(Unread { what: format!("the version of image {image}"), why: why.clone() });
        }
        let build = answer.ok().and_then(|text| Build::from_output(&text));
        let nodes = pods.iter().filter_map(|pod| pod.node.clone()).collect();
        let program = Program { build, image, pods: pods.len(), nodes };
        if component == AGENT { &mut agents } else { &mut controllers }.push(program);
    }
    let mut known = controllers.iter().chain(&agents).filter_map(|program| program.build.as_ref());
    let versions_differ = known.any(|build| build.differs_from(&client));
    let skew = skew(&client, &controllers, &agents);
    Report { client, controllers, agents, engines: engines(&states), kubernetes, versions_differ, skew, not_read }
}

fn engines(states: &BTreeMap<String, UserspaceNodeStateStatus>) -> Vec<Engine> {
    let mut nodes: BTreeMap<(EngineKind, &str), Vec<String>> = BTreeMap::new();
    for (node, status) in states {
        for engine in &status.engines {
            nodes.entry((engine.engine, &engine.version)).or_default().push(node.clone());
        }
    }
    let entry =
        |((engine, version), nodes): ((EngineKind, &str), _)| Engine { engine, version: version.to_owned(), nodes };
    nodes.into_iter().map(entry).collect()
}

/// Says which programs differ, and what to do. Controllers are upgraded first: they read what older
/// agents write, and older controllers do not know what newer agents write.
fn skew(client: &Build, controllers: &[Program], agents: &[Program]) -> Vec<String> {
    let builds = |programs: &[Program]| programs.iter().filter_map(|it| it.build.clone()).collect::<Vec<_>>();
    let (controllers, agents) = (builds(controllers), builds(agents));
    let mut texts = Vec::new();
    if differ(&controllers) {
        texts.push(
            "controllers are of different builds: their upgrade has not ended (kubectl rollout status deployment)"
                .to_owned(),
        );
    }
    if differ(&agents) {
        texts.push(
            "agents are of different builds: their upgrade has not ended (kubectl rollout status daemonset)".to_owned(),
        );
    }
    let newest = |builds: &[Build]| builds.iter().max_by_key(|build| order(&build.version)).cloned();
    let (controller, agent) = (newest(&controllers), newest(&agents));
    if let Some((controller, agent)) = controller.as_ref().zip(agent.as_ref()) {
        if order(&agent.version) > order(&controller.version) {
            texts.push(format!("agents ({agent}) are newer than controllers ({controller}): upgrade the controllers"));
        } else if !differ(&agents) && agent.differs_from(controller) {
            texts.push(format!(
                "agents ({agent}) are not of the build of the controllers ({controller}): upgrade the agents"
            ));
        }
    }
    match controller.or(agent) {
        Some(installed) if installed.differs_from(client) => texts.push(format!(
            "this program ({client}) is not of the release that is installed ({installed}): use the kubectl-usnet of that release"
        )),
        _ => {}
    }
    texts
}

fn differ(builds: &[Build]) -> bool {
    builds.iter().zip(builds.iter().skip(1)).any(|(one, other)| one.differs_from(other))
}

/// Returns the numbers of a version.
fn order(version: &str) -> Vec<u64> {
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    version.split('.').map_while(number).collect()
}
