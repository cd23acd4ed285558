//! The image of the test program that belongs to the installed release. Pure.

use crate::model::Snapshot;
use crate::model::snapshot::AGENT;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the image that a release has beside that of the agents, or the name without a registry
/// if the pods of agents cannot be read.
pub(super) fn default_image(snapshot: &Snapshot) -> String {
    let newest = snapshot.component(AGENT).max_by_key(|pod| (!pod.is_deleting, pod.created));
    let agent = newest.and_then(|pod| pod.container(AGENT)).map(|container| container.image.as_str());
    beside(agent.filter(|image| !image.is_empty()).unwrap_or("usnet"))
}

/// From `registry.example:5000/usnet:0.1.0`: `registry.example:5000/usnet-tools:0.1.0`. A digest is
/// of one image only, so that the tag is used, or else the version of this program.
fn beside(agent: &str) -> String {
    let name = agent.split('@').next().unwrap_or_default();
    // The colon of a port is before the last slash.
    let folder = name.rfind('/').map_or(0, |slash| slash + 1);
    match name.rfind(':').filter(|colon| *colon >= folder).map(|colon| name.split_at(colon)) {
        Some((repository, tag)) => format!("{repository}-tools{tag}"),
        None => format!("{name}-tools:{VERSION}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    #[test]
    fn the_test_program_is_beside_the_agents_image() {
        for (agent, expected) in [
            ("usnet:e2e", "usnet-tools:e2e".to_owned()),
            ("registry.example/usnet:v7", "registry.example/usnet-tools:v7".to_owned()),
            ("registry.example:5000/net/usnet", format!("registry.example:5000/net/usnet-tools:{VERSION}")),
            ("localhost:5000/usnet:1@sha256:0123", "localhost:5000/usnet-tools:1".to_owned()),
            ("localhost:5000/usnet@sha256:0123", format!("localhost:5000/usnet-tools:{VERSION}")),
        ] {
            assert_eq!(beside(agent), expected);
        }
    }

    #[test]
    fn the_newest_agent_decides() {
        let mut snapshot = testing::snapshot();
        assert_eq!(default_image(&snapshot), "usnet-tools:test");
        let mut replaced = testing::usnet_pod(AGENT, "node-c");
        replaced.is_deleting = true;
        replaced.containers[0].image = "old.example/usnet:1".to_owned();
        snapshot.usnet_pods.push(replaced);
        assert_eq!(default_image(&snapshot), "usnet-tools:test");
        snapshot.usnet_pods.clear();
        assert_eq!(default_image(&snapshot), format!("usnet-tools:{VERSION}"));
    }
}
