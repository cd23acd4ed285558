use super::*;
use serde_json::json;

fn read(configuration: &Value, arguments: &str) -> Result<Wishes, WishError> {
    let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
    Wishes::read(&configuration, &Arguments::parse(arguments).unwrap())
}

fn mac(last: u8) -> String {
    format!("02:00:00:00:00:{last:02x}")
}

#[test]
fn the_capability_is_heard_before_arguments_of_the_definition_and_those_before_the_older_form() {
    let mut configuration = json!({
        "runtimeConfig": {"mac": mac(1), "ips": ["10.0.0.1/24", "fd00::1"]}, "args": {"cni": {"mac": mac(2), "ips": ["10.0.0.2"]}}
    });
    let arguments = format!("MAC={};IP=10.0.0.3,fd00::3/64", mac(3));
    let asked = |configuration: &Value| {
        let Wishes { mac, ips, .. } = read(configuration, &arguments).unwrap();
        (mac.unwrap().to_string(), ips.join(" "))
    };
    assert_eq!(asked(&configuration), (mac(1), "10.0.0.1/24 fd00::1".to_owned()));
    configuration["runtimeConfig"] = json!({});
    assert_eq!(asked(&configuration), (mac(2), "10.0.0.2".to_owned()));
    configuration["args"] = json!({"cni": {"mac": "", "ips": []}});
    assert_eq!(asked(&configuration), (mac(3), "10.0.0.3 fd00::3/64".to_owned()));
    assert_eq!(read(&json!({}), "").unwrap(), Wishes::default());
}

#[test]
fn bandwidth_is_in_bits_and_rounded_up_and_zero_is_no_limit() {
    let limit =
        |bandwidth: Value| read(&json!({"runtimeConfig": {"bandwidth": bandwidth}}), "").map(|it| it.rate_limit);
    let rate = |kilobits: i64| Some(KilobitsPerSecond::try_from(kilobits).unwrap());
    let asked = limit(json!({"ingressRate": 2_000_001, "ingressBurst": 1, "egressRate": 0})).unwrap();
    assert_eq!(asked, RateLimit { ingress_kbps: rate(2001), egress_kbps: None });
    assert_eq!(limit(json!({"egressRate": 999})).unwrap().egress_kbps, rate(1));
    assert!(matches!(limit(json!({"egressRate": u64::MAX})), Err(WishError::Rate(_))));
}

#[test]
fn what_cannot_be_had_is_refused_by_its_key_and_value() {
    let refused = |configuration: Value, arguments: &str| {
        let error = read(&configuration, arguments).unwrap_err();
        error.to_string()
    };
    let mappings = json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}});
    let said = refused(mappings, "");
    assert!(said.contains("runtimeConfig.portMappings") && said.contains("8080"), "{said}");
    assert!(read(&json!({"runtimeConfig": {"portMappings": []}}), "").is_ok());
    assert!(refused(json!({"runtimeConfig": {"mac": "01:00:00:00:00:00"}}), "").contains("runtimeConfig.mac"));
    assert!(refused(json!({}), "MAC=x").contains("CNI_ARGS"));
    assert!(refused(json!({}), "IP=10.0.0").contains("\"10.0.0\""));
    assert!(refused(json!({"args": {"cni": {"ips": ["x/24"]}}}), "").contains("args.cni.ips"));
    assert!(refused(json!({"runtimeConfig": []}), "").contains("runtimeConfig"));
}
