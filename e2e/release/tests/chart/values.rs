//! Values that need each other.

use super::{chart, checkout, helm, refusal, template};
use serde_json::{Value, json};
use usnet_release::chart::kustomize::objects;

fn agent(objects: &super::Objects) -> &Value {
    &objects["DaemonSet/usnet-agent"]["spec"]["template"]["spec"]
}

fn folder<'a>(pod: &'a Value, volume: &str) -> &'a Value {
    let volumes = pod["volumes"].as_array().unwrap();
    &volumes.iter().find(|it| it["name"] == volume).unwrap()["hostPath"]["path"]
}

fn has_container(pod: &Value, name: &str) -> bool {
    pod["containers"].as_array().unwrap().iter().any(|container| container["name"] == name)
}

#[test]
fn a_value_that_is_set_comes_before_what_a_distribution_implies() {
    let Some(chart) = chart() else { return };
    let objects = template(chart.path(), "usnet-system", &["openshift=true", "selinux=false", "cniBinDir=/srv/cni"]);
    let pod = agent(&objects);
    assert!(pod["securityContext"]["seLinuxOptions"].is_null(), "{pod}");
    assert_eq!(folder(pod, "cni-bin"), "/srv/cni");
    assert_eq!(folder(pod, "cni-settings"), "/etc/kubernetes/cni/net.d");
    let objects = template(chart.path(), "usnet-system", &["k3s=true", "cniConfDir=/srv/net.d", "selinux=true"]);
    let pod = agent(&objects);
    assert_eq!(pod["securityContext"]["seLinuxOptions"], json!({"type": "spc_t"}));
    assert_eq!(folder(pod, "cni-bin"), "/var/lib/rancher/k3s/data/cni");
    assert_eq!(folder(pod, "cni-settings"), "/srv/net.d");
}

#[test]
fn the_container_that_attaches_is_there_where_it_is_needed_or_wanted() {
    let Some(chart) = chart() else { return };
    for (settings, is_there) in [
        (&[][..], false),
        (&["attachments=false"], false),
        (&["attachments=true"], true),
        (&["hotPlug=true"], true),
        (&["resourceClaims=true"], true),
    ] {
        let objects = template(chart.path(), "usnet-system", settings);
        assert_eq!(has_container(agent(&objects), "attach"), is_there, "{settings:?}");
    }
}

#[test]
fn the_test_of_a_release_has_the_image_and_the_account_of_the_controllers() {
    let Some(chart) = chart() else { return };
    let settings = ["image.repository=registry.example/usnet", "image.tag=v1", "controller.nodeSelector.infra=yes"];
    let arguments = ["template", "--kube-version=1.36.0", "--namespace=networks", "usnet"];
    let all = objects(&helm(&arguments, chart.path(), &settings).unwrap()).unwrap();
    let (test, controllers) = (&all["Pod/usnet-test"], &all["Deployment/usnet-controller"]);
    assert_eq!(
        (&test["metadata"]["namespace"], &test["metadata"]["annotations"]["helm.sh/hook"]),
        (&json!("networks"), &json!("test"))
    );
    let (pod, pattern) = (&test["spec"], &controllers["spec"]["template"]["spec"]);
    for field in ["serviceAccountName", "nodeSelector", "securityContext"] {
        assert_eq!(pod[field], pattern[field], "{field}");
    }
    for field in ["image", "securityContext"] {
        assert_eq!(pod["containers"][0][field], pattern["containers"][0][field], "{field}");
    }
    assert!(
        !template(chart.path(), "networks", &settings).contains_key("Pod/usnet-test"),
        "it is no part of the release"
    );
}

#[test]
fn values_that_do_not_fit_together_are_refused_with_what_to_set() {
    let Some(chart) = chart() else { return };
    for (settings, message) in [
        (
            &["hotPlug=true", "attachments=false"][..],
            "hotPlug needs the container that attaches interfaces: set attachments",
        ),
        (&["resourceClaims=true", "attachments=false"], "resourceClaims needs the container that attaches"),
        (&["openshift=true", "k3s=true"], "set one of them to false"),
        (&["engines.ovs=false", "engines.vpp=false"], "set one of them to true"),
        (&["cniBinDir=opt/cni/bin"], "cniBinDir"),
    ] {
        let error = refusal(chart.path(), "1.36.0", settings);
        assert!(error.contains(message), "{settings:?}: {error}");
    }
}

/// Adds the paths of all values with what they are, such as `crds.keep`.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(&path, member, found);
            }
        }
        _ => found.push((path.to_owned(), value.clone())),
    }
}

#[test]
fn the_page_of_installation_has_each_value_and_its_default() {
    let values = std::fs::read_to_string(checkout().join("config/chart/values.yaml")).unwrap();
    let page = std::fs::read_to_string(checkout().join("docs/install.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let mut found = Vec::new();
    leaves("", &serde_yaml::from_str(&values).unwrap(), &mut found);
    assert!(found.len() > 20, "{found:?}");
    for (path, default) in found {
        // `agent.` and `controller.` have a row for what pods have in common.
        let name = path.rsplit('.').next().unwrap();
        let is_common = ["nodeSelector", "tolerations", "resources"].contains(&name);
        let quoted = if is_common { format!("`{name}`") } else { format!("`{path}`") };
        let row = rows.iter().find(|row| row.get(1).is_some_and(|cell| cell.contains(&quoted)));
        let row = row.unwrap_or_else(|| panic!("docs/install.md does not have the value {path}"));
        let is_plain = default.is_boolean() || default.is_number();
        assert!(!is_plain || row[2] == format!("`{default}`"), "docs/install.md: {row:?}, and it is {default}");
    }
}
