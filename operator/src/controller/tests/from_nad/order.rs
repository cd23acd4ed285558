//! What holds for every set of definitions.

use super::super::super::inputs::Inputs;
use super::super::super::ledger::Ledger;
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
    fn the_order_in_which_definitions_are_seen_does_not_matter(
        configs in prop::collection::vec((config(), any::<bool>()), 1..7),
        order in any::<u64>(),
    ) {
        let mut cluster = Cluster::new();
        cluster.simple_network("blue");
        for (number, (config, is_other)) in configs.iter().enumerate() {
            cluster.definition(if *is_other { "other" } else { "team-a" }, &format!("d{number}"), config);
        }
        // Seen one by one in another order, with passes in between: what stays is the same.
        let all: Vec<_> = cluster.inputs.definitions.take().unwrap().into_iter().collect();
        let mut shuffled = all.clone();
        let places = shuffled.len() as u64;
        for place in 0..places {
            shuffled.swap(place as usize, (order.rotate_left(place as u32 * 7) % places) as usize);
        }
        let mut piecemeal = cluster.clone();
        cluster.inputs.definitions = Some(all.into_iter().collect());
        cluster.settle();
        piecemeal.inputs.definitions = Some(Default::default());
        for (key, definition) in shuffled {
            piecemeal.inputs.definitions.as_mut().unwrap().insert(key, definition);
            piecemeal.settle();
        }
        let specs = |inputs: &Inputs| -> Vec<_> {
            inputs.networks.iter().map(|(name, network)| (name.clone(), network.spec.clone())).collect()
        };
        prop_assert_eq!(specs(&cluster.inputs), specs(&piecemeal.inputs));
        let (one, other) = (Ledger::from_scratch(&cluster.inputs), Ledger::from_scratch(&piecemeal.inputs));
        prop_assert_eq!(one.definitions_ask_for(), other.definitions_ask_for());
        prop_assert_eq!(&one.definitions_ask_for().writes, &vec![], "nothing is left to do");
    }
}
