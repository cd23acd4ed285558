//! The queues of programs, and what others change of them.

use super::{Daemons, Kind, OneSwitch, start, vsctl};
use crate::switch::{Switch, contract};
use crate::values::{Values, converge, observe, port_name};
use usnet_crds::{Queues, TransmitRetries};
use usnet_dataplane::port::ObservedQueues;

fn connectable() -> Option<OneSwitch> {
    // Each of two connected ports takes 62 MiB.
    let daemons = Daemons::builder().dpdk(true).dpdk_memory(256).start().expect("Open vSwitch");
    Some(OneSwitch { daemons, kind: Kind::Connectable })
}

contract!(connectable();
    queues::frames_of_many_flows_use_all_queues_in_both_directions,
);

#[test]
fn settings_of_queues_are_changed_and_put_back_in_place_and_other_keys_stay() {
    let switch = start().expect("Open vSwitch");
    let mut engine = switch.engine();
    let (mut blue, port) = (switch.network("blue"), port_name("c1"));
    let retries = |number| TransmitRetries::try_from(number).ok();
    let config = |switch: &OneSwitch| vsctl(switch, &format!("--columns=other_config,options list Interface {port}"));
    (blue.port.queues, blue.port.transmit_retries) = (Queues::try_from(2).expect("a number"), retries(0));
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let identity = switch.port_identity(&port);
    let settings = |engine: &mut _| observe(engine).bridges["br-blue"].ports[&port].settings.queues.clone();
    let (are_spread, transmit_retries) = (Some(true), Some("0".to_owned()));
    assert_eq!(settings(&mut engine), ObservedQueues { are_spread, transmit_retries, ..ObservedQueues::default() });
    vsctl(&switch, &format!("set Interface {port} other_config:pmd-rxq-affinity=0:1"));
    for change in [
        format!("remove Interface {port} other_config tx-steering"),
        format!("set Interface {port} other_config:tx-steering=thread"),
        format!("set Interface {port} options:tx-retries-max=32"),
        format!("remove Interface {port} options tx-retries-max"),
    ] {
        vsctl(&switch, &change);
        let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
        assert_eq!(converge(&mut engine, &desired).len(), 1, "{change}");
        assert_eq!(settings(&mut engine).are_spread, Some(true), "{change}");
    }
    for (queues, number) in [(4, 32), (1, 8), (1, -1)] {
        blue.port.transmit_retries = retries(number);
        blue.port.queues = Queues::try_from(queues).expect("a number");
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
        let found = settings(&mut engine);
        let expected = blue.port.transmit_retries.map(|retries| retries.to_string());
        assert_eq!((found.are_spread, found.transmit_retries), (Some(queues > 1), expected));
        let config = config(&switch);
        assert!(config.contains("pmd-rxq-affinity") && config.contains("vhost-server-path"), "{config}");
        assert_eq!(switch.port_identity(&port), identity, "the port was recreated");
    }
}
