//! Holds gateways down for some time. An engine has one table of neighbours for all networks. The
//! gateway of a network that uses too much of it is set down, which frees what it used. Pure.

use crate::model::health::NetworkHealth;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use usnet_crds::NetworkName;
use usnet_crds::conditions::message::gateway::gateway_held;
use usnet_crds::conditions::reason::GATEWAY_HELD;
use usnet_dataplane::routing::ObservedRouting;

/// The length of the first hold of a gateway. It doubles with each hold up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(480);
/// How long after its end a hold makes the next one longer.
const MEMORY: Duration = Duration::from_secs(600);

/// The last hold of a gateway.
#[derive(Debug, Clone, Copy)]
struct Hold {
    neighbours: usize,
    length: Duration,
    until: Instant,
}

/// The last holds, by network.
#[derive(Debug, Default)]
pub(super) struct GatewayHolds(BTreeMap<NetworkName, Hold>);

impl GatewayHolds {
    /// Returns the networks whose gateways have to be down, given the observed engine.
    pub(super) fn update(&mut self, observed: &ObservedRouting, now: Instant) -> BTreeSet<NetworkName> {
        self.0.retain(|network, hold| observed.gateways.contains_key(network) && now < hold.until + MEMORY);
        for (network, gateway) in &observed.gateways {
            let Some(neighbours) = gateway.excess else { continue };
            let last = self.0.get(network).copied();
            if last.is_some_and(|hold| now < hold.until) {
                continue;
            }
            let length = last.map_or(FIRST, |hold| (hold.length * 2).min(LONGEST));
            self.0.insert(network.clone(), Hold { neighbours, length, until: now + length });
        }
        self.held(now).map(|(network, _)| network.clone()).collect()
    }

    /// When the next hold ends.
    pub(super) fn next_end(&self, now: Instant) -> Option<Instant> {
        self.held(now).map(|(_, hold)| hold.until).min()
    }

    /// Marks networks with a held gateway as failed. Pods can still attach to them, and reach each
    /// other.
    pub(super) fn apply_to(&self, network_health: &mut BTreeMap<NetworkName, NetworkHealth>, now: Instant) {
        for (network, hold) in self.held(now) {
            let health = network_health.get_mut(network).filter(|health| **health == NetworkHealth::PROGRAMMED);
            if let Some(health) = health {
                let message = gateway_held(hold.neighbours, hold.length.as_secs());
                *health = NetworkHealth { attachable: true, ..NetworkHealth::failed(GATEWAY_HELD, message) };
            }
        }
    }

    fn held(&self, now: Instant) -> impl Iterator<Item = (&NetworkName, &Hold)> {
        self.0.iter().filter(move |(_, hold)| now < hold.until)
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, GatewayHolds, LONGEST, MEMORY};
    use crate::model::health::NetworkHealth;
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::{Duration, Instant};
    use usnet_crds::NetworkName;
    use usnet_dataplane::routing::{ObservedGateway, ObservedRouting};

    fn network(name: &str) -> NetworkName {
        name.parse().unwrap()
    }

    fn routing(excess: &[(&str, Option<usize>)]) -> ObservedRouting {
        let gateway = |excess: Option<usize>| ObservedGateway {
            bridge: None,
            mac: [2; 6],
            mtu: 1500,
            addresses: BTreeSet::new(),
            table: None,
            is_enabled: true,
            is_twice: false,
            limits_neighbours: true,
            excess,
        };
        let gateways = excess.iter().map(|(name, excess)| (network(name), gateway(*excess))).collect();
        ObservedRouting { gateways, ..ObservedRouting::default() }
    }

    #[test]
    fn a_gateway_with_too_many_neighbours_is_held_longer_each_time_and_others_are_not() {
        let mut holds = GatewayHolds::default();
        let mut now = Instant::now();
        let (flooded, quiet) =
            (routing(&[("blue", Some(9000)), ("red", None)]), routing(&[("blue", None), ("red", None)]));
        assert_eq!(holds.update(&quiet, now), BTreeSet::new());
        for seconds in [30, 60, 120, 240, 480, 480] {
            assert_eq!(holds.update(&flooded, now), [network("blue")].into());
            // It lasts also when nothing is left of the neighbours.
            let end = now + Duration::from_secs(seconds);
            assert_eq!(holds.next_end(now), Some(end));
            assert_eq!(holds.update(&quiet, end - Duration::from_millis(1)), [network("blue")].into());
            assert_eq!(holds.update(&quiet, end), BTreeSet::new());
            now = end + Duration::from_secs(2);
        }
        now += LONGEST + MEMORY;
        holds.update(&flooded, now);
        assert_eq!(holds.next_end(now), Some(now + FIRST), "the earlier ones are forgotten");
        assert_eq!(holds.update(&routing(&[("red", None)]), now), BTreeSet::new(), "the network is gone");
    }

    #[test]
    fn pods_attach_to_a_network_whose_gateway_is_held() {
        let mut holds = GatewayHolds::default();
        let now = Instant::now();
        holds.update(&routing(&[("blue", Some(9000))]), now);
        let mut health: BTreeMap<_, _> = ["blue", "red"].map(|name| (network(name), NetworkHealth::PROGRAMMED)).into();
        holds.apply_to(&mut health, now);
        let cause = health[&network("blue")].cause.clone().unwrap();
        assert_eq!(cause.reason, "GatewayHeld");
        assert!(cause.message.contains("9000 neighbours") && cause.message.contains("30 s"), "{}", cause.message);
        assert!(health[&network("blue")].attachable);
        assert_eq!(health[&network("red")], NetworkHealth::PROGRAMMED);
    }
}
