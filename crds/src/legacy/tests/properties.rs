//! Properties of every text that a user may write.

use super::*;
use proptest::prelude::*;

/// Texts that have broken others: paths, options, sockets, control characters, long ones.
fn nasty() -> impl Strategy<Value = Value> {
    let texts =
        ["../x", "/etc/shadow", "@abstract", "-x", "--", "a\0b", "a\nb", "..", "", "br0", "4", "0", "client", "master"];
    prop_oneof![
        4 => prop::sample::select(texts.to_vec()).prop_map(|text| json!(text)),
        2 => ".{0,40}".prop_map(|text| json!(text)),
        1 => any::<i64>().prop_map(|number| json!(number)),
        1 => (1..4095i64).prop_map(|number| json!(number)),
        1 => prop_oneof![Just(json!(null)), Just(json!([])), Just(json!({})), Just(json!(1.5)), Just(json!([7, "x"]))],
        1 => Just(json!("x".repeat(300))),
    ]
}

const POINTERS: [&str; 34] = [
    "/kubeconfig",
    "/sharedDir",
    "/logFile",
    "/name",
    "/host/engine",
    "/host/iftype",
    "/host/netType",
    "/host/mtu",
    "/host/mac",
    "/host/memif/role",
    "/host/memif/mode",
    "/host/memif/socketfile",
    "/host/memif/rxQueues",
    "/host/memif/txQueues",
    "/host/memif/ringSize",
    "/host/memif/secret",
    "/host/vhost/mode",
    "/host/vhost/group",
    "/host/vhost/socketfile",
    "/host/vhost/ingressPolicingRate",
    "/host/bridge/bridgeName",
    "/host/bridge/bridgeId",
    "/host/bridge/vlanId",
    "/host/bridge/trunks",
    "/host/bridge/vlanMode",
    "/container/mac",
    "/container/memif/role",
    "/container/vhost/mode",
    "/container/vhost/socketfile",
    "/host/BRIDGE",
    "/host/Vhost",
    "/args/cni/OvnPort",
    "/HOST",
    "/container",
];

fn configuration() -> impl Strategy<Value = Value> {
    let base = prop_oneof![Just(open_vswitch()), Just(vpp()), Just(vpp_vhost_user())];
    (base, prop::collection::vec((prop::sample::select(POINTERS.to_vec()), nasty()), 0..6)).prop_map(
        |(base, changes)| {
            changes.into_iter().fold(base, |whole, (pointer, value)| {
                // A parent may have been replaced by a value that is not an object.
                let (above, _) = pointer.rsplit_once('/').unwrap();
                let fits = above.is_empty() || whole.pointer(above).is_none_or(Value::is_object);
                if fits { with(whole, pointer, value) } else { whole }
            })
        },
    )
}

proptest! {
    #[test]
    fn no_text_yields_a_path(whole in configuration()) {
        if let Ok(read) = read(&whole) {
            // All texts but `ipam`, which is passed on to another plugin unchanged.
            let mut observed = format!("{:?}", Legacy { ipam: None, ..read.clone() });
            observed.push_str(read.network_name().as_str());
            prop_assert!(!observed.contains(['/', '@', '\\']) && !observed.contains(".."), "{observed}");
            prop_assert!(read.bridge.as_str().len() <= 15);
        }
    }

    #[test]
    fn any_text_is_parsed_without_a_panic_and_errors_name_their_key(text in "\\PC{0,200}", whole in configuration()) {
        let _read = parse_nad_config(&text);
        if let Err(InvalidNadConfig::Legacy(refused)) = parse_nad_config(&whole.to_string()) {
            prop_assert!(refused.to_string().contains(refused.key()));
        }
    }

    #[test]
    fn a_generated_network_matches_its_configuration(whole in configuration()) {
        if let Ok(read) = read(&whole) {
            let usual = Bridge::named(read.bridge.clone());
            let bridge = Bridge { mtu: read.settings.mtu.unwrap_or(usual.mtu), ..usual };
            prop_assert_eq!(read.settings.mismatches(read.engine, &bridge, &read.settings.port(), read.settings.gateway.as_ref()), vec![]);
        }
    }
}
