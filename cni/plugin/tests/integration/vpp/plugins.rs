//! A VPP without one of its plugins: the port type that needs it is rejected with the plugin's
//! name; the other type works.

use crate::support::engine::on_each_vpp;
use crate::support::{NETWORK, TestNode, port_types};
use usnet_crds::Port;

on_each_vpp! {
    without_the_memif_plugin_it_is_named_and_vhost_user_works,
    without_the_vhost_plugin_it_is_named_and_memif_works,
}

fn without(node: &mut TestNode, plugin: &str, needing: [Port; 2], other: &Port) {
    node.replace_vpp_without(plugin);
    let pod = node.pod("p");
    for port in needing {
        node.program_network_with(NETWORK, &port, None);
        let output = node.add(&pod, "net1");
        assert!(output.error().to_string().contains(plugin), "{output:?}");
        output.assert_in_time();
        node.assert_clean();
        node.del(&pod, "net1").assert_done();
    }
    node.program_network_with(NETWORK, other, None);
    node.add(&pod, "net1").result();
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn without_the_memif_plugin_it_is_named_and_vhost_user_works(node: &mut TestNode) {
    let memifs = [port_types::memif_in_volume(), port_types::memif_in_namespace()];
    without(node, "memif_plugin.so", memifs, &port_types::vhost_user_server());
}

fn without_the_vhost_plugin_it_is_named_and_memif_works(node: &mut TestNode) {
    let vhosts = [port_types::vhost_user(), port_types::vhost_user_server()];
    without(node, "vhost_plugin.so", vhosts, &port_types::memif_in_volume());
}
