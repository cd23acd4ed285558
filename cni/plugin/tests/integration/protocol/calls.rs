//! The protocol of the plugin, from environment and standard input to JSON and an exit status. No
//! pod is attached here.

use crate::support::output::Output;
use crate::support::{configuration, run};
use serde_json::{Value, json};
use std::process::Command;

const ARGUMENTS: &str = "K8S_POD_NAMESPACE=db;K8S_POD_NAME=p;K8S_POD_UID=0b6e";

/// Calls the plugin with these variables on a node without any files.
fn call(variables: &[(&str, &str)], input: &[u8]) -> Output {
    let node = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_userspace"));
    command.env_clear().envs(variables.iter().copied());
    for root in ["USNET_RUN_DIR", "USNET_STATE_DIR", "USNET_KUBELET_DIR"] {
        command.env(root, node.path().join(root));
    }
    run(command, input)
}

fn variables<'a>(verb: &'a str, changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let whole = [
        ("CNI_COMMAND", verb),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", "/run/netns/p"),
        ("CNI_IFNAME", "net1"),
        ("CNI_ARGS", ARGUMENTS),
        ("CNI_PATH", "/opt/cni/bin"),
    ];
    let value = |name, standard| changed.iter().find(|(key, _)| *key == name).map_or(standard, |(_, value)| *value);
    whole.into_iter().map(|(name, standard)| (name, value(name, standard))).collect()
}

fn call_with(verb: &str, changed: &[(&str, &str)], configuration: &Value) -> Output {
    call(&variables(verb, changed), configuration.to_string().as_bytes())
}

#[test]
fn version_lists_supported_versions_in_the_callers_version() {
    let supported = json!(["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]);
    for (input, answered) in [
        (r#"{"cniVersion":"1.1.0"}"#, "1.1.0"),
        (r#"{"cniVersion":"0.4.0"}"#, "0.4.0"),
        (r#"{"cniVersion":"9.0.0"}"#, "1.1.0"),
        ("", "1.1.0"),
    ] {
        let result = call(&[("CNI_COMMAND", "VERSION")], input.as_bytes()).result();
        assert_eq!(result, json!({"cniVersion": answered, "supportedVersions": supported}), "{input}");
    }
}

#[test]
fn a_call_without_cni_command_prints_the_version() {
    let output = call(&[], b"");
    output.assert_done();
    assert!(
        output.stderr().contains("CNI protocol versions supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"),
        "{output:?}"
    );
}

#[test]
fn verbs_that_are_not_there_are_rejected_by_name() {
    for verb in ["add", "REMOVE", "CHECK "] {
        let message = call_with(verb, &[], &configuration("blue")).message(4);
        assert!(message.contains("CNI_COMMAND") && message.contains(verb), "{message}");
    }
}

#[test]
fn a_verb_is_rejected_in_versions_that_do_not_have_it() {
    let of_version =
        |version: &str| json!({"cniVersion": version, "name": "x", "type": "userspace", "network": "blue"});
    for (verb, unsupported) in [
        ("CHECK", ["0.1.0", "0.3.1"].as_slice()),
        ("GC", &["0.2.0", "0.3.1", "0.4.0", "1.0.0"]),
        ("STATUS", &["0.2.0", "0.3.1", "0.4.0", "1.0.0"]),
    ] {
        for version in unsupported {
            let message = call_with(verb, &[], &of_version(version)).message(1);
            assert!(message.contains(verb) && message.contains(version), "{message}");
        }
    }
    assert!(call_with("CHECK", &[], &of_version("0.4.0")).message(7).contains("prevResult"));
    let mut wrong = of_version("1.1.0");
    wrong["cni.dev/valid-attachments"] = json!([{"ifname": "net1"}]);
    assert!(call_with("GC", &[], &wrong).message(7).contains("cni.dev/valid-attachments"));
    let without_path: Vec<_> = variables("GC", &[]).into_iter().filter(|(name, _)| *name != "CNI_PATH").collect();
    assert!(call(&without_path, of_version("1.1.0").to_string().as_bytes()).message(4).contains("CNI_PATH"));
}

#[test]
fn a_wrong_environment_is_rejected_and_the_variable_named() {
    for (changed, named) in [
        (("CNI_CONTAINERID", ""), "CNI_CONTAINERID"),
        (("CNI_NETNS", ""), "CNI_NETNS"),
        (("CNI_IFNAME", ""), "CNI_IFNAME"),
        (("CNI_CONTAINERID", "../c"), "CNI_CONTAINERID"),
        (("CNI_IFNAME", "a/b"), "CNI_IFNAME"),
        (("CNI_IFNAME", "longer-than-15-b"), "CNI_IFNAME"),
        (("CNI_ARGS", ""), "CNI_ARGS"),
        (("CNI_ARGS", "K8S_POD_NAMESPACE"), "CNI_ARGS"),
        (("CNI_ARGS", "COLOUR=red"), "CNI_ARGS"),
        (("CNI_ARGS", "K8S_POD_NAMESPACE=db;K8S_POD_NAME=p;K8S_POD_UID=.."), "CNI_ARGS"),
        (("CNI_ARGS", "K8S_POD_NAMESPACE=db;K8S_POD_NAME=p;K8S_POD_UID=0;MAC=01:00:00:00:00:00"), "CNI_ARGS"),
    ] {
        let message = call_with("ADD", &[changed], &configuration("blue")).message(4);
        assert!(message.contains(named), "{changed:?}: {message}");
    }
    let message = call(&[("CNI_COMMAND", "ADD")], b"{}").message(4);
    assert_eq!(
        message,
        "usnet[4 InvalidEnvironment]: required environment variables [CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME] are missing"
    );
}

#[test]
fn a_wrong_configuration_is_rejected_with_the_specifications_code() {
    let with = |key: &str, value: Value| {
        let mut changed = configuration("blue");
        changed[key] = value;
        changed
    };
    for (configuration, code, reported) in [
        (json!([]), 6, "not a JSON object"),
        (with("cniVersion", json!("9.9.9")), 1, "configuration cannot be used"),
        (with("cniVersion", json!("2.0.0")), 1, "configuration cannot be used"),
        (with("cniVersion", json!(1)), 7, "cniVersion"),
        (with("name", json!("")), 7, "name"),
        (with("network", json!(null)), 7, "network"),
        (with("network", json!("Blue")), 7, "network"),
        (with("ipam", json!("host-local")), 7, "ipam"),
        (with("prevResult", json!([])), 7, "prevResult"),
    ] {
        let message = call_with("ADD", &[], &configuration).message(code);
        assert!(message.contains(reported), "{configuration}: {message}");
    }
    let details = call_with("ADD", &[], &with("cniVersion", json!("9.9.9"))).error()["details"].clone();
    assert!(
        details.as_str().unwrap().contains("set it to one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"),
        "{details}"
    );
    assert_eq!(call(&variables("ADD", &[]), b"{\"cniVersion\"").code(), 6);
}

#[test]
fn an_error_has_the_version_of_the_configuration() {
    for version in ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        let configuration = json!({"cniVersion": version, "name": "x", "type": "userspace"});
        assert_eq!(call_with("ADD", &[], &configuration).error()["cniVersion"], version);
    }
}

#[test]
fn an_unknown_network_gets_try_again_later_with_advice() {
    let output = call_with("ADD", &[], &configuration("blue"));
    let message = output.message(11);
    for part in ["blue", "kubectl get usn blue", "nodeSelector", "agent"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    output.assert_in_time();
}

#[test]
fn del_without_add_succeeds() {
    for changed in [
        vec![],
        vec![("CNI_NETNS", "")],
        vec![("CNI_NETNS", "/run/netns/gone")],
        vec![("CNI_ARGS", "")],
        vec![("CNI_PATH", "")],
        vec![("CNI_IFNAME", "longer-than-15-b")],
    ] {
        for configuration in [
            configuration("blue"),
            json!({"cniVersion": "1.1.0", "name": "x", "type": "userspace"}),
            json!({"cniVersion": "0.2.0", "network": "No Network"}),
            json!({"cniVersion": "1.1.0", "name": "x", "network": "blue", "ipam": {"type": "not-installed"}}),
        ] {
            call_with("DEL", &changed, &configuration).assert_done();
        }
    }
    let message = call_with("DEL", &[("CNI_CONTAINERID", "")], &configuration("blue")).message(4);
    assert_eq!(message, "usnet[4 InvalidEnvironment]: required environment variables [CNI_CONTAINERID] are missing");
}

/// The next test runs this one in a child process.
#[test]
#[ignore = "started by a_panic_is_reported_as_a_cni_error"]
fn defect() {
    usnet_plugin::call::report_panics();
    panic!("a defect");
}

#[test]
fn a_panic_is_reported_as_a_cni_error() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "protocol::calls::defect", "--nocapture"]);
    let output = run(command, b"");
    assert_eq!(output.output.status.code(), Some(1), "{output:?}");
    let printed = output.stdout();
    let error = printed.lines().find(|line| line.starts_with('{')).expect("a JSON object");
    let error: Value = serde_json::from_str(error).unwrap();
    assert_eq!(error["code"], 999);
    assert!(error["details"].as_str().unwrap().contains("a defect"), "{error}");
}
