//! Reads roles and bindings from the files of `config/rbac`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::right::{NAMESPACE, Right};

#[derive(Debug, thiserror::Error)]
pub enum RolesError {
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] io::Error),
    #[error("{0} is not YAML with Kubernetes objects")]
    Parse(PathBuf, #[source] serde_yaml::Error),
}

/// The fields of RBAC objects that matter here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    rules: Vec<Rule>,
    role_ref: Option<RoleReference>,
    #[serde(default)]
    subjects: Vec<Subject>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    namespace: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    api_groups: Vec<String>,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct RoleReference {
    kind: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Subject {
    kind: String,
    name: String,
}

/// Returns all rights that the bindings in the folder's YAML files grant to service accounts, one
/// for each resource, verb and name.
pub fn grants(folder: &Path) -> Result<BTreeSet<Right>, RolesError> {
    let failed = |source| RolesError::Read(folder.to_owned(), source);
    let mut objects = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = fs::read_to_string(&path).map_err(|source| RolesError::Read(path.clone(), source))?;
            objects.extend(parse(&text).map_err(|source| RolesError::Parse(path, source))?);
        }
    }
    Ok(bound(&objects))
}

fn parse(text: &str) -> Result<Vec<Object>, serde_yaml::Error> {
    let mut objects = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = serde_json::Value::deserialize(document)?;
        // The rules of admission policies have another format.
        let is_rbac = |kind: &str| kind.ends_with("Role") || kind.ends_with("RoleBinding");
        if value.get("kind").and_then(serde_json::Value::as_str).is_some_and(is_rbac) {
            objects.push(serde_yaml::from_str(&value.to_string())?);
        }
    }
    Ok(objects)
}

fn bound(objects: &[Object]) -> BTreeSet<Right> {
    let bindings = objects.iter().filter_map(|binding| Some((binding, binding.role_ref.as_ref()?)));
    let mut rights = BTreeSet::new();
    for (binding, reference) in bindings {
        let is_meant = |role: &&Object| role.kind == reference.kind && role.metadata.name == reference.name;
        let rules = objects.iter().filter(is_meant).flat_map(|role| &role.rules);
        let accounts = binding.subjects.iter().filter(|subject| subject.kind == "ServiceAccount");
        // Kustomize adds the namespace if it is missing.
        let namespace = (binding.kind == "RoleBinding")
            .then(|| binding.metadata.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned()));
        for (rule, account) in rules.flat_map(|rule| accounts.clone().map(move |account| (rule, account))) {
            rights.extend(rule.rights(&account.name, namespace.as_ref()));
        }
    }
    rights
}

impl Rule {
    fn rights(&self, account: &str, namespace: Option<&String>) -> Vec<Right> {
        let names: Vec<Option<&String>> = match self.resource_names.as_slice() {
            [] => vec![None],
            names => names.iter().map(Some).collect(),
        };
        let mut rights = Vec::new();
        for group in &self.api_groups {
            for (resource, verb) in self.resources.iter().flat_map(|it| self.verbs.iter().map(move |verb| (it, verb))) {
                rights.extend(names.iter().map(|name| Right {
                    account: account.to_owned(),
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                    namespace: namespace.cloned(),
                    name: name.cloned(),
                }));
            }
        }
        rights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_roles_grant_a_right_for_each_name() {
        let text = "
kind: Role
metadata: {name: lease}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [a, b], verbs: [get]}
---
kind: Role
metadata: {name: unbound}
rules:
- {apiGroups: [''], resources: [secrets], verbs: ['*']}
---
kind: RoleBinding
metadata: {name: lease}
roleRef: {kind: Role, name: lease}
subjects: [{kind: ServiceAccount, name: usnet-controller}]
---
kind: ValidatingAdmissionPolicy
metadata: {name: other}
spec: {matchConstraints: {resourceRules: []}}
";
        let rights: Vec<String> = bound(&parse(text).unwrap()).iter().map(Right::to_string).collect();
        let expected =
            ["a", "b"].map(|name| format!("usnet-controller: get leases.coordination.k8s.io {name} in usnet-system"));
        assert_eq!(rights, expected);
    }
}
