//! Every combination of engine, interface type, network type, mode and role, with their defaults:
//! it works, or the key is named that is to blame.

use super::*;

/// Each value of a key, and its absence.
fn values(all: &[&str]) -> Vec<Value> {
    [Value::Null].into_iter().chain(all.iter().map(|value| json!(value))).collect()
}

/// The values of one configuration.
#[derive(Debug, Clone)]
struct Combination {
    engine: &'static str,
    iftype: &'static str,
    net_type: Value,
    /// Of the memif or of the vhost-user socket.
    mode: Value,
    role: Value,
}

impl Combination {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for (engine, iftype) in
            [("ovs-dpdk", "vhostuser"), ("ovs-dpdk", "memif"), ("vpp", "vhostuser"), ("vpp", "memif")]
        {
            let is_memif = iftype == "memif";
            let modes: &[&str] = if is_memif { &["ethernet", "ip", "inject-punt"] } else { &["client", "server"] };
            let roles: &[&str] = if is_memif { &["master", "slave"] } else { &[] };
            for net_type in values(&["bridge", "interface", "none"]) {
                for (mode, role) in
                    values(modes).iter().flat_map(|mode| values(roles).into_iter().map(move |role| (mode, role)))
                {
                    all.push(Self { engine, iftype, net_type: net_type.clone(), mode: mode.clone(), role });
                }
            }
        }
        all
    }

    fn read(&self) -> Result<Legacy, InvalidLegacy> {
        let whole = json!({
            "type": "userspace", "name": "n",
            "host": {"engine": self.engine, "iftype": self.iftype, "bridge": {"bridgeName": "4"}},
            "ipam": {"type": "host-local", "subnet": "10.57.1.0/24"},
        });
        let end = if self.iftype == "memif" { "memif" } else { "vhost" };
        let whole = with(whole, "/host/netType", self.net_type.clone());
        let whole = with(whole, &format!("/host/{end}/mode"), self.mode.clone());
        read(&with(whole, &format!("/host/{end}/role"), self.role.clone()))
    }

    /// The keys that are refused, with the reason.
    fn blamed(&self) -> Vec<&'static str> {
        let is_routed = self.net_type == "interface";
        let mut keys = Vec::new();
        // Open vSwitch has neither.
        if self.engine == "ovs-dpdk" && self.iftype == "memif" {
            keys.push("host.iftype");
        }
        // The legacy plugin refused it with both engines; Open vSwitch routes nothing.
        if self.net_type == "none" || (is_routed && self.engine == "ovs-dpdk") {
            keys.push("host.netType");
        }
        // A bridge forwards frames; the legacy plugin had no other bridges.
        if self.mode == "inject-punt" || (self.mode == "ip" && !is_routed) {
            keys.push("host.memif.mode");
        }
        // VPP would wait for the pod.
        if self.role == "slave" {
            keys.push("host.memif.role");
        }
        keys
    }
}

#[test]
fn each_combination_works_or_is_refused_by_the_key_that_is_to_blame() {
    let all = Combination::all();
    let mut works = 0;
    for combination in &all {
        match (combination.read(), combination.blamed().as_slice()) {
            (Ok(legacy), []) => {
                works += 1;
                let settings = &legacy.settings;
                assert_eq!(settings.gateway.is_some(), combination.net_type == "interface", "{combination:?}");
                let is_server = combination.mode.is_null() || combination.mode == "server";
                let is_vhost_user = settings.port_type == PortType::VhostUser;
                assert!(!is_vhost_user || (settings.engine_role == SocketRole::Server) == is_server, "{combination:?}");
            }
            (Err(refused), blamed) => assert!(blamed.contains(&refused.key()), "{combination:?}: {refused}"),
            (Ok(_), blamed) => panic!("{combination:?} should be refused for {blamed:?}"),
        }
    }
    assert_eq!((all.len(), works), (120, 29));
}
