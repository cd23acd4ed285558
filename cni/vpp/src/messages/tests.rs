use super::*;
use crate::wire::{FixedText, Header, Reader, Secret, Writer};
use std::collections::BTreeMap;

/// The minimum size of each message in bytes, including id and envelope, with the name and CRC of
/// VPP 26.06.
const SIZES: &[(&str, usize)] = &[
    ("sockclnt_create_455fb9c4", 70),
    ("sockclnt_create_reply_35166268", 20),
    ("sockclnt_delete_8ac76db6", 14),
    ("sockclnt_delete_reply_8f38b1ee", 10),
    ("control_ping_51077d14", 10),
    ("control_ping_reply_f6b0b8ca", 18),
    ("show_version_51077d14", 10),
    ("show_version_reply_c919bde1", 362),
    ("cli_inband_f8377302", 14),
    ("cli_inband_reply_05879051", 14),
    ("sw_interface_event_2d3d95a7", 19),
    ("want_interface_events_476f5a08", 18),
    ("want_interface_events_reply_e8d4e804", 10),
    ("sw_interface_set_flags_f5aec1b8", 18),
    ("sw_interface_set_flags_reply_e8d4e804", 10),
    ("hw_interface_set_mtu_e6746899", 16),
    ("hw_interface_set_mtu_reply_e8d4e804", 10),
    ("sw_interface_set_mtu_5cbe85e5", 30),
    ("sw_interface_set_mtu_reply_e8d4e804", 10),
    ("sw_interface_tag_add_del_426f8bc1", 79),
    ("sw_interface_tag_add_del_reply_e8d4e804", 10),
    ("l2_interface_vlan_tag_rewrite_62cc0bbc", 30),
    ("l2_interface_vlan_tag_rewrite_reply_e8d4e804", 10),
    ("l2_interface_efp_filter_5501adee", 15),
    ("l2_interface_efp_filter_reply_e8d4e804", 10),
    ("l2_flags_get_f9e6675e", 14),
    ("l2_flags_get_reply_35cb810f", 18),
    ("create_loopback_instance_d36a3ee2", 21),
    ("create_loopback_instance_reply_5383d31f", 14),
    ("delete_loopback_f9e6675e", 14),
    ("delete_loopback_reply_e8d4e804", 10),
    ("create_subif_790ca755", 26),
    ("create_subif_reply_5383d31f", 14),
    ("delete_subif_f9e6675e", 14),
    ("delete_subif_reply_e8d4e804", 10),
    ("sw_interface_dump_aa610c27", 19),
    ("sw_interface_details_6c221fc7", 295),
    ("sw_interface_add_del_address_5463d73b", 34),
    ("sw_interface_add_del_address_reply_e8d4e804", 10),
    ("sw_interface_set_table_df42a577", 19),
    ("sw_interface_set_table_reply_e8d4e804", 10),
    ("sw_interface_get_table_2d033de4", 15),
    ("sw_interface_get_table_reply_a6eb0109", 14),
    ("sw_interface_set_mac_address_c536e7eb", 20),
    ("sw_interface_set_mac_address_reply_e8d4e804", 10),
    ("ip_table_add_del_0ffdaec0", 80),
    ("ip_table_add_del_reply_e8d4e804", 10),
    ("ip_table_dump_51077d14", 10),
    ("ip_table_details_c79fca0f", 75),
    ("ip_address_dump_2d033de4", 15),
    ("ip_address_details_ee29b797", 28),
    ("ip_neighbor_add_del_0607c257", 39),
    ("ip_neighbor_add_del_reply_1992deab", 14),
    ("ip_neighbor_config_f4a5cf44", 20),
    ("ip_neighbor_config_reply_e8d4e804", 10),
    ("ip_neighbor_config_get_a5db7bf7", 11),
    ("ip_neighbor_config_get_reply_798e6fdd", 20),
    ("ip_neighbor_dump_d817a484", 15),
    ("ip_neighbor_details_e29d79f0", 42),
    ("ip_route_add_del_b8ecfe0d", 39),
    ("ip_route_add_del_reply_1992deab", 14),
    ("ip_route_dump_b9d2e09e", 79),
    ("ip_route_details_bda8f315", 33),
    ("sw_interface_set_unnumbered_154a6439", 19),
    ("sw_interface_set_unnumbered_reply_e8d4e804", 10),
    ("ip_unnumbered_dump_f9e6675e", 14),
    ("ip_unnumbered_details_cc59bd42", 14),
    ("bridge_domain_add_del_600b7170", 86),
    ("bridge_domain_add_del_reply_e8d4e804", 10),
    ("bridge_domain_add_del_v2_600b7170", 86),
    ("bridge_domain_add_del_v2_reply_fcb1e980", 14),
    ("bridge_flags_1b0c5fbd", 19),
    ("bridge_flags_reply_29b2a2b3", 14),
    ("bridge_domain_set_mac_age_b537ad7b", 15),
    ("bridge_domain_set_mac_age_reply_e8d4e804", 10),
    ("bridge_domain_set_learn_limit_89c52b5f", 18),
    ("bridge_domain_set_learn_limit_reply_e8d4e804", 10),
    ("sw_interface_set_l2_bridge_d0678b13", 24),
    ("sw_interface_set_l2_bridge_reply_e8d4e804", 10),
    ("bridge_domain_dump_74396a43", 18),
    ("bridge_domain_details_0fa506fd", 93),
    ("l2_fib_table_dump_c25fdce6", 14),
    ("l2_fib_table_details_a44ef6b8", 23),
    ("acl_add_replace_ee5c2f18", 82),
    ("acl_add_replace_reply_ac407b0c", 14),
    ("acl_plugin_get_conn_table_max_entries_51077d14", 10),
    ("acl_plugin_get_conn_table_max_entries_reply_7a096d3d", 14),
    ("acl_del_ef34fea4", 14),
    ("acl_del_reply_e8d4e804", 10),
    ("acl_interface_set_acl_list_473982bd", 16),
    ("acl_interface_set_acl_list_reply_e8d4e804", 10),
    ("acl_interface_set_etype_whitelist_3f5c2d2d", 16),
    ("acl_interface_set_etype_whitelist_reply_e8d4e804", 10),
    ("acl_dump_ef34fea4", 14),
    ("acl_details_95babae0", 78),
    ("acl_interface_list_dump_f9e6675e", 14),
    ("acl_interface_list_details_e695d256", 12),
    ("acl_interface_etype_whitelist_dump_f9e6675e", 14),
    ("acl_interface_etype_whitelist_details_cc2bfded", 12),
    ("classify_add_del_table_6849e39e", 47),
    ("classify_add_del_table_reply_05486349", 22),
    ("classify_add_del_session_f20879f0", 36),
    ("classify_add_del_session_reply_e8d4e804", 10),
    ("input_acl_set_interface_de7ad708", 27),
    ("input_acl_set_interface_reply_e8d4e804", 10),
    ("classify_table_by_interface_f9e6675e", 14),
    ("classify_table_by_interface_reply_ed4197db", 26),
    ("classify_table_ids_51077d14", 10),
    ("classify_table_ids_reply_d1d20e1d", 14),
    ("classify_table_info_0cca2cd9", 14),
    ("classify_table_info_reply_4a573c0e", 42),
    ("l2_flags_fc41cfe8", 19),
    ("l2_flags_reply_29b2a2b3", 14),
    ("classify_session_dump_0cca2cd9", 14),
    ("classify_session_details_60e3ef94", 30),
    ("memif_socket_filename_add_del_a2ce1a10", 123),
    ("memif_socket_filename_add_del_reply_e8d4e804", 10),
    ("memif_socket_filename_add_del_v2_34223bdf", 19),
    ("memif_socket_filename_add_del_v2_reply_9f29bdb9", 14),
    ("memif_create_b1b25061", 65),
    ("memif_create_reply_5383d31f", 14),
    ("memif_create_v2_8c7de5f7", 66),
    ("memif_create_v2_reply_5383d31f", 14),
    ("memif_delete_f9e6675e", 14),
    ("memif_delete_reply_e8d4e804", 10),
    ("memif_dump_51077d14", 10),
    ("memif_details_da34feb9", 107),
    ("memif_socket_filename_dump_51077d14", 10),
    ("memif_socket_filename_details_7ff326f7", 118),
    ("policer_add_del_2b31dd38", 109),
    ("policer_add_del_reply_a177cef2", 14),
    ("policer_input_233f0ef5", 79),
    ("policer_input_reply_e8d4e804", 10),
    ("policer_output_233f0ef5", 79),
    ("policer_output_reply_e8d4e804", 10),
    ("policer_dump_35f1ae0f", 75),
    ("policer_details_72d0e248", 141),
    ("create_vhost_user_if_v2_dba1cc1d", 348),
    ("create_vhost_user_if_v2_reply_5383d31f", 14),
    ("delete_vhost_user_if_f9e6675e", 14),
    ("delete_vhost_user_if_reply_e8d4e804", 10),
    ("sw_interface_vhost_user_dump_f9e6675e", 14),
    ("sw_interface_vhost_user_details_0cee1e53", 351),
    ("af_packet_create_v3_b3a809d4", 109),
    ("af_packet_create_v3_reply_5383d31f", 14),
    ("af_packet_delete_863fa648", 74),
    ("af_packet_delete_reply_e8d4e804", 10),
    ("af_packet_dump_51077d14", 10),
    ("af_packet_details_58c7c042", 74),
    ("vxlan_add_del_tunnel_v3_0072b037", 70),
    ("vxlan_add_del_tunnel_v3_reply_5383d31f", 14),
    ("vxlan_tunnel_v2_dump_f9e6675e", 14),
    ("vxlan_tunnel_v2_details_d3bdd4d9", 68),
    ("sw_interface_span_enable_disable_23ddd96b", 23),
    ("sw_interface_span_enable_disable_reply_e8d4e804", 10),
    ("sw_interface_span_dump_d6cf0c3d", 11),
    ("sw_interface_span_details_8a20e79f", 19),
    ("sw_interface_set_rx_mode_b04d1cfe", 23),
    ("sw_interface_set_rx_mode_reply_e8d4e804", 10),
    ("sw_interface_set_tx_placement_4e0cd5ff", 22),
    ("sw_interface_set_tx_placement_reply_e8d4e804", 10),
    ("sw_interface_rx_placement_dump_f9e6675e", 14),
    ("sw_interface_rx_placement_details_9e44a7ce", 26),
    ("sw_interface_tx_placement_get_47250981", 18),
    ("sw_interface_tx_placement_details_00381a2e", 23),
    ("sw_interface_tx_placement_get_reply_53b48f5d", 14),
    ("tap_create_v3_3f3fd1df", 290),
    ("tap_create_v3_reply_5383d31f", 14),
    ("tap_delete_v2_f9e6675e", 14),
    ("tap_delete_v2_reply_e8d4e804", 10),
    ("sw_interface_tap_v2_dump_f9e6675e", 14),
    ("sw_interface_tap_v2_details_1e2b2a47", 310),
];

fn header_size(descriptor: &Descriptor) -> usize {
    match descriptor.header {
        Header::ClientAndContext => 10,
        Header::Context | Header::Client => 6,
    }
}

#[test]
fn every_message_has_the_crc_and_the_size_of_vpp() {
    let expected: BTreeMap<&str, usize> = SIZES.iter().copied().collect();
    let known: Vec<&str> = all().map(|descriptor| descriptor.name_crc).collect();
    assert_eq!(known.len(), SIZES.len(), "a message without a size here, or one that is twice in the table");
    for descriptor in all() {
        let name = descriptor.name_crc;
        let size = expected.get(name).unwrap_or_else(|| panic!("{name} has no size here"));
        let fields = vec![0; size - header_size(descriptor)];
        let recoded = (descriptor.recode)(&fields).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(recoded, fields, "{name}");
        if let Some((_, shorter)) = fields.split_last() {
            let error = (descriptor.recode)(shorter).expect_err(name);
            assert!(error.needed > error.left, "{name}: {error:?}");
        }
    }
}

#[test]
fn message_of_a_plugin_names_it() {
    for descriptor in all() {
        let expected = match descriptor.name {
            name if name.contains("memif") => Some("memif_plugin.so"),
            name if name.contains("policer") => Some("policer_plugin.so"),
            // Classifier tables have one of their own.
            name if name.starts_with("acl_") => Some("acl_plugin.so"),
            name if name.contains("vhost") => Some("vhost_plugin.so"),
            name if name.starts_with("af_packet_") => Some("af_packet_plugin.so"),
            name if name.contains("tap_") => Some("tap_plugin.so"),
            name if name.starts_with("vxlan_") => Some("vxlan_plugin.so"),
            _ => None,
        };
        assert_eq!(descriptor.plugin, expected, "{}", descriptor.name);
    }
    assert_eq!(MemifCreateV2Reply::name_crc(), "memif_create_v2_reply_5383d31f");
}

fn fields(message: &impl Message) -> Vec<u8> {
    let mut writer = Writer::default();
    message.encode(&mut writer);
    writer.into_bytes()
}

/// The offsets are counted from the start of the message, as in VPP's own descriptions.
#[test]
fn fields_of_a_request_are_where_vpp_reads_them() {
    let create = MemifCreateV2 {
        role: MemifRole::Slave,
        mode: MemifMode::Ip,
        rx_queues: 3,
        tx_queues: 4,
        id: 5,
        socket_id: 6,
        ring_size: 1024,
        buffer_size: 2048,
        no_zero_copy: true,
        use_dma: false,
        hw_addr: [2, 0, 0, 0, 0, 9],
        secret: Secret::new("s").expect("fits"),
    };
    let bytes = [vec![0; 10], fields(&create)].concat();
    assert_eq!(bytes[10..20], [0, 0, 0, 1, 0, 0, 0, 1, 3, 4]);
    assert_eq!(bytes[20..35], [0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 4, 0, 8, 0, 1]);
    assert_eq!(bytes[35..44], [0, 2, 0, 0, 0, 0, 9, b's', 0]);
    let v1 = MemifCreate { hw_addr: [2, 0, 0, 0, 0, 9], ..MemifCreate::default() };
    assert_eq!([vec![0; 10], fields(&v1)].concat()[35..41], [2, 0, 0, 0, 0, 9]);
}

#[test]
fn fields_of_details_are_where_vpp_writes_them() {
    let details = SwInterfaceDetails {
        sw_if_index: 1,
        flags: IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP,
        link_mtu: 9000,
        vtr_op: VtrOp::Pop1,
        interface_name: FixedText::new("memif1/0").expect("fits"),
        tag: FixedText::new("mine").expect("fits"),
        ..SwInterfaceDetails::default()
    };
    let bytes = [vec![0; 6], fields(&details)].concat();
    assert_eq!((bytes[9], bytes[23], &bytes[36..38], bytes[70]), (1, 3, &9000_u16.to_be_bytes()[..], 3));
    assert_eq!((&bytes[103..111], &bytes[231..235]), (&b"memif1/0"[..], &b"mine"[..]));
    assert_eq!(SwInterfaceDetails::decode(&mut Reader::new(&bytes[6..])), Ok(details));
}

#[test]
fn a_path_of_a_route_is_where_vpp_reads_it() {
    let path = FibPath { sw_if_index: 3, weight: 1, proto: FibPathProto::Ip6, ..FibPath::default() };
    let prefix = Prefix::new("fd00::7".parse().expect("an address"), 128);
    let route = IpRoute { table_id: 9, prefix, paths: FibPaths(vec![path]), ..IpRoute::default() };
    let request = IpRouteAddDel { is_add: true, is_multipath: false, route: route.clone() };
    let bytes = [vec![0; 10], fields(&request)].concat();
    assert_eq!(bytes.len(), 39 + 167);
    assert_eq!((bytes[10], bytes[11], bytes[15], bytes[20], bytes[36], bytes[37], bytes[38]), (1, 0, 9, 1, 7, 128, 1));
    // These are interface, weight and protocol of the path.
    assert_eq!((bytes[42], bytes[51], &bytes[61..65]), (3, 1, &[0, 0, 0, 1][..]));
    let details = fields(&IpRouteDetails { route: route.clone() });
    assert_eq!(IpRouteDetails::decode(&mut Reader::new(&details)), Ok(IpRouteDetails { route }));
}

#[test]
fn the_ends_of_a_tunnel_are_where_vpp_reads_and_writes_them() {
    let [local, remote]: [Address; 2] =
        ["10.0.0.1", "fd00::2"].map(|text| text.parse::<std::net::IpAddr>().expect("an address").into());
    let create = VxlanAddDelTunnelV3 {
        is_add: true,
        instance: 5,
        src_address: local.clone(),
        dst_address: remote.clone(),
        src_port: 1,
        dst_port: 2,
        mcast_sw_if_index: NO_INTERFACE,
        encap_vrf_id: 3,
        decap_next_index: DECAP_L2_INPUT,
        vni: 7,
        is_l3: true,
    };
    let bytes = [vec![0; 10], fields(&create)].concat();
    assert_eq!((bytes[10], bytes[14], bytes[15], &bytes[16..20]), (1, 5, 0, &[10, 0, 0, 1][..]));
    assert_eq!((bytes[32], bytes[33], bytes[48], bytes[50], bytes[52]), (1, 0xfd, 2, 1, 2));
    assert_eq!((&bytes[53..57], bytes[60], &bytes[61..65]), (&[255; 4][..], 3, &[255; 4][..]));
    assert_eq!((bytes[68], bytes[69], bytes.len()), (7, 1, 70));
    let details = VxlanTunnelV2Details { src_address: local, dst_address: remote, vni: 9, ..Default::default() };
    let bytes = [vec![0; 6], fields(&details)].concat();
    assert_eq!((bytes[14], bytes[15], bytes[31], bytes[32], bytes[67]), (0, 10, 1, 0xfd, 9));
}

#[test]
fn masks_and_matches_are_where_vpp_reads_and_writes_them() {
    let table = ClassifyAddDelTable {
        is_add: true,
        del_chain: true,
        table_index: 1,
        nbuckets: 2,
        memory_size: 3,
        skip_n_vectors: 4,
        match_n_vectors: 5,
        next_table_index: 6,
        miss_next_index: 7,
        current_data_flag: 8,
        current_data_offset: -14,
        mask: vec![9; VECTOR_BYTES],
    };
    let bytes = [vec![0; 10], fields(&table)].concat();
    assert_eq!((bytes[10], bytes[11], bytes.len()), (1, 1, 63));
    assert_eq!([15, 19, 23, 27, 31, 35, 39, 40].map(|at: usize| bytes[at]), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((&bytes[41..43], &bytes[43..47], bytes[47]), (&[0xff, 0xf2][..], &[0, 0, 0, 16][..], 9));
    let session = ClassifyAddDelSession {
        is_add: true,
        table_index: 1,
        hit_next_index: PERMIT,
        opaque_index: 2,
        advance: 0,
        action: ClassifyAction::SetMetadata,
        metadata: 4,
        r#match: vec![5; VECTOR_BYTES],
    };
    let bytes = [vec![0; 10], fields(&session)].concat();
    assert_eq!((bytes[14], &bytes[15..19], bytes[22], bytes[27], bytes[31]), (1, &[255; 4][..], 2, 3, 4));
    assert_eq!((&bytes[32..36], bytes[36], bytes.len()), (&[0, 0, 0, 16][..], 5, 52));
    let details = ClassifySessionDetails {
        retval: 0,
        table_id: 1,
        hit_next_index: PERMIT_AS_READ,
        advance: 0,
        opaque_index: 2,
        r#match: vec![5; VECTOR_BYTES],
    };
    let bytes = [vec![0; 6], fields(&details)].concat();
    assert_eq!((bytes[13], &bytes[14..18], bytes[25], bytes[29], bytes[30]), (1, &[0, 0, 255, 255][..], 2, 16, 5));
}

#[test]
fn rules_and_lists_of_them_are_where_vpp_reads_and_writes_them() {
    let prefix = |text: &str, length| Prefix::new(text.parse().expect("an address"), length);
    let rule = AclRule {
        action: AclAction::PermitReflect,
        source: prefix("fd00::7", 64),
        destination: prefix("fd00::9", 128),
        protocol: 6,
        first_source: 1,
        last_source: 2,
        first_destination: 3,
        last_destination: 4,
        tcp_flags_mask: 5,
        tcp_flags_value: 6,
    };
    let (tag, rules) = (FixedText::new("usnet").expect("fits"), vec![rule]);
    let bytes =
        [vec![0; 10], fields(&AclAddReplace { acl_index: NO_ACL, tag: tag.clone(), rules: rules.clone() })].concat();
    assert_eq!((&bytes[10..14], &bytes[14..19], &bytes[78..82]), (&[255; 4][..], &b"usnet"[..], &[0, 0, 0, 1][..]));
    // Action, families, lengths of prefixes and the protocol.
    assert_eq!([82, 83, 99, 100, 101, 117, 118, 119].map(|at: usize| bytes[at]), [2, 1, 7, 64, 1, 9, 128, 6]);
    assert_eq!((&bytes[120..128], &bytes[128..]), (&[0, 1, 0, 2, 0, 3, 0, 4][..], &[5, 6][..]));
    let details = AclDetails { acl_index: 3, tag, rules };
    assert_eq!(AclDetails::decode(&mut Reader::new(&fields(&details))), Ok(details));
    let lists = AclInterfaceListDetails { sw_if_index: 1, acls: ByDirection { input: vec![7], output: vec![8, 9] } };
    let bytes = fields(&lists);
    assert_eq!(bytes[3..], [1, 3, 1, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9]);
    assert_eq!(AclInterfaceListDetails::decode(&mut Reader::new(&bytes)), Ok(lists));
    let whitelist = ByDirection { input: vec![0x0806, 0x8035], output: vec![0x0806] };
    let bytes = fields(&AclInterfaceSetEtypeWhitelist { sw_if_index: 1, whitelist });
    assert_eq!(bytes[4..], [3, 2, 0x08, 0x06, 0x80, 0x35, 0x08, 0x06]);
    let reply = fields(&AclAddReplaceReply { acl_index: 5, retval: -6 });
    assert_eq!((reply[3], &reply[AclAddReplaceReply::RETVAL_AT..]), (5, &(-6_i32).to_be_bytes()[..]));
}

#[test]
fn the_limit_of_sessions_has_no_code_before_it() {
    let reply = AclPluginGetConnTableMaxEntriesReply { conn_table_max_entries: 500_000 };
    let bytes = fields(&reply);
    assert_eq!(bytes, [0, 0, 0, 0, 0, 7, 0xa1, 0x20]);
    assert_eq!(AclPluginGetConnTableMaxEntriesReply::decode(&mut Reader::new(&bytes)), Ok(reply.clone()));
    assert_eq!((reply.retval(), bytes.get(AclPluginGetConnTableMaxEntriesReply::RETVAL_AT..)), (0, Some(&[][..])));
}

#[test]
fn event_has_no_context() {
    let bytes = [0, 9, 0, 0, 0, 1, 0, 0, 0, 77, 0, 0, 0, 5, 0, 0, 0, 2, 1];
    let mut reader = Reader::new(&bytes);
    let (id, envelope) = crate::wire::read_envelope(SwInterfaceEvent::HEADER, &mut reader).expect("an envelope");
    assert_eq!((id, envelope.client_index), (9, 1));
    let event = SwInterfaceEvent { pid: 77, sw_if_index: 5, flags: IfStatusFlags::LINK_UP, deleted: true };
    assert_eq!(SwInterfaceEvent::decode(&mut reader), Ok(event));
    assert_eq!(reader.left(), 0);
}
