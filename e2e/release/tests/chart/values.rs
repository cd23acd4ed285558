//! Values that need each other.

use super::{chart, refusal, template};
use serde_json::{Value, json};

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
