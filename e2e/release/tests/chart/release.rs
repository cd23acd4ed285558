//! The files of a release.

use super::{VERSION, checkout, openvswitch};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use usnet_release::digest;
use usnet_release::release::Release;
use usnet_release::samples;
use usnet_release::target::Built;

const URL: &str = "https://usnet.example/0.1.0";

/// Writes a release of programs that are texts.
fn write(output: &Path, binaries: &Path) {
    let built = |target: &str, path: &Path| -> Built { format!("{target}={}", path.display()).parse().unwrap() };
    let folders = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"].map(|target| {
        let folder = binaries.join(target);
        fs::create_dir_all(&folder).unwrap();
        for name in ["usnet", "userspace", "usnet-tools"] {
            fs::write(folder.join(name), format!("program {name} for {target}")).unwrap();
        }
        built(target, &folder)
    });
    let program = folders[0].path.join("usnet");
    let plugins = ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-gnu"];
    let plugins = plugins.map(|target| built(target, &program));
    let release = Release {
        checkout: &checkout(),
        binaries: &folders,
        plugins: &plugins,
        url: Some(URL),
        image: "registry.example/usnet",
        version: VERSION,
        revision: "abc",
        time: 1_700_000_000,
        output,
    };
    release.write().unwrap();
}

#[test]
fn a_release_is_the_same_twice() {
    if !openvswitch::is_installed() {
        return;
    }
    let binaries = tempfile::tempdir().unwrap();
    let releases = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    releases.iter().for_each(|output| write(output.path(), binaries.path()));
    let [first, second] = releases.each_ref().map(|folder| files(folder.path()));
    assert_eq!(first, second);
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    let expected = [
        "CHANGELOG.md".to_owned(),
        "SHA256SUMS".to_owned(),
        "crds.yaml".to_owned(),
        "install.yaml".to_owned(),
        format!("kubectl-usnet-{VERSION}-darwin-arm64.tar.gz"),
        format!("kubectl-usnet-{VERSION}-linux-amd64.tar.gz"),
        format!("kubectl-usnet-{VERSION}-windows-amd64.tar.gz"),
        "samples.yaml".to_owned(),
        format!("usnet-{VERSION}-linux-amd64.tar.gz"),
        format!("usnet-{VERSION}-linux-arm64.tar.gz"),
        format!("usnet-{VERSION}-oci.tar"),
        format!("usnet-{VERSION}.cdx.json"),
        format!("usnet-{VERSION}.tgz"),
        "usnet-krew.yaml".to_owned(),
        format!("usnet-openvswitch-{VERSION}-oci.tar"),
        format!("usnet-openvswitch-{VERSION}.cdx.json"),
        format!("usnet-tools-{VERSION}-oci.tar"),
    ];
    assert_eq!(names, expected);
    let read = |name: &str| fs::read_to_string(releases[0].path().join(name)).unwrap();
    let sums = read("SHA256SUMS");
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(first[name], sum, "{name}");
    }
    assert_eq!(sums.lines().count(), names.len() - 1);
    assert_eq!(read("install.yaml").matches(&format!("image: registry.example/usnet:{VERSION}\n")).count(), 4);
    let has_image = |object: &&Value| ["Pod", "UserspaceEngine"].map(Value::from).contains(&object["kind"]);
    assert_eq!(read("samples.yaml").matches("image: ").count(), sample_objects().iter().filter(has_image).count());
    assert!(!read("samples.yaml").contains("image: usnet"));
    let krew: Value = serde_yaml::from_str(&read("usnet-krew.yaml")).unwrap();
    for platform in krew["spec"]["platforms"].as_array().unwrap() {
        let name = platform["uri"].as_str().unwrap().strip_prefix(&format!("{URL}/")).unwrap();
        assert_eq!(platform["sha256"], first[name].as_str(), "{name}");
    }
}

/// The objects of all samples.
fn sample_objects() -> Vec<Value> {
    use serde::Deserialize;
    let text = samples::join(&checkout().join("config/samples"), "registry.example/usnet", VERSION).unwrap();
    let objects = serde_yaml::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap());
    objects.filter(|object| !object.is_null()).collect()
}

fn sample_pods() -> Vec<Value> {
    sample_objects().into_iter().filter(|object| object["kind"] == "Pod").collect()
}

/// Engine, `port.type`, and what of `port` makes another row of the table of port types.
type Row<'a> = (&'a str, &'a str, &'a str);

const ROWS: [Row<'_>; 8] = [
    ("OVS", "Veth", ""),
    ("OVS", "VhostUser", ""),
    ("VPP", "Memif", ""),
    ("VPP", "Memif", "Abstract"),
    ("VPP", "Memif", "IP"),
    ("VPP", "Veth", ""),
    ("VPP", "VhostUser", ""),
    ("VPP", "VhostUser", "Server"),
];

fn row(network: &Value) -> (String, String, String) {
    let port = &network["spec"]["port"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let engine = text(&network["spec"]["engine"]);
    let default = if engine == "OVS" { "VhostUser" } else { "Memif" };
    let kind = port["type"].as_str().unwrap_or(default).to_owned();
    let settings = [&port["memif"]["socket"], &port["memif"]["mode"], &port["vhostUser"]["engineRole"]].map(text);
    let other = settings.into_iter().find(|setting| ["Abstract", "IP", "Server"].contains(&setting.as_str()));
    (engine, kind, other.unwrap_or_default())
}

#[test]
fn each_port_type_has_a_sample_with_a_pod() {
    let objects = sample_objects();
    let networks = objects.iter().filter(|object| object["kind"] == "UserspaceNetwork");
    let used: BTreeSet<String> = sample_pods()
        .iter()
        .map(|pod| pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str().unwrap().to_owned())
        .collect();
    let with_pod = networks.filter(|network| used.contains(network["metadata"]["name"].as_str().unwrap()));
    let rows: BTreeSet<(String, String, String)> = with_pod.map(row).collect();
    let expected = ROWS.map(|(engine, kind, other)| (engine.to_owned(), kind.to_owned(), other.to_owned()));
    assert_eq!(rows, expected.into());
}

#[test]
fn cluster_autoscaler_may_move_the_pods_of_samples() {
    let pods = sample_pods();
    for pod in &pods {
        let volumes = pod["spec"]["volumes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let local: Vec<&str> = volumes
            .iter()
            .filter(|volume| volume.get("emptyDir").is_some())
            .map(|volume| volume["name"].as_str().unwrap())
            .collect();
        let named = &pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"];
        assert_eq!(named.as_str().unwrap_or_default(), local.join(","), "{pod}");
    }
    assert!(pods.len() >= ROWS.len(), "{}", pods.len());
}

/// The digests of the files of a folder by name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), digest::of_file(&entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(read).collect()
}
