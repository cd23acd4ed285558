//! The cases on VPP, with each of its ways to meet a pod, and those that are about it alone.

mod cases;
mod namespace;
mod other_client;
mod recording;
mod switch;

use nix::sched::{CloneFlags, unshare};
use switch::{PortKind, VppSwitch};
use usnet_test_vpp::{Fault, Kind, Vpp};
use usnet_vpp::Api;
use usnet_vpp::messages::PolicerInput;

/// A VPP of this kind, where there is one.
fn start(kind: Kind, port_kind: PortKind) -> Option<VppSwitch> {
    start_with(kind, port_kind, &[])
}

/// One without some of its plugins.
fn start_with(kind: Kind, port_kind: PortKind, missing: &[&str]) -> Option<VppSwitch> {
    let kind = kind.or_skip()?;
    if port_kind == PortKind::Veth {
        // VPP takes devices of the namespace that it is started in.
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace; are you root?");
    }
    let builder = missing.iter().fold(Vpp::builder(kind), |builder, plugin| builder.without_plugin(plugin));
    Some(VppSwitch::new(builder.start().expect("VPP starts"), port_kind))
}

/// One that can limit rates: since 26.06 that is a plugin, which may be missing.
fn start_with_policers(kind: Kind) -> Option<VppSwitch> {
    let switch = start(kind, PortKind::MemifVolume)?;
    if !switch.client(switch::TIMEOUT).supports::<PolicerInput>() {
        Kind::note_missing_plugin("policer_plugin.so");
        return None;
    }
    Some(switch)
}

/// One test for each of these cases.
macro_rules! vpp_cases {
    ($start:expr; $($group:ident::$case:ident),* $(,)?) => {$(
        #[test]
        fn $case() {
            if let Some(mut switch) = $start {
                cases::$group::$case(&mut switch);
            }
        }
    )*};
}

/// Everything about ports.
macro_rules! ports {
    ($($name:ident: $start:expr;)*) => {$(
        mod $name {
            use super::*;
            crate::switch::contract!($start;
                creation::what_is_asked_for_is_made_and_taken_away,
                creation::the_second_time_nothing_changes,
                creation::settings_change_in_place,
                creation::several_attach_at_once,
                foreign::a_foreign_port_survives_in_our_bridge,
                drift::what_others_took_away_comes_back,
                drift::a_port_that_others_moved_is_brought_back,
                refusals::one_socket_serves_one_port,
                outages::a_switch_that_does_not_answer_never_looks_empty,
            );
            vpp_cases!($start;
                concurrent::the_same_ports_are_made_once,
                concurrent::a_port_is_made_while_its_bridge_goes,
                concurrent::a_port_is_made_while_it_goes,
            );
        }
    )*};
}

/// What has nothing to do with the kind of ports, or is about memifs alone.
macro_rules! the_rest {
    ($($name:ident: $kind:expr;)*) => {$(
        mod $name {
            use super::*;
            crate::switch::contract!(start($kind, PortKind::MemifVolume);
                creation::learning_and_age_of_mac_addresses_change_in_place,
                creation::two_hundred_networks_in_one_go,
                foreign::a_foreign_bridge_of_the_same_name_is_left_alone,
                foreign::a_bridge_without_our_mark_is_no_longer_ours,
                adopted::an_adopted_bridge_gets_ports_and_nothing_else,
                adopted::a_bridge_that_is_not_there_is_not_made_to_be_adopted,
                adopted::a_bridge_of_another_network_is_not_adopted,
                refusals::a_failing_operation_does_not_hold_up_the_others,
            );
            vpp_cases!(start($kind, PortKind::MemifVolume);
                incomplete::each_is_finished_by_the_next_add,
                incomplete::each_is_taken_away_by_a_del,
                incomplete::the_agent_takes_away_what_an_ended_attachment_left,
                incomplete::the_agent_finishes_what_is_attached,
                incomplete::a_new_port_inherits_no_vlan,
                incomplete::a_port_that_was_switched_off_is_switched_on,
                incomplete::a_bridge_domain_that_vpp_made_by_itself_becomes_ours,
                incomplete::a_bridge_domain_that_vpp_made_by_itself_goes_with_its_port,
                incomplete::a_bridge_domain_without_a_tag_is_not_adopted,
                tags::our_tag_on_something_that_we_do_not_make_does_not_make_it_ours,
                tags::a_bridge_domain_with_a_tag_that_we_could_not_have_made_is_not_ours,
                tags::the_longest_usual_attachment_and_network_are_found_again,
                tags::what_does_not_fit_into_a_tag_is_refused_and_nothing_is_made,
                outages::a_hanging_vpp_is_an_error_that_says_so_and_gets_everything_once,
                outages::a_vpp_that_dies_while_it_is_filled_is_filled_again,
                sockets::the_longest_paths_are_served_under_their_whole_name,
                sockets::a_volume_that_is_gone_is_an_error_and_leaves_nothing,
                sockets::ids_of_others_are_left_to_them,
                sockets::another_range_of_ids_changes_nothing_that_is_there,
                concurrent::the_same_bridges_are_made_once,
            );
            crate::switch::contract!(start_with_policers($kind);
                settings::limits_are_set_changed_put_back_and_removed,
            );
            vpp_cases!(start_with_policers($kind);
                limits::limits_come_change_and_go_with_their_port,
                limits::limits_of_ports_that_are_gone_are_collected,
                limits::limits_that_others_changed_are_put_right,
            );
            vpp_cases!(start($kind, PortKind::MemifVolume);
                limits::a_vlan_whose_filter_others_took_away_gets_it_back,
            );
            vpp_cases!(start_with($kind, PortKind::MemifVolume, &["policer_plugin.so"]);
                limits::limits_without_policers_are_refused_and_ports_without_limits_work,
            );
            vpp_cases!(start_with($kind, PortKind::MemifVolume, &["memif_plugin.so"]);
                outages::a_missing_plugin_is_named_and_bridges_work_without_it,
            );
        }
    )*};
}

ports! {
    simulated_memif_volume: start(Kind::Simulator, PortKind::MemifVolume);
    simulated_memif_abstract: start(Kind::Simulator, PortKind::MemifAbstract);
    simulated_vhost_user_client: start(Kind::Simulator, PortKind::VhostUserClient);
    simulated_vhost_user_server: start(Kind::Simulator, PortKind::VhostUserServer);
    simulated_veth: start(Kind::Simulator, PortKind::Veth);
    real_memif_volume: start(Kind::Real, PortKind::MemifVolume);
    real_memif_abstract: start(Kind::Real, PortKind::MemifAbstract);
    real_vhost_user_client: start(Kind::Real, PortKind::VhostUserClient);
    real_vhost_user_server: start(Kind::Real, PortKind::VhostUserServer);
    real_veth: start(Kind::Real, PortKind::Veth);
}

the_rest! {
    simulated: Kind::Simulator;
    real: Kind::Real;
}

/// A simulator that does not know some messages.
fn without_messages(names: &[&str]) -> Option<VppSwitch> {
    let missing = |name: &&str| Fault::Missing((*name).to_owned());
    let builder = names.iter().map(missing).fold(Vpp::builder(Kind::Simulator), usnet_test_vpp::Builder::fault);
    Some(VppSwitch::new(builder.start().expect("the simulator starts"), PortKind::MemifVolume))
}

const NEWEST: [&str; 3] = ["memif_create_v2", "memif_socket_filename_add_del_v2", "bridge_domain_add_del_v2"];

mod simulated_faults {
    use super::*;
    vpp_cases!(start(Kind::Simulator, PortKind::MemifVolume);
        faults::whatever_is_refused_leaves_nothing_half_made,
        faults::whenever_it_breaks_the_next_look_puts_it_right,
    );
    vpp_cases!(without_messages(&NEWEST);
        faults::older_messages_do,
    );
    vpp_cases!(without_messages(&["l2_flags_get"]);
        limits::before_26_06_only_what_pods_send_is_limited,
    );
    vpp_cases!(without_messages(&["memif_create_v2", "memif_create"]);
        faults::a_vpp_that_is_too_old_is_told_from_one_without_the_plugin,
    );
}

/// The simulator moves no packets and has no peers.
mod real_peers {
    use super::*;
    vpp_cases!(start(Kind::Real, PortKind::MemifVolume);
        peers::whether_the_pods_program_is_there_is_seen,
        peers::a_program_without_the_secret_is_kept_out,
        traffic::vlans_of_one_bridge_domain_do_not_hear_each_other,
    );
    vpp_cases!(start_with_policers(Kind::Real);
        traffic::limits_drop_what_is_too_much_in_either_direction,
    );
}
