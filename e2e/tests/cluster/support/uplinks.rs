//! Uplinks that are deleted at the end of a test.

use crate::support::cluster::apply;
use crate::support::scene::delete_unused;
use serde_json::{Value, json};

/// An uplink, which is deleted when this is dropped. Its networks have to be deleted by then.
pub(crate) struct Uplink(String);

impl Uplink {
    pub(crate) fn apply(object: &Value) -> Self {
        apply(object);
        Self(object["metadata"]["name"].as_str().unwrap().to_owned())
    }

    /// Applies an uplink with NICs for no node of the test bed.
    pub(crate) fn nowhere(name: &str, vlans: &[&str]) -> Self {
        Self::apply(&nowhere(name, vlans))
    }
}

impl Drop for Uplink {
    fn drop(&mut self) {
        if let Err(error) = delete_unused(&["usu", &self.0]) {
            eprintln!("{error}");
        }
    }
}

/// Returns an uplink with NICs for no node of the test bed.
pub(crate) fn nowhere(name: &str, vlans: &[&str]) -> Value {
    let nics = json!([{
        "nodeSelector": {"matchLabels": {"usnet.dev/nowhere": "yes"}}, "device": {"type": "Name", "name": "eth9"},
    }]);
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "metadata": {"name": name},
        "spec": {"engine": "OVS", "vlans": vlans, "nics": nics},
    })
}
