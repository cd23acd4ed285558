//! The networks of the API server and those of the node's files, together. Pure.

use crate::model::file_networks::{self, FileNetworks};
use crate::model::input::{Compiled, Input};
use crate::model::spec::NodeSpec;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::NetworkName;

/// Adds the networks of files to the input. Configurations join a network of the API server that
/// has their bridge on this node, if their settings match. One that comes later waits, as with the
/// networks of NetworkAttachmentDefinitions.
pub(crate) fn with_file_networks<'a>(input: &'a Input, files: &FileNetworks, previous: &NodeSpec) -> Cow<'a, Input> {
    let mut own = if files.is_unread { of_spec(previous) } else { files.networks.clone() };
    let is_here = |compiled: &&Arc<Compiled>| input.selects(compiled, &BTreeSet::new());
    let has_bridge = |one: &Compiled, other: &Compiled| {
        one.network.engine == other.network.engine && one.network.bridge.name == other.network.bridge.name
    };
    own.retain(|name, own| {
        let is_named = input.networks.contains_key(name) || input.unreadable.contains_key(name);
        let joins = || input.networks.values().filter(is_here).any(|other| has_bridge(own, other));
        !is_named && (previous.is_from_file(name) || !joins())
    });
    if own.is_empty() {
        return Cow::Borrowed(input);
    }
    let mut whole = input.clone();
    whole.networks.extend(own);
    Cow::Owned(whole)
}

/// The networks that files defined before.
fn of_spec(spec: &NodeSpec) -> BTreeMap<NetworkName, Arc<Compiled>> {
    let networks = spec.networks.iter().filter(|network| spec.is_from_file(&network.name));
    networks.map(|network| (network.name.clone(), file_networks::compiled(Arc::clone(network)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::testing::{compiled, input_of};
    use usnet_crds::NodeNetwork;

    fn with_bridge(name: &str, bridge: &str) -> Compiled {
        let mut compiled = compiled(0, name);
        let mut network = NodeNetwork::clone(&compiled.network);
        network.bridge.name = bridge.parse().unwrap();
        compiled.network = Arc::new(network);
        compiled
    }

    fn names(api: &[Compiled], files: &FileNetworks, previous: &NodeSpec) -> Vec<String> {
        let input = input_of(api);
        with_file_networks(&input, files, previous).networks.keys().map(ToString::to_string).collect()
    }

    fn file_networks(own: &Compiled) -> FileNetworks {
        let networks = [(own.network.name.clone(), Arc::new(own.clone()))].into();
        FileNetworks { networks, is_unread: false }
    }

    fn spec(own: &Compiled) -> NodeSpec {
        let versions = [(own.network.name.clone(), file_networks::VERSION)].into();
        NodeSpec { networks: vec![Arc::clone(&own.network)], versions, ..NodeSpec::default() }
    }

    #[test]
    fn a_network_of_the_api_server_that_has_the_bridge_is_joined_and_a_later_one_waits() {
        let own = with_bridge("ovs-br0", "br0");
        let (new, none) = (file_networks(&own), NodeSpec::default());
        assert_eq!(names(&[], &new, &none), ["ovs-br0"]);
        assert_eq!(names(&[with_bridge("blue", "br1")], &new, &none), ["blue", "ovs-br0"]);
        let blue = with_bridge("blue", "br0");
        assert_eq!(names(std::slice::from_ref(&blue), &new, &none), ["blue"]);
        assert_eq!(names(std::slice::from_ref(&blue), &new, &spec(&own)), ["blue", "ovs-br0"], "it has the bridge");
        let rack = kube::core::Expression::Equal("rack".into(), "b".into());
        let elsewhere = Compiled { selector: Some(kube::core::Selector::from_iter([rack])), ..blue };
        assert_eq!(names(&[elsewhere], &new, &none), ["blue", "ovs-br0"], "it is on other nodes");
        let input = input_of(&[with_bridge("ovs-br0", "br7")]);
        assert!(matches!(with_file_networks(&input, &new, &spec(&own)), Cow::Borrowed(_)), "the name is taken");
    }

    #[test]
    fn while_the_folder_was_never_read_its_networks_stay() {
        let (own, other) = (with_bridge("ovs-br0", "br0"), FileNetworks::default());
        let unread = FileNetworks { is_unread: true, ..other.clone() };
        assert_eq!(names(&[], &unread, &spec(&own)), ["ovs-br0"]);
        assert_eq!(names(&[], &other, &spec(&own)), [""; 0]);
    }
}
