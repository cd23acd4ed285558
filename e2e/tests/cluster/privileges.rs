//! What the programs of usnet are there for is allowed to them; what is not is in `guards`.

use crate::stolen::Thief;
use serde_json::json;

#[test]
fn an_agent_may_watch_node_states_and_write_its_own_status() {
    let agent = Thief::Agent("node-a");
    let states = agent.kubectl(&["get", "userspacenodestates", "-o", "name"], "").unwrap();
    assert!(states.contains("userspacenodestate.usnet.dev/node-a"), "{states}");
    let state = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": "node-a"}, "status": {},
    });
    let apply =
        ["apply", "--server-side", "--subresource=status", "--field-manager=test", "--validate=false", "-f", "-"];
    agent.kubectl(&apply, &state.to_string()).unwrap();
}
