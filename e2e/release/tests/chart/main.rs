//! The chart is what kustomize makes of `config/`, and a release is the same twice.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this program is test code: a test fails by panicking, and says what it leaves out"
)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use usnet_release::chart::Chart;
use usnet_release::chart::kustomize::{Kustomization, objects};
use usnet_release::commands::{self, program};
use usnet_release::digest;
use usnet_release::release::Release;

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
    let chart = Chart { config: &checkout().join("config"), image: "usnet", version: VERSION };
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
    let arguments = ["template", "--kube-version=1.36.0", "--namespace", namespace, "usnet"];
    normal(objects(&helm(&arguments, chart, settings).unwrap()).unwrap())
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
    let cases: [(&[&str], &str, &[&str]); 13] = [
        (&[], "default", &[]),
        (&["engines.vpp=false"], "overlays/ovs", &[]),
        (&["engines.ovs=false"], "overlays/vpp", &[]),
        (&["nodeNetwork=false"], "overlays/node-local", &[]),
        (&["garbageCollection=false"], "default", &["components/no-garbage-collection"]),
        (&["prometheus=true"], "default", &["components/prometheus"]),
        (&["legacyNads=false"], "default", &["components/no-legacy-nads"]),
        (&["metricsCertificate=true"], "default", &["components/metrics-certificate"]),
        (&["tenantRoles=true"], "default", &["components/tenant-roles"]),
        (
            &["attachments=true", "resourceClaims=true", "hotPlug=true"],
            "default",
            &["components/attachments", "components/resource-claims", "components/hot-plug"],
        ),
        (
            &["cniBinDir=/var/lib/rancher/k3s/data/cni", "cniConfDir=/var/lib/rancher/k3s/agent/etc/cni/net.d"],
            "default",
            &["components/cni-folders/k3s"],
        ),
        (
            &["openshift=true", "selinux=true", "cniBinDir=/var/lib/cni/bin", "cniConfDir=/etc/kubernetes/cni/net.d"],
            "default",
            &["components/openshift", "components/selinux", "components/cni-folders/openshift"],
        ),
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

#[test]
fn values_of_the_chart_are_where_they_belong() {
    let Some(chart) = chart() else { return };
    let settings = [
        "image.repository=registry.example/usnet",
        "image.tag=v7",
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
    assert_eq!(text.matches("\"image\":\"registry.example/usnet:v7\"").count(), 3, "{text}");
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
fn helm_accepts_the_chart_and_refuses_values_that_it_does_not_have() {
    let Some(chart) = chart() else { return };
    helm(&["lint", "--strict"], chart.path(), &[]).unwrap();
    let error = helm(&["template", "--kube-version=1.36.0"], chart.path(), &["engine.ovs=false"]).unwrap_err();
    assert!(error.contains("engine"), "{error}");
}

#[test]
fn a_release_is_the_same_twice() {
    let binaries = tempfile::tempdir().unwrap();
    for name in ["usnet", "userspace", "usnet-tools"] {
        fs::write(binaries.path().join(name), format!("program {name}")).unwrap();
    }
    let program = binaries.path().join("usnet").display().to_string();
    let plugins = ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-gnu"]
        .map(|target| format!("{target}={program}").parse().unwrap());
    let releases = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for output in &releases {
        let release = Release {
            checkout: &checkout(),
            binaries: binaries.path(),
            plugins: &plugins,
            image: "registry.example/usnet",
            version: VERSION,
            revision: "abc",
            time: 1_700_000_000,
            output: output.path(),
        };
        release.write().unwrap();
    }
    let [first, second] = releases.each_ref().map(|folder| files(folder.path()));
    assert_eq!(first, second);
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    let arch = usnet_release::image::archive::architecture();
    let expected = [
        "CHANGELOG.md".to_owned(),
        "SHA256SUMS".to_owned(),
        "crds.yaml".to_owned(),
        "install.yaml".to_owned(),
        format!("kubectl-usnet-{VERSION}-darwin-arm64.tar.gz"),
        format!("kubectl-usnet-{VERSION}-linux-amd64.tar.gz"),
        format!("kubectl-usnet-{VERSION}-windows-amd64.tar.gz"),
        format!("usnet-{VERSION}-linux-{arch}.tar.gz"),
        format!("usnet-{VERSION}-oci.tar"),
        format!("usnet-{VERSION}.cdx.json"),
        format!("usnet-{VERSION}.tgz"),
        format!("usnet-tools-{VERSION}-oci.tar"),
    ];
    assert_eq!(names, expected);
    let sums = fs::read_to_string(releases[0].path().join("SHA256SUMS")).unwrap();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(first[name], sum, "{name}");
    }
    assert_eq!(sums.lines().count(), names.len() - 1);
    let manifests = fs::read_to_string(releases[0].path().join("install.yaml")).unwrap();
    assert_eq!(manifests.matches(&format!("image: registry.example/usnet:{VERSION}\n")).count(), 4);
}

/// The digests of the files of a folder by name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), digest::of_file(&entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(read).collect()
}
