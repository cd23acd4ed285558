//! The chart is what kustomize makes of `config/`, for each supported version of Kubernetes; a
//! release is the same twice, and complete.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of this program is test code: a test fails by panicking, and says what it leaves out"
)]

mod openvswitch;
mod release;
mod values;
mod versions;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use usnet_release::chart::Chart;
use usnet_release::chart::kustomize::{Kustomization, objects};
use usnet_release::commands::{self, program};

type Objects = BTreeMap<String, Value>;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The chart in a folder. None, with a line that says so, where helm is not built.
fn chart() -> Option<tempfile::TempDir> {
    if commands::run(program("helm").arg("version"), b"").is_err() {
        println!("SKIPPED: no helm here; `make release-test` builds it and runs this");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let chart = Chart {
        config: &checkout().join("config"),
        image: "usnet",
        version: VERSION,
        url: Some("https://usnet.example"),
    };
    for (name, text) in chart.files().unwrap() {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Some(folder)
}

fn helm(arguments: &[&str], chart: &Path, settings: &[&str]) -> Result<String, String> {
    let mut command = program("helm");
    command.args(arguments).arg(chart).args(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = commands::run(&mut command, b"").map_err(|error| error.to_string())?;
    Ok(String::from_utf8(output).unwrap())
}

fn template(chart: &Path, namespace: &str, settings: &[&str]) -> Objects {
    let arguments = ["template", "--skip-tests", "--kube-version=1.36.0", "--namespace", namespace, "usnet"];
    normal(objects(&helm(&arguments, chart, settings).unwrap()).unwrap())
}

/// What helm says of values that do not fit together.
#[track_caller]
fn refusal(chart: &Path, kubernetes: &str, settings: &[&str]) -> String {
    helm(&["template", &format!("--kube-version={kubernetes}")], chart, settings).unwrap_err()
}

fn kustomize(resources: &[&str], components: &[&str]) -> Objects {
    let config = checkout().join("config");
    let mut objects = Kustomization { config: &config, resources, components }.render().unwrap();
    objects.remove("Namespace/usnet-system").unwrap();
    normal(objects)
}

/// The order of volumes, mounts and the like has no meaning.
fn normal(objects: Objects) -> Objects {
    fn sort(value: &mut Value) {
        match value {
            Value::Object(map) => map.values_mut().for_each(sort),
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                let name = |item: &Value| item.get("mountPath").or(item.get("name")).map(Value::to_string);
                if items.iter().all(|item| name(item).is_some()) {
                    items.sort_by_key(name);
                }
            }
            _ => {}
        }
    }
    objects
        .into_iter()
        .map(|(name, mut object)| {
            (name, {
                sort(&mut object);
                object
            })
        })
        .collect()
}

#[track_caller]
fn assert_same(chart: &Objects, config: &Objects, what: &str) {
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(chart), names(config), "{what}");
    for (name, object) in config {
        assert_eq!(&chart[name], object, "{name} of {what}");
    }
}

#[test]
fn the_chart_is_what_kustomize_makes_of_config() {
    let Some(chart) = chart() else { return };
    let cases: [(&[&str], &str, &[&str]); 21] = [
        (&[], "default", &[]),
        (&["engines.vpp=false"], "overlays/ovs", &[]),
        (&["engines.ovs=false"], "overlays/vpp", &[]),
        (&["nodeNetwork=false"], "overlays/node-local", &[]),
        (&["nicBinding=true"], "default", &["components/nic-binding"]),
        (&["garbageCollection=false"], "default", &["components/no-garbage-collection"]),
        (&["prometheus=true"], "default", &["components/prometheus"]),
        (&["prometheus=true", "nodeNetwork=false"], "overlays/node-local", &["components/prometheus"]),
        (&["legacyNads=false"], "default", &["components/no-legacy-nads"]),
        (&["metricsCertificate=true"], "default", &["components/metrics-certificate"]),
        (&["tenantRoles=false"], "base", &["components/node-network", "engines/ovs", "engines/vpp"]),
        (&["resourceClaims=true"], "default", &["components/resource-claims"]),
        (&["legacyPods=true"], "default", &["components/legacy-pods"]),
        (&["hotPlug=true", "attachments=true"], "default", &["components/attachments", "components/hot-plug"]),
        (
            &["resourceClaims=true", "hotPlug=true", "k3s=true"],
            "default",
            &["components/hot-plug", "components/cni-folders/k3s", "components/resource-claims"],
        ),
        (&["userspaceEngines=true"], "default", &["components/engines"]),
        (&["policies=true"], "default", &["components/policies"]),
        (&["selinux=true"], "default", &["components/selinux"]),
        (
            &["openshift=true", "attachments=true", "garbageCollection=false"],
            "default",
            &["components/openshift", "components/no-garbage-collection", "components/attachments"],
        ),
        (&["openshift=true"], "default", &["components/openshift"]),
        (
            &["networkPolicy=true", "garbageCollection=false", "engines.vpp=false"],
            "overlays/ovs",
            &["components/network-policy", "components/no-garbage-collection"],
        ),
    ];
    for (settings, resource, components) in cases {
        let settings = [settings, &["crds.keep=false"]].concat();
        let rendered = template(chart.path(), "usnet-system", &settings);
        assert_same(&rendered, &kustomize(&[resource], components), &format!("{settings:?}"));
    }
}

/// Kubernetes expands a variable in the values of those that follow it alone.
#[test]
fn the_address_of_the_pod_comes_before_the_variable_that_has_it() {
    let config = checkout().join("config");
    let kustomization =
        Kustomization { config: &config, resources: &["default"], components: &["components/prometheus"] };
    let mut rendered = vec![kustomization.render().unwrap()];
    if let Some(chart) = chart() {
        let settings = ["prometheus=true", "agent.metricsPort=28182"];
        let arguments = ["template", "--kube-version=1.36.0", "usnet"];
        rendered.push(objects(&helm(&arguments, chart.path(), &settings).unwrap()).unwrap());
    }
    for (objects, port) in rendered.iter().zip(["28181", "28182"]) {
        let containers = objects["DaemonSet/usnet-agent"]["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let agent = containers.iter().find(|container| container["name"] == "agent").unwrap();
        let variables = agent["env"].as_array().unwrap();
        let place = |name: &str| variables.iter().position(|variable| variable["name"] == name).unwrap();
        assert!(place("POD_IP") < place("USNET_LISTEN_METRICS"), "{variables:?}");
        let value = &variables[place("USNET_LISTEN_METRICS")]["value"];
        assert_eq!(*value, format!("[$(POD_IP)]:{port}"));
        let service = &objects["Service/usnet-agent-metrics"]["spec"]["ports"][0];
        assert_eq!(service["targetPort"].to_string(), port, "{service}");
    }
}

#[test]
fn values_of_the_chart_are_where_they_belong() {
    let Some(chart) = chart() else { return };
    let settings = [
        "image.repository=registry.example/usnet",
        "image.tag=v7",
        "attachments=true",
        "imagePullSecrets[0].name=key",
        "cniBinDir=/var/lib/cni/bin",
        "kubeletDir=/var/lib/k0s/kubelet",
        "agent.nodeSelector.dpdk=yes",
        "agent.tolerations[0].key=dpdk",
        "controller.replicas=3",
        "controller.resources.limits.memory=1Gi",
    ];
    let changed = template(chart.path(), "elsewhere", &settings);
    let definitions = |name: &String| name.starts_with("CustomResourceDefinition/");
    for (name, object) in changed.iter().filter(|(name, _)| !definitions(name)) {
        assert!(!object.to_string().contains("usnet-system"), "{name}: {object}");
    }
    for (name, object) in changed.iter().filter(|(name, _)| definitions(name)) {
        assert_eq!(object["metadata"]["annotations"]["helm.sh/resource-policy"], "keep", "{name}");
    }
    let agent = &changed["DaemonSet/usnet-agent"];
    let text = agent.to_string();
    assert_eq!(text.matches("\"image\":\"registry.example/usnet:v7\"").count(), 4, "{text}");
    assert!(!text.contains("\"image\":\"usnet"), "{text}");
    let pod = &agent["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"]["dpdk"], "yes");
    assert_eq!(pod["tolerations"][0]["key"], "dpdk");
    assert_eq!(pod["imagePullSecrets"][0]["name"], "key");
    let volumes = pod["volumes"].as_array().unwrap();
    let folder = |name: &str| &volumes.iter().find(|volume| volume["name"] == name).unwrap()["hostPath"]["path"];
    assert_eq!(folder("cni-bin"), "/var/lib/cni/bin");
    assert_eq!(folder("device-plugins"), "/var/lib/k0s/kubelet/device-plugins");
    let controller = &changed["Deployment/usnet-controller"]["spec"];
    assert_eq!(controller["replicas"], 3);
    assert_eq!(controller["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"], "1Gi");

    let without = template(chart.path(), "usnet-system", &["crds.install=false"]);
    assert!(!without.keys().any(definitions));
}

#[test]
fn the_chart_says_what_it_is() {
    let config = checkout().join("config");
    let chart = Chart { config: &config, image: "registry.example/usnet", version: VERSION, url: None };
    let description =
        |chart: &Chart<'_>| -> Value { serde_yaml::from_str(&chart.files().unwrap()["Chart.yaml"]).unwrap() };
    let described = description(&chart);
    assert!(described["home"].is_null() && described["icon"].is_string(), "{described}");
    assert_eq!(description(&Chart { url: Some("https://usnet.example"), ..chart })["home"], "https://usnet.example");
    let annotation = |name: &str| -> Value {
        serde_yaml::from_str(described["annotations"][format!("artifacthub.io/{name}")].as_str().unwrap()).unwrap()
    };
    assert_eq!(annotation("images")[0]["image"], format!("registry.example/usnet:{VERSION}"));
    let crds = Kustomization { config: &config, resources: &["crd"], components: &[] }.render().unwrap();
    for crd in annotation("crds").as_array().unwrap() {
        let spec = &crds[&format!("CustomResourceDefinition/{}", crd["name"].as_str().unwrap())]["spec"];
        assert_eq!((&spec["names"]["kind"], &spec["versions"][0]["name"]), (&crd["kind"], &crd["version"]));
    }
}

#[test]
fn helm_accepts_the_chart_and_refuses_values_that_it_does_not_have() {
    let Some(chart) = chart() else { return };
    helm(&["lint", "--strict"], chart.path(), &[]).unwrap();
    let error = refusal(chart.path(), "1.36.0", &["engine.ovs=false"]);
    assert!(error.contains("engine"), "{error}");
}
