//! NetworkAttachmentDefinitions of users: for another plugin, for a network of usnet, and those of
//! the legacy userspace CNI. All must stay unchanged. Generated ones are edited and deleted, which
//! must be reverted.

use crate::soak::actions::manifests;
use crate::soak::steps::names;
use crate::soak::steps::{ByHand, Old};
use crate::support::cluster::{check, try_apply, try_run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The NADs that users created, by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// The manifests.
    made: BTreeMap<(usize, String), String>,
    /// Those whose namespace was deleted. Kubernetes may have ended it with them still in it, and a
    /// namespace of that name has them again.
    left: BTreeSet<(usize, String)>,
}

impl Definitions {
    /// Makes a definition, unless there is one of that name.
    pub(crate) fn add(&mut self, definition: ByHand) -> Result<(), String> {
        let manifest = manifests::by_hand(definition);
        try_run("kubectl", &["create", "-f", "-"], &manifest.to_string())?;
        self.remember(definition.namespace, names::by_hand(definition))
    }

    /// Creates or changes one of the legacy userspace CNI.
    pub(crate) fn apply_old(&mut self, old: Old, is_other: bool) -> Result<(), String> {
        // In a namespace that is being deleted it would change, and then go.
        let phase = ["get", "namespace", &names::namespace(old.namespace), "-o", "jsonpath={.status.phase}"];
        check(try_run("kubectl", &phase, "")? == "Active", "its namespace is being deleted")?;
        try_apply(&manifests::old(old, is_other))?;
        self.remember(old.namespace, names::old(old))
    }

    /// Deletes one that a user created.
    pub(crate) fn remove(&mut self, namespace: usize, name: &str) -> Result<(), String> {
        self.made.remove(&(namespace, name.to_owned())).ok_or("it does not exist")?;
        delete(namespace, name)
    }

    /// Writes nonsense into a generated one.
    pub(crate) fn edit_generated(&self, namespace: usize, network: usize) -> Result<(), String> {
        let name = names::network(network);
        check(!self.contains(namespace, &name), "it is not owned by usnet")?;
        let patch = r#"{"spec":{"config":"{}"}}"#;
        let namespace = names::namespace(namespace);
        try_run("kubectl", &["patch", "net-attach-def", &name, "-n", &namespace, "--type=merge", "-p", patch], "")
            .map(drop)
    }

    /// Deletes a generated one.
    pub(crate) fn delete_generated(&self, namespace: usize, network: usize) -> Result<(), String> {
        let name = names::network(network);
        check(!self.contains(namespace, &name), "it is not owned by usnet")?;
        delete(namespace, &name)
    }

    /// The namespace goes, with all that is in it.
    pub(crate) fn forget(&mut self, namespace: usize) {
        self.left.extend(self.made.extract_if(.., |(of, _), _| *of == namespace).map(|(key, _)| key));
    }

    /// Whether a user created a NAD of that name, and it may be there although its namespace was
    /// deleted since.
    pub(crate) fn may_be_left(&self, namespace: usize, name: &str) -> bool {
        self.left.contains(&(namespace, name.to_owned()))
    }

    /// Whether a user created a NAD of that name.
    pub(crate) fn contains(&self, namespace: usize, name: &str) -> bool {
        self.made.contains_key(&(namespace, name.to_owned()))
    }

    /// Panics when one of these does not look as it did.
    pub(crate) fn assert_unchanged(&self) {
        for ((namespace, name), before) in &self.made {
            let now = show(*namespace, name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(*before, now, "the user's NAD {name} was changed");
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }

    fn remember(&mut self, namespace: usize, name: String) -> Result<(), String> {
        let look = show(namespace, &name)?;
        self.made.insert((namespace, name), look);
        Ok(())
    }
}

fn delete(namespace: usize, name: &str) -> Result<(), String> {
    let namespace = names::namespace(namespace);
    try_run("kubectl", &["delete", "--wait=false", "net-attach-def", name, "-n", &namespace], "").map(drop)
}

/// The object's identity and content.
fn show(namespace: usize, name: &str) -> Result<String, String> {
    let text =
        try_run("kubectl", &["get", "net-attach-def", name, "-n", &names::namespace(namespace), "-o", "json"], "")?;
    let object: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let (metadata, spec) = (&object["metadata"], &object["spec"]);
    Ok(format!("{} {} {} {spec}", metadata["uid"], metadata["generation"], metadata["labels"]))
}
