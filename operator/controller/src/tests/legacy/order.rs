//! Properties of every set of NADs.

use super::super::super::cache::Cache;
use super::super::super::cache::nads::NadSet;
use super::super::super::legacy;
use super::*;
use proptest::prelude::*;

fn config() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(open_vswitch("br0").to_string()),
        2 => Just(with_vlan(open_vswitch("br0"), 7)),
        1 => Just(vpp("4").to_string()),
        1 => Just(json!({"type": "userspace", "network": "blue"}).to_string()),
        1 => Just("{".to_owned()),
        1 => Just(open_vswitch("../x").to_string()),
        1 => Just(r#"{"type": "bridge"}"#.to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_in_which_nads_are_seen_does_not_matter(
        configs in prop::collection::vec((config(), any::<bool>()), 1..7),
        order in any::<u64>(),
    ) {
        let mut cluster = Cluster::new();
        cluster.simple_network("blue");
        for (number, (config, is_other)) in configs.iter().enumerate() {
            cluster.nad(if *is_other { "other" } else { "team-a" }, &format!("d{number}"), config);
        }
        // Seen one by one in another order, with passes in between: what stays is the same.
        let mut shuffled: Vec<_> = cluster.nads.clone().into_iter().collect();
        let places = shuffled.len() as u64;
        for place in 0..places {
            shuffled.swap(place as usize, (order.rotate_left(place as u32 * 7) % places) as usize);
        }
        cluster.settle();
        let mut piecemeal = Cluster::new();
        piecemeal.simple_network("blue");
        piecemeal.cache.nads = NadSet::none();
        for (key, nad) in shuffled {
            piecemeal.put_nad(key, nad);
            piecemeal.settle();
        }
        let specs = |cache: &Cache| -> Vec<_> {
            cache.networks.iter().map(|(name, network)| (name.clone(), network.spec.clone())).collect()
        };
        prop_assert_eq!(specs(&cluster.cache), specs(&piecemeal.cache));
        let found = legacy::evaluate(&cluster.cache, &cluster.legacy);
        prop_assert_eq!(&found.records, &legacy::evaluate(&piecemeal.cache, &piecemeal.legacy).records);
        prop_assert_eq!(found.writes, vec![], "nothing is left to do");
    }
}
