//! Reads the declared and the compiled networks from the API server.

use crate::soak::steps::names;
use crate::support::cluster::try_run;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The declared networks, as the API server has them now.
pub(crate) struct Objects {
    pub(crate) networks: BTreeMap<String, Value>,
    pub(crate) nodes: BTreeMap<String, Value>,
    pub(crate) namespaces: BTreeMap<String, Value>,
    pub(crate) definitions: Vec<Value>,
    pub(crate) compiled: BTreeMap<String, Value>,
    pub(crate) states: BTreeMap<String, Value>,
}

impl Objects {
    pub(crate) fn read() -> Result<Self, String> {
        Ok(Self {
            networks: ours(list(&["usn"])?),
            nodes: by_name(list(&["nodes"])?),
            namespaces: by_name(list(&["namespaces"])?),
            definitions: list(&["net-attach-def", "-A"])?,
            compiled: ours(list(&["ucn"])?),
            states: by_name(list(&["usns"])?),
        })
    }

    pub(crate) fn state(&self, node: &str) -> Result<&Value, String> {
        self.states.get(node).ok_or_else(|| format!("{node} has no state"))
    }
}

fn list(what: &[&str]) -> Result<Vec<Value>, String> {
    let text = try_run("kubectl", &[&["get", "-o", "json"], what].concat(), "")?;
    let mut list: Value = serde_json::from_str(&text).map_err(self::text)?;
    serde_json::from_value(list["items"].take()).map_err(self::text)
}

fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    objects.into_iter().map(|object| (name(&object), object)).collect()
}

/// Returns the objects of the run, without those of other tests.
fn ours(networks: Vec<Value>) -> BTreeMap<String, Value> {
    let (mut all, ours) = (by_name(networks), names::all_networks().collect::<BTreeSet<_>>());
    all.retain(|name, _| ours.contains(name));
    all
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
