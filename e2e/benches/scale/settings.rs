//! What is run.

use std::env;
use std::fmt;
use std::time::Duration;

const DEFAULT: &str = "200x10,200x1000,200x1000x1000,definitions,real";
const FULL: &str = "1000x10,1000x1000,5000x10,5000x100,5000x1000x1000,definitions,real";

/// How large a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) nodes: usize,
    pub(crate) networks: usize,
    /// Namespaces that every network selects.
    pub(crate) namespaces: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} nodes x {} networks x {} namespaces", self.nodes, self.networks, self.namespaces)
    }
}

/// How many pods there are, and how many of them start and as many end in a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) nodes: usize,
    pub(crate) networks: usize,
    pub(crate) pods: usize,
    pub(crate) policies: usize,
    pub(crate) pods_per_second: usize,
    pub(crate) duration: Duration,
}

impl fmt::Display for Load {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, networks, pods, policies, pods_per_second, duration } = self;
        let seconds = duration.as_secs();
        write!(
            formatter,
            "{pods} pods on {nodes} nodes and {networks} networks, {policies} policies; {pods_per_second} pods/s start and end for {seconds} s"
        )
    }
}

/// One cluster and what is measured in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scene {
    /// Rows 1, 2, 4, 5, 7 and 8.
    Networks(Size),
    /// Row 3.
    Sizes(Size),
    /// Row 6.
    Definitions,
    /// The controller of policies.
    Policies(Load),
    /// Rows 1, 2 and 8 with real agents.
    RealAgents,
}

/// What the environment asks for.
pub(crate) struct Settings {
    pub(crate) scenes: Vec<Scene>,
    pub(crate) is_floor_only: bool,
}

impl Settings {
    pub(crate) fn from_environment() -> Self {
        let wanted = env::var("USNET_SCALE").unwrap_or_default();
        let list = match wanted.as_str() {
            "" => DEFAULT,
            "full" => FULL,
            list => list,
        };
        let scenes: Vec<Scene> = list.split(',').map(|word| scene(word.trim())).collect();
        let is_floor_only = env::var_os("USNET_SCALE_FLOOR_ONLY").is_some_and(|value| value == "1");
        let has_floor = |scene: &Scene| !is_floor_only || matches!(scene, Scene::Networks(_) | Scene::RealAgents);
        Self { scenes: scenes.into_iter().filter(has_floor).collect(), is_floor_only }
    }
}

fn scene(word: &str) -> Scene {
    if let Some(rest) = word.strip_prefix("policies") {
        return Scene::Policies(load(rest.strip_prefix('@').unwrap_or("20")));
    }
    let numbers: Option<Vec<usize>> = word.split('x').map(|number| number.parse().ok()).collect();
    match (word, numbers.as_deref()) {
        ("definitions", _) => Scene::Definitions,
        ("real", _) => Scene::RealAgents,
        (_, Some(&[nodes, networks])) => Scene::Networks(Size { nodes, networks, namespaces: 1 }),
        (_, Some(&[nodes, networks, namespaces])) => Scene::Sizes(Size { nodes, networks, namespaces }),
        _ => panic!(
            "USNET_SCALE: {word} is no size such as 200x1000 or 200x1000x1000, and not definitions, policies or real"
        ),
    }
}

fn load(pods_per_second: &str) -> Load {
    let pods_per_second = pods_per_second.parse().expect("policies@50 is a number of pods that start in a second");
    let duration = Duration::from_secs(60);
    Load { nodes: 200, networks: 20, pods: 10_000, policies: 100, pods_per_second, duration }
}
