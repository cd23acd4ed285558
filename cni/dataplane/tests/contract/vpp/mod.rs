//! The cases on VPP, with each kind of port, and those that are specific to it.

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

/// What VPP opens for each tap.
const VHOST_NET: &str = "/dev/vhost-net";

/// A VPP of this kind, where there is one.
fn start(kind: Kind, port_kind: PortKind) -> Option<VppSwitch> {
    start_with(kind, port_kind, &[])
}

/// One without some of its plugins.
fn start_with(kind: Kind, port_kind: PortKind, missing: &[&str]) -> Option<VppSwitch> {
    let kind = kind.or_skip()?;
    if (kind, port_kind) == (Kind::Real, PortKind::Tap) && !std::path::Path::new(VHOST_NET).exists() {
        Kind::note_missing_plugin(VHOST_NET);
        return None;
    }
    if port_kind == PortKind::Veth {
        // VPP uses devices of the namespace that it is started in.
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

/// All cases about ports.
macro_rules! ports {
    ($($name:ident: $start:expr;)*) => {$(
        mod $name {
            use super::*;
            crate::switch::contract!($start;
                counters::a_port_without_a_program_is_not_connected_and_received_nothing,
                creation::desired_objects_are_created_and_deleted,
                creation::a_second_apply_changes_nothing,
                creation::settings_change_in_place,
                creation::several_attach_at_once,
                foreign::a_foreign_port_survives_in_an_owned_bridge,
                drift::objects_deleted_by_others_are_recreated,
                drift::a_port_moved_by_others_is_moved_back,
                refusals::one_socket_serves_one_port,
                outages::a_switch_that_does_not_answer_never_looks_empty,
            );
            vpp_cases!($start;
                concurrent::the_same_ports_are_created_once,
                concurrent::a_port_is_created_while_its_bridge_is_deleted,
                concurrent::a_port_is_created_while_it_is_deleted,
                single_port::it_reads_one_interface_whatever_their_number,
                single_port::an_index_of_another_port_removes_the_right_one,
            );
        }
    )*};
}

/// The cases that do not depend on the kind of port, or are about memifs only.
macro_rules! the_rest {
    ($($name:ident: $kind:expr;)*) => {$(
        mod $name {
            use super::*;
            crate::switch::contract!(start($kind, PortKind::MemifVolume);
                captures::a_capture_is_no_port_and_is_removed_by_its_mark,
                captures::a_captured_port_and_its_network_are_removed,
                captures::only_a_port_of_the_attachment_is_captured,
                counters::an_engine_that_does_not_answer_has_no_counters,
                creation::learning_and_age_of_mac_addresses_change_in_place,
                creation::the_size_of_the_mac_table_is_set_and_kept,
                creation::two_hundred_networks_in_one_go,
                foreign::a_foreign_bridge_of_the_same_name_is_not_changed,
                foreign::a_bridge_without_a_tag_is_no_longer_owned,
                adopted::an_adopted_bridge_gets_ports_and_nothing_else,
                adopted::a_missing_bridge_is_not_created_to_be_adopted,
                adopted::a_bridge_of_another_network_is_not_adopted,
                refusals::a_failing_operation_does_not_block_the_others,
            );
            vpp_cases!(start($kind, PortKind::MemifVolume);
                captures::no_copies_go_on_after_a_port_was_removed,
                captures::a_detach_ends_copies_as_well,
                incomplete::each_is_completed_by_the_next_add,
                incomplete::each_is_deleted_by_a_del,
                incomplete::the_agent_deletes_the_port_of_a_detached_attachment,
                incomplete::the_agent_completes_an_attached_port,
                incomplete::a_new_port_inherits_no_vlan,
                incomplete::a_port_set_down_is_set_up,
                incomplete::an_implicit_bridge_domain_is_recreated_with_an_owner,
                incomplete::an_implicit_bridge_domain_is_deleted_with_its_port,
                incomplete::a_bridge_domain_without_a_tag_is_not_adopted,
                single_port::an_index_from_before_a_restart_removes_the_right_port,
                single_port::what_is_not_as_it_was_created_is_removed_completely,
                single_port::a_new_memif_reads_no_others,
                single_port::a_socket_that_another_id_has_serves_its_port,
                single_port::a_second_interface_is_left_to_the_agent,
                tags::a_tag_on_an_unsupported_object_does_not_imply_ownership,
                tags::a_bridge_domain_with_an_invalid_tag_is_not_owned,
                tags::the_longest_usual_attachment_and_network_are_found_again,
                tags::names_too_long_for_a_tag_are_rejected_and_nothing_is_created,
                outages::a_hanging_vpp_is_reported_and_nothing_is_created_twice,
                outages::a_vpp_that_crashes_during_a_replay_is_replayed_again,
                sockets::the_longest_paths_are_served_under_their_whole_name,
                sockets::a_missing_volume_is_an_error_and_leaves_nothing,
                sockets::foreign_ids_are_not_used,
                sockets::another_range_of_ids_changes_nothing_that_is_there,
                concurrent::the_same_bridges_are_created_once,
                new_bridges::only_bridge_domains_are_read_before_and_after,
                new_bridges::what_is_there_already_is_left_or_configured,
                gateways::a_gateway_is_created_changed_in_place_and_removed,
                gateways::networks_of_one_domain_share_a_table,
                gateways::what_others_change_of_a_gateway_is_repaired,
                gateways::gateways_tables_and_addresses_of_others_are_not_changed,
                gateways::an_interrupted_creation_is_completed,
                gateways::overlapping_subnets_of_one_domain_are_refused_with_the_reason,
                gateways::a_table_that_others_use_is_reported,
                gateways::gateways_return_after_a_restart,
                adopted_guards::ports_of_an_adopted_bridge_domain_are_guarded_and_nothing_else_changes,
                guards::a_guard_is_set_changed_in_place_and_removed,
                guards::what_others_change_of_a_guard_is_repaired,
                guards::a_filter_of_another_client_stays_on_a_port_without_a_guard,
                guards::a_port_with_the_index_of_a_deleted_one_is_not_open,
                guards::a_guarded_port_that_was_taken_out_is_down_until_it_is_guarded_again,
                guards::a_removed_port_leaves_no_table,
                guards::guards_return_after_a_restart,
                guards::a_port_with_many_addresses_fits_its_tables,
                guards::an_index_whose_table_was_deleted_is_guarded,
                policies::a_new_port_is_closed_before_it_is_up_and_opened_afterwards,
                policies::what_others_change_of_access_lists_is_repaired,
                policies::access_lists_of_others_are_not_changed,
                policies::a_removed_port_leaves_no_access_list,
                policies::an_access_list_that_nothing_uses_is_deleted,
                policies::ports_with_policies_are_closed_after_a_restart,
                policies::ports_with_too_many_rules_are_closed,
                policies::without_packets_there_are_no_sessions,
                neighbours::the_limit_of_neighbours_is_set_with_a_gateway_and_kept,
                neighbours::a_gateway_with_too_many_neighbours_is_set_down_and_up_again,
                neighbours::of_a_table_that_is_nearly_full_the_largest_part_is_too_much,
                routed_ports::a_routed_port_has_the_gateways_address_and_its_own_routes,
                routed_ports::what_others_change_of_a_routed_port_is_repaired,
                routed_ports::a_routed_port_stays_while_its_gateway_changes,
                routed_ports::a_routed_port_without_a_gateway_is_refused,
                routed_ports::routed_ports_return_after_a_restart,
            );
            crate::switch::contract!(start_with_policers($kind);
                settings::limits_are_set_changed_put_back_and_removed,
            );
            vpp_cases!(start_with_policers($kind);
                limits::limits_are_created_changed_and_deleted_with_their_port,
                limits::limits_of_deleted_ports_are_collected,
                limits::limits_changed_by_others_are_repaired,
                single_port::limits_are_deleted_with_their_port,
            );
            vpp_cases!(start($kind, PortKind::MemifVolume);
                limits::a_vlan_filter_removed_by_others_is_restored,
            );
            vpp_cases!(start_with($kind, PortKind::MemifVolume, &["policer_plugin.so"]);
                limits::limits_without_policers_are_refused_and_ports_without_limits_work,
            );
            vpp_cases!(start_with($kind, PortKind::MemifVolume, &["acl_plugin.so"]);
                policies::without_the_plugin_a_port_with_policies_is_refused,
                policies::a_vpp_that_does_not_tell_its_sessions_has_none,
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
    simulated_tap: start(Kind::Simulator, PortKind::Tap);
    real_tap: start(Kind::Real, PortKind::Tap);
    real_memif_volume: start(Kind::Real, PortKind::MemifVolume);
    real_memif_abstract: start(Kind::Real, PortKind::MemifAbstract);
    real_vhost_user_client: start(Kind::Real, PortKind::VhostUserClient);
    real_vhost_user_server: start(Kind::Real, PortKind::VhostUserServer);
    real_veth: start(Kind::Real, PortKind::Veth);
}

/// Programs with several queues.
macro_rules! queues {
    ($($name:ident: $port_kind:expr;)*) => {$(
        mod $name {
            use super::*;
            crate::switch::contract!(start(Kind::Real, $port_kind);
                queues::frames_of_many_flows_use_all_queues_in_both_directions,
            );
        }
    )*};
}

queues! {
    queues_of_memifs: PortKind::MemifVolume;
    queues_where_vpp_connects: PortKind::VhostUserClient;
    queues_where_vpp_listens: PortKind::VhostUserServer;
}

/// A network's own device is one of the kernel, as the engine's end of a veth pair is.
macro_rules! devices {
    ($($name:ident: $kind:expr;)*) => {$(
        mod $name {
            use super::*;
            crate::switch::contract!(start($kind, PortKind::Veth);
                captured_frames::every_frame_of_both_directions_is_copied_in_order,
                captured_frames::only_frames_of_the_direction_are_copied,
                counters::counters_follow_frames,
                devices::a_network_is_joined_by_its_device_and_left,
                devices::a_device_that_was_created_again_is_joined_again,
                devices::a_port_of_its_name_that_others_created_is_not_changed,
                devices::a_node_is_in_a_network_beside_other_nodes,
            );
        }
    )*};
}

/// What pods have of taps.
macro_rules! taps {
    ($($name:ident: $kind:expr;)*) => {$(
        mod $name {
            use super::*;
            vpp_cases!(start($kind, PortKind::Tap);
                taps::the_interface_of_a_pod_stays_while_vpp_is_gone_and_goes_with_its_port,
            );
        }
    )*};
}

taps! {
    simulated_taps: Kind::Simulator;
    real_taps: Kind::Real;
}

/// Networks of VPP on a NIC.
macro_rules! uplinks {
    ($($name:ident: $kind:expr;)*) => {$(
        mod $name {
            use super::*;
            vpp_cases!(start($kind, PortKind::Veth);
                uplinks::networks_share_a_nic_by_vlans_and_leave_nothing,
                uplinks::a_nic_that_was_created_again_is_joined_again,
                uplinks::what_others_change_is_repaired,
                uplinks::an_interrupted_creation_of_an_uplink_is_completed,
                uplinks::interfaces_of_others_on_nics_are_not_changed,
                uplinks::uplinks_return_after_a_restart,
            );
            vpp_cases!(start_with($kind, PortKind::MemifVolume, &["af_packet_plugin.so"]);
                uplinks::a_missing_plugin_of_uplinks_is_named,
            );
            vpp_cases!(start($kind, PortKind::Veth);
                tunnels::networks_reach_their_peers_by_tunnels_and_leave_nothing,
                tunnels::the_vlan_and_the_address_of_an_underlay_change,
                tunnels::tunnels_of_ipv6_are_as_those_of_ipv4,
                tunnels::what_others_change_of_tunnels_is_repaired,
                tunnels::an_interrupted_creation_of_a_tunnel_is_completed,
                tunnels::tunnels_of_others_are_not_changed,
                tunnels::tunnels_return_after_a_restart,
                tunnels::an_address_follows_to_another_nic,
            );
            vpp_cases!(start_with($kind, PortKind::Veth, &["vxlan_plugin.so"]);
                tunnels::a_missing_plugin_of_tunnels_is_named,
            );
        }
    )*};
}

uplinks! {
    simulated_uplinks: Kind::Simulator;
    real_uplinks: Kind::Real;
}

devices! {
    simulated_devices: Kind::Simulator;
    real_devices: Kind::Real;
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
        counters::interfaces_that_come_and_go_do_not_mix_their_counters,
        faults::a_rejected_message_leaves_nothing_behind,
        faults::after_any_failure_the_next_plan_repairs_it,
        guards::a_rejected_message_leaves_no_open_port_and_no_table,
        guards::after_any_failure_a_guarded_port_is_closed_or_guarded,
        policies::a_rejected_message_leaves_no_open_port_and_no_access_list,
    );
    vpp_cases!(start(Kind::Simulator, PortKind::Veth);
        tunnels::after_any_failure_the_next_plan_repairs_tunnels,
    );
    vpp_cases!(without_messages(&NEWEST);
        faults::older_messages_are_used,
    );
    vpp_cases!(without_messages(&["l2_flags_get"]);
        limits::before_26_06_only_what_pods_send_is_limited,
        single_port::before_26_06_policers_are_read,
        guards::before_26_06_a_port_with_a_guard_is_refused,
    );

    vpp_cases!(without_messages(&["acl_plugin_get_conn_table_max_entries"]);
        policies::a_vpp_that_does_not_tell_its_sessions_has_none,
    );
    vpp_cases!(without_messages(&["memif_create_v2", "memif_create"]);
        faults::a_vpp_that_is_too_old_is_distinguished_from_one_without_the_plugin,
    );
}

/// The simulator moves no packets and has no peers.
mod real_peers {
    use super::*;
    vpp_cases!(start(Kind::Real, PortKind::MemifVolume);
        peers::the_presence_of_the_peer_is_observed,
        peers::a_peer_without_the_secret_is_rejected,
        queues::queues_are_set_when_a_program_connects_and_put_back,
        counters::a_pod_with_a_full_ring_received_what_its_program_saw,
        traffic::vlans_of_one_bridge_domain_are_isolated,
        routed_packets::a_routed_pod_reaches_its_gateway_and_its_domain_and_nothing_else,
    );
    vpp_cases!(start(Kind::Real, PortKind::Veth);
        guarded_frames::own_frames_arrive_and_of_the_forged_ones_three,
        guarded_frames::by_memif_own_frames_arrive_and_of_the_forged_ones_three,
        guarded_frames::by_vhost_user_own_frames_arrive_and_of_the_forged_ones_three,
        guarded_frames::where_vpp_listens_own_frames_arrive_and_of_the_forged_ones_three,
        guarded_frames::fragments_hide_nothing,
        guarded_frames::without_a_guard_another_pod_can_be_claimed,
        guarded_frames::no_forged_frame_arrives_while_vpp_is_restarted,
        guarded_frames::no_forged_frame_arrives_while_a_guard_is_replaced,
        guarded_frames::no_forged_frame_arrives_while_its_port_is_recreated,
        policy_packets::what_policies_allow_arrives_and_ends_with_them,
        policy_packets::by_memif_what_policies_allow_arrives_and_ends_with_them,
        policy_packets::by_vhost_user_what_policies_allow_arrives_and_ends_with_them,
        policy_packets::what_policies_allow_of_ipv6_arrives_and_ends_with_them,
        policy_packets::datagrams_end_with_their_rule_where_both_directions_are_restricted,
        policy_packets::when_the_sessions_are_used_up_what_needs_none_passes,
        policy_packets::a_closed_port_gets_and_sends_nothing_but_arp,
        packets::a_pod_reaches_its_gateway_and_its_domain_and_nothing_else,
        floods::a_flood_of_mac_addresses_fills_the_table_of_its_network_only,
        floods::a_flood_of_arp_requests_costs_its_own_gateway_only,
        floods::a_flood_of_neighbour_solicitations_costs_its_own_gateway_only,
        uplink_traffic::frames_reach_their_network_and_no_other,
        tunnel_traffic::frames_reach_all_nodes_of_their_network_once,
    );
    vpp_cases!(start_with_policers(Kind::Real);
        traffic::limits_drop_excess_frames_in_both_directions,
    );
}
