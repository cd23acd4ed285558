use super::*;
use crate::protocol::environment::Environment;
use serde_json::Value;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use usnet_dataplane::testing::write_script;

/// A folder with one plugin, which is a shell script.
fn plugin(script: &str) -> (TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("addresses");
    write_script(&program, script);
    let path = OsString::from(folder.path());
    let environment = Environment::new(move |name| (name == "CNI_PATH").then(|| path.clone()));
    (folder, environment)
}

fn configuration() -> Value {
    json!({"cniVersion": "1.1.0", "name": "blue", "ipam": {"type": "addresses"}})
}

#[test]
fn the_plugin_gets_configuration_and_verb_and_its_addresses_are_read() {
    let script = r#"
        test "$CNI_COMMAND" = ADD && grep -q '"name":"blue"' || exit 1
        echo '{"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.7/24"}], "routes": [{"dst": "0.0.0.0/0"}]}'"#;
    let (_folder, environment) = plugin(script);
    let configuration = configuration();
    let assignment = IpamPlugin::find(&configuration, &environment).unwrap().assign().unwrap();
    assert_eq!(assignment.ips[0].address.to_string(), "10.0.0.7/24");
    assert_eq!(assignment.routes.len(), 1);
}

#[test]
fn an_error_is_passed_on_with_its_code() {
    let (_folder, environment) =
        plugin(r#"echo '{"code": 42, "msg": "pool is empty", "details": "all taken"}'; exit 1"#);
    let configuration = configuration();
    let rejected = IpamPlugin::find(&configuration, &environment).unwrap().assign().unwrap_err();
    assert!(matches!(rejected, IpamError::Rejected { code: 42, .. }), "{rejected:?}");
    assert_eq!(rejected.to_string(), "IPAM plugin addresses: pool is empty");
}

#[test]
fn exhausted_addresses_have_their_own_code_and_other_codes_of_plugins_are_not_passed_on() {
    let error = |code: u32, msg: &str| {
        let (_folder, environment) = plugin(&format!(r#"echo '{{"code": {code}, "msg": "{msg}"}}'; exit 1"#));
        let configuration = configuration();
        IpamPlugin::find(&configuration, &environment).unwrap().assign().unwrap_err()
    };
    let full = "failed to allocate for range 0: no IP addresses available in range set: 10.58.0.2-10.58.0.2";
    let exhausted = error(999, full);
    assert_eq!(exhausted.number(), 108);
    assert!(exhausted.to_string().contains("enlarge the range"), "{exhausted}");
    for (code, number) in [(4, 4), (11, 11), (99, 99), (100, 105), (103, 105), (999, 105)] {
        assert_eq!(error(code, "no").number(), number, "{code}");
    }
}

#[test]
fn an_address_outside_of_the_ranges_is_refused_with_the_ranges() {
    let (_folder, environment) =
        plugin(r#"echo '{"code": 999, "msg": "failed to allocate all requested IPs: 10.9.9.9"}'; exit 1"#);
    let mut configuration = configuration();
    configuration["ipam"]["ranges"] =
        json!([[{"subnet": "10.56.0.0/24", "rangeStart": "10.56.0.9", "rangeEnd": "10.56.0.20"}]]);
    let error = IpamPlugin::find(&configuration, &environment).unwrap().assign().unwrap_err();
    assert_eq!(error.number(), 105);
    assert!(error.to_string().contains("10.9.9.9 (this node assigns 10.56.0.9 to 10.56.0.20,"), "{error}");
}

#[test]
fn a_failure_without_json_shows_what_was_written() {
    let (_folder, environment) = plugin("echo 'no such disk' >&2; exit 3");
    let configuration = configuration();
    let failed = IpamPlugin::find(&configuration, &environment).unwrap().release().unwrap_err();
    assert!(failed.to_string().contains("exit status: 3") && failed.to_string().contains("no such disk"), "{failed}");
}

#[test]
fn a_plugin_that_hangs_is_stopped() {
    let (folder, environment) = plugin("echo $$ > \"$0.pid\"; exec sleep 600");
    let configuration = configuration();
    let mut ipam = IpamPlugin::find(&configuration, &environment).unwrap();
    ipam.timeout = Duration::from_millis(300);
    assert!(matches!(ipam.assign(), Err(IpamError::TimedOut { .. })));
    let pid = fs::read_to_string(folder.path().join("addresses.pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "process {pid} still runs");
}

#[test]
fn output_without_addresses_is_an_error() {
    let assign = |script: &str| {
        let (_folder, environment) = plugin(script);
        let configuration = configuration();
        IpamPlugin::find(&configuration, &environment).unwrap().assign()
    };
    assert!(matches!(assign("echo hello"), Err(IpamError::Undecodable(..))));
    assert!(matches!(assign(r#"echo '{"ips": [{"address": "10.0.0.300/24"}]}'"#), Err(IpamError::Undecodable(..))));
    assert!(matches!(assign(r#"echo '{"cniVersion": "1.1.0"}'"#), Err(IpamError::NoAddress(_))));
}

#[test]
fn a_plugin_is_a_name_and_never_a_path() {
    let (_folder, environment) = plugin("exit 0");
    for name in ["", "../addresses", "/bin/sh", ".", "..", ".hidden", "a b"] {
        let configuration = json!({"ipam": {"type": name}});
        assert!(matches!(IpamPlugin::find(&configuration, &environment), Err(IpamError::NoType)), "{name}");
    }
    let configuration = json!({"ipam": {"type": "absent"}});
    let absent = IpamPlugin::find(&configuration, &environment);
    assert!(matches!(absent, Err(IpamError::NotInstalled { .. })), "{absent:?}");
}

#[test]
fn a_plugin_that_ignores_requested_ips_is_detected() {
    let (_folder, environment) = plugin(r#"echo '{"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.7/24"}]}'"#);
    let configuration = configuration();
    let ipam = IpamPlugin::find(&configuration, &environment).unwrap();
    let static_ips = |text: &str| vec![text.parse().unwrap()];
    assert_eq!(ipam.assign_static(&static_ips("10.0.0.7/24")).unwrap().ips.len(), 1);
    let error = ipam.assign_static(&static_ips("10.0.0.8/24")).unwrap_err();
    assert!(error.to_string().contains("did not assign 10.0.0.8"), "{error}");
}
