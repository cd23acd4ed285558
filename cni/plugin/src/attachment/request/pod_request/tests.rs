use super::*;
use serde_json::json;

fn read(configuration: &Value, arguments: &str) -> Result<PodRequest, PodRequestError> {
    let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
    PodRequest::read(&configuration, &Arguments::parse(arguments).unwrap())
}

fn mac(last: u8) -> String {
    format!("02:00:00:00:00:{last:02x}")
}

#[test]
fn capabilities_override_args_of_the_configuration_and_those_override_cni_args() {
    let mut configuration = json!({
        "runtimeConfig": {"mac": mac(1), "ips": ["10.0.0.1/24", "fd00::1"]}, "args": {"cni": {"mac": mac(2), "ips": ["10.0.0.2"]}}
    });
    let arguments = format!("MAC={};IP=10.0.0.3,fd00::3/64", mac(3));
    let requested = |configuration: &Value| {
        let PodRequest { mac, ips, .. } = read(configuration, &arguments).unwrap();
        (mac.unwrap().to_string(), ips.join(" "))
    };
    assert_eq!(requested(&configuration), (mac(1), "10.0.0.1/24 fd00::1".to_owned()));
    configuration["runtimeConfig"] = json!({});
    assert_eq!(requested(&configuration), (mac(2), "10.0.0.2".to_owned()));
    configuration["args"] = json!({"cni": {"mac": "", "ips": []}});
    assert_eq!(requested(&configuration), (mac(3), "10.0.0.3 fd00::3/64".to_owned()));
    assert_eq!(read(&json!({}), "").unwrap(), PodRequest::default());
}

#[test]
fn bandwidth_is_in_bits_and_rounded_up_and_zero_is_no_limit() {
    let limit =
        |bandwidth: Value| read(&json!({"runtimeConfig": {"bandwidth": bandwidth}}), "").map(|it| it.rate_limit);
    let rate = |kilobits: i64| Some(KilobitsPerSecond::try_from(kilobits).unwrap());
    let requested = limit(json!({"ingressRate": 2_000_001, "ingressBurst": 1, "egressRate": 0})).unwrap();
    assert_eq!(requested, RateLimit { ingress_kbps: rate(2001), egress_kbps: None });
    assert_eq!(limit(json!({"egressRate": 999})).unwrap().egress_kbps, rate(1));
    assert!(matches!(limit(json!({"egressRate": u64::MAX})), Err(PodRequestError::Rate(_))));
}

#[test]
fn unsupported_settings_are_rejected_by_key_and_value() {
    let rejected = |configuration: Value, arguments: &str| {
        let error = read(&configuration, arguments).unwrap_err();
        error.to_string()
    };
    let mappings = json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}});
    let reported = rejected(mappings, "");
    assert!(reported.contains("runtimeConfig.portMappings") && reported.contains("8080"), "{reported}");
    assert!(read(&json!({"runtimeConfig": {"portMappings": []}}), "").is_ok());
    assert!(rejected(json!({"runtimeConfig": {"mac": "01:00:00:00:00:00"}}), "").contains("runtimeConfig.mac"));
    assert!(rejected(json!({}), "MAC=x").contains("CNI_ARGS"));
    assert!(rejected(json!({}), "IP=10.0.0").contains("\"10.0.0\""));
    assert!(rejected(json!({"args": {"cni": {"ips": ["x/24"]}}}), "").contains("args.cni.ips"));
    assert!(rejected(json!({"runtimeConfig": []}), "").contains("runtimeConfig"));
}
