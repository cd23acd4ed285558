//! Which pods are restarted next for the current spec. Pure.

use super::image_check::ImageCheck;
use super::observed::EnginePod;
use super::pod_health::PodHealth;
use std::collections::BTreeMap;
use usnet_crds::userspace_engine::spec::EngineUpdateSpec;

/// What the engines of an object should be started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The hash of everything that needs a restart.
    pub(super) settings: String,
    /// The hash of what cannot change in a pod.
    pub(super) unchangeable: String,
}

/// What is done for a node whose engine has to be restarted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The engine runs on, and kubelet fetches the image.
    CheckImage { pod: String },
    /// Its pod gets another image. `restarts` is how often its container was restarted before.
    ExchangeImage { pod: String, restarts: Option<i32> },
    /// Its pod is deleted, and the DaemonSet creates another.
    ReplacePod { pod: String },
}

impl Step {
    pub(super) fn pod(&self) -> &str {
        match self {
            Self::CheckImage { pod } | Self::ExchangeImage { pod, .. } | Self::ReplacePod { pod } => pod,
        }
    }
}

/// How far an update is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Update {
    /// What is done now.
    pub(super) steps: Vec<Step>,
    /// Nodes whose pod was started with another spec, or ends.
    pub(super) outdated: Vec<String>,
    /// A node that was started with the current spec and fails, or cannot use its image, so that no
    /// other one is restarted.
    pub(super) stopped_by: Option<String>,
}

/// The next step of an update. `selected` nodes should have a pod.
pub(super) fn next(
    pods: &BTreeMap<String, EnginePod>,
    selected: usize,
    target: &Target,
    policy: &EngineUpdateSpec,
) -> Update {
    let is_current = |pod: &EnginePod| !pod.is_ending && pod.settings == target.settings;
    let is_outdated = |pod: &&EnginePod| !is_current(pod) || pod.is_exchanging;
    let runs = |pod: &EnginePod| pod.health == PodHealth::Running && !pod.is_ending && pod.is_settled;
    let outdated: Vec<&EnginePod> = pods.values().filter(is_outdated).collect();
    let fails = |pod: &&EnginePod| match is_current(pod) {
        true => matches!(pod.health, PodHealth::Failing { .. }),
        false => matches!(pod.image, ImageCheck::Failed { .. }) && pod.health == PodHealth::Running,
    };
    let stopped_by = pods.values().find(fails).map(|pod| pod.node.clone());
    let running = pods.values().filter(|pod| runs(pod)).count();
    // Nodes without a pod count: it was deleted, and its successor is not there yet.
    let unavailable = selected.max(pods.len()).saturating_sub(running);
    let allowed = usize::try_from(policy.max_unavailable).unwrap_or(usize::MAX).saturating_sub(unavailable);
    let candidates = || outdated.iter().filter(|pod| !pod.is_ending && !is_current(pod));
    // One that does not run loses nothing by a restart.
    let is_down = |pod: &EnginePod| pod.health != PodHealth::Running;
    let down = candidates().filter(|pod| is_down(pod)).map(|pod| restart(pod, target));
    let up = candidates().filter(|pod| !is_down(pod)).take(if stopped_by.is_some() { 0 } else { allowed });
    let up = up.filter_map(|pod| match pod.image {
        ImageCheck::NotBegun => Some(Step::CheckImage { pod: pod.name.clone() }),
        ImageCheck::NotNeeded | ImageCheck::Passed => Some(restart(pod, target)),
        ImageCheck::Running | ImageCheck::Failed { .. } => None,
    });
    Update {
        steps: if policy.paused { Vec::new() } else { down.chain(up).collect() },
        stopped_by: stopped_by.filter(|_| !outdated.is_empty()),
        outdated: outdated.iter().map(|pod| pod.node.clone()).collect(),
    }
}

fn restart(pod: &EnginePod, target: &Target) -> Step {
    match pod {
        EnginePod { name, restarts, .. } if pod.unchangeable == target.unchangeable => {
            Step::ExchangeImage { pod: name.clone(), restarts: *restarts }
        }
        EnginePod { name, .. } => Step::ReplacePod { pod: name.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::conditions::reason::ENGINE_FAILS;

    fn pod(node: &str, settings: &str, health: PodHealth) -> (String, EnginePod) {
        let pod = EnginePod {
            name: format!("pod-{node}"),
            node: node.to_owned(),
            settings: settings.to_owned(),
            unchangeable: "same".to_owned(),
            restarts: Some(0),
            image: ImageCheck::NotNeeded,
            is_exchanging: false,
            is_ending: false,
            is_settled: true,
            health,
            warning: None,
        };
        (node.to_owned(), pod)
    }

    fn next(pods: &BTreeMap<String, EnginePod>, selected: usize, settings: &str, policy: &EngineUpdateSpec) -> Next {
        let target = Target { settings: settings.to_owned(), unchangeable: "same".to_owned() };
        let Update { steps, outdated, stopped_by } = super::next(pods, selected, &target, policy);
        Next { restart: steps.iter().map(|it| it.pod().to_owned()).collect(), outdated, stopped_by }
    }

    /// An update, with the pods that are restarted by name.
    struct Next {
        restart: Vec<String>,
        outdated: Vec<String>,
        stopped_by: Option<String>,
    }

    fn failing() -> PodHealth {
        PodHealth::Failing { reason: ENGINE_FAILS, message: String::new() }
    }

    fn policy(max_unavailable: u32) -> EngineUpdateSpec {
        EngineUpdateSpec { max_unavailable, paused: false }
    }

    #[test]
    fn one_node_after_the_other_is_restarted() {
        let mut pods: BTreeMap<_, _> = ["a", "b", "c"].map(|node| pod(node, "1", PodHealth::Running)).into();
        let step = |pods: &BTreeMap<_, _>| next(pods, 3, "2", &policy(1)).restart;
        assert_eq!(step(&pods), ["pod-a"]);
        pods.get_mut("a").unwrap().is_ending = true;
        assert_eq!(step(&pods), [""; 0], "it ends");
        pods.remove("a");
        assert_eq!(step(&pods), [""; 0], "its successor is not there");
        pods.extend([pod("a", "2", PodHealth::Starting)]);
        assert_eq!(step(&pods), [""; 0], "its successor does not run");
        pods.extend([pod("a", "2", PodHealth::Running)]);
        pods.get_mut("a").unwrap().is_settled = false;
        assert_eq!(step(&pods), [""; 0], "what its agent says may be of its predecessor");
        pods.extend([pod("a", "2", PodHealth::Running)]);
        assert_eq!(step(&pods), ["pod-b"]);
        assert_eq!(next(&pods, 3, "2", &policy(2)).restart, ["pod-b", "pod-c"]);
        let update = next(&pods, 3, "2", &EngineUpdateSpec { paused: true, ..policy(2) });
        assert_eq!((update.restart.len(), update.outdated.len()), (0, 2));
    }

    #[test]
    fn an_update_stops_at_a_node_that_does_not_come_back_whatever_is_allowed() {
        let pods: BTreeMap<_, _> =
            [pod("a", "2", failing()), pod("b", "1", PodHealth::Running), pod("c", "1", PodHealth::Running)].into();
        let update = next(&pods, 3, "2", &policy(3));
        assert_eq!((update.restart.len(), update.stopped_by.as_deref()), (0, Some("a")));
        // The spec as it was repairs the node, and the others never noticed.
        let update = next(&pods, 3, "1", &policy(1));
        assert_eq!((update.restart, update.outdated), (vec!["pod-a".to_owned()], vec!["a".to_owned()]));
    }

    #[test]
    fn a_failure_of_one_node_before_an_update_uses_up_what_is_allowed() {
        let pods: BTreeMap<_, _> = [pod("a", "1", failing()), pod("b", "1", PodHealth::Running)].into();
        assert_eq!(next(&pods, 2, "2", &policy(1)).restart, ["pod-a"], "it may repair it");
        assert_eq!(next(&pods, 2, "1", &policy(1)).restart, [""; 0], "nothing is outdated");
    }

    #[test]
    fn an_image_is_exchanged_in_the_pod_and_for_other_changes_the_pod_is_replaced() {
        let pods: BTreeMap<_, _> = [pod("a", "1", PodHealth::Running)].into();
        let restart = |unchangeable: &str| {
            let target = Target { settings: "2".to_owned(), unchangeable: unchangeable.to_owned() };
            super::next(&pods, 1, &target, &policy(1)).steps
        };
        assert_eq!(restart("same"), [Step::ExchangeImage { pod: "pod-a".to_owned(), restarts: Some(0) }]);
        assert_eq!(restart("other"), [Step::ReplacePod { pod: "pod-a".to_owned() }]);
    }

    #[test]
    fn an_engine_is_restarted_when_its_node_has_the_image() {
        let mut pods: BTreeMap<_, _> = ["a", "b"].map(|node| pod(node, "1", PodHealth::Running)).into();
        let target = Target { settings: "2".to_owned(), unchangeable: "same".to_owned() };
        let mut with_image = |image: ImageCheck| {
            pods.get_mut("a").unwrap().image = image;
            super::next(&pods, 2, &target, &policy(1))
        };
        assert_eq!(with_image(ImageCheck::NotBegun).steps, [Step::CheckImage { pod: "pod-a".to_owned() }]);
        assert_eq!(with_image(ImageCheck::Running).steps, []);
        let mut exchanging: BTreeMap<_, _> = [pod("a", "2", PodHealth::Starting)].into();
        exchanging.get_mut("a").unwrap().is_exchanging = true;
        let update = super::next(&exchanging, 1, &target, &policy(1));
        assert_eq!((update.steps, update.outdated), (Vec::new(), vec!["a".to_owned()]));
        assert!(matches!(with_image(ImageCheck::Passed).steps.as_slice(), [Step::ExchangeImage { .. }]));
        let failed = with_image(ImageCheck::Failed { reason: ENGINE_FAILS, message: String::new() });
        assert_eq!((failed.steps, failed.stopped_by.as_deref()), (Vec::new(), Some("a")));
    }
}
