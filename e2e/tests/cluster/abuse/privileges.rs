//! What the programs of usnet are there for is allowed to them; what is not is in `guards`.

use crate::support::control_plane::tokens::RequestClient;
use crate::support::scene::Scene;
use serde_json::json;

#[test]
fn an_agent_may_watch_compiled_networks_and_node_states_and_write_its_own_status() {
    let scene = Scene::new("privileges");
    scene.network("privileges", &json!({}));
    let agent = RequestClient::Agent("node-a");
    let networks = agent.kubectl(&["get", "compilednetworks", "-o", "name"], "").unwrap();
    assert!(networks.contains("compilednetwork.usnet.dev/privileges"), "{networks}");
    let states = agent.kubectl(&["get", "userspacenodestates", "-o", "name"], "").unwrap();
    assert!(states.contains("userspacenodestate.usnet.dev/node-a"), "{states}");
    agent.kubectl(&["get", "userspacenodeslices", "-o", "name"], "").unwrap();
    agent.kubectl(&["get", "userspaceuplinks", "-o", "name"], "").unwrap();
    let state = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": "node-a"}, "status": {},
    });
    let apply =
        ["apply", "--server-side", "--subresource=status", "--field-manager=test", "--validate=false", "-f", "-"];
    agent.kubectl(&apply, &state.to_string()).unwrap();
}
