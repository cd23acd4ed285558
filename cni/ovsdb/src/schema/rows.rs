//! The rows that usnet reads.

use super::table::column;
use super::{Column, SchemaError, Table, TableRow};
use crate::value::{FromValue, Row, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// Defines a struct with a field for each column, its table, and the conversion from a row:
/// otherwise three lists would have to be kept consistent by hand.
macro_rules! table_row {
    (
        $(#[$documentation:meta])*
        $name:ident from $table:literal {
            $($(#[$field_documentation:meta])* $field:ident: $type:ty = $column:literal,)*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            pub uuid: Uuid,
            $($(#[$field_documentation])* pub $field: $type,)*
        }

        impl TableRow for $name {
            const TABLE: Table = Table {
                name: $table,
                columns: &[$(Column { name: $column, kind: <$type as FromValue>::KIND },)*],
            };

            fn from_row(uuid: Uuid, row: &Row) -> Result<Self, SchemaError> {
                Ok(Self { uuid, $($field: column($table, uuid, row, $column)?,)* })
            }
        }
    };
}

table_row! {
    /// The only row of the table `Open_vSwitch`.
    OpenVswitch from "Open_vSwitch" {
        /// Each client that changes the configuration increments this number.
        next_cfg: i64 = "next_cfg",
        /// The `next_cfg` that `ovs-vswitchd` has processed.
        cur_cfg: i64 = "cur_cfg",
        bridges: BTreeSet<Uuid> = "bridges",
        /// The version of Open vSwitch, for example 3.1.0.
        ovs_version: Option<String> = "ovs_version",
        /// Whether DPDK was initialized successfully.
        dpdk_initialized: bool = "dpdk_initialized",
        /// The version of DPDK; `none` if `ovs-vswitchd` was built without it.
        dpdk_version: Option<String> = "dpdk_version",
        /// The types of interfaces that `ovs-vswitchd` can create. It is empty until `ovs-vswitchd`
        /// has written it.
        iface_types: BTreeSet<String> = "iface_types",
        /// Settings of the whole switch, for example `dpdk-extra`. Most are read when it starts.
        other_config: BTreeMap<String, String> = "other_config",
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

table_row! {
    Bridge from "Bridge" {
        /// The name is unique, and also that of the local port and its tap device.
        name: String = "name",
        /// `netdev` means user space; `system` or empty means the kernel.
        datapath_type: String = "datapath_type",
        /// 16 hexadecimal digits, which `ovs-vswitchd` sets when the bridge exists.
        datapath_id: Option<String> = "datapath_id",
        ports: BTreeSet<Uuid> = "ports",
        external_ids: BTreeMap<String, String> = "external_ids",
        /// The VLANs in which MAC addresses are not learned, so that their frames are flooded.
        flood_vlans: BTreeSet<u16> = "flood_vlans",
        /// `secure` or `standalone`, which is the default.
        fail_mode: Option<String> = "fail_mode",
        /// The OpenFlow controllers that decide about frames.
        controller: BTreeSet<Uuid> = "controller",
        /// The supported versions of OpenFlow; empty for all.
        protocols: BTreeSet<String> = "protocols",
        /// Whether the spanning tree protocol may block ports.
        stp_enable: bool = "stp_enable",
        /// Whether the rapid spanning tree protocol may block ports.
        rstp_enable: bool = "rstp_enable",
        /// Whether multicast frames are sent only to ports that requested them.
        mcast_snooping_enable: bool = "mcast_snooping_enable",
        /// Settings, for example `mac-aging-time`.
        other_config: BTreeMap<String, String> = "other_config",
    }
}

table_row! {
    Port from "Port" {
        name: String = "name",
        /// A bond has more than one interface.
        interfaces: BTreeSet<Uuid> = "interfaces",
        /// The VLAN of an access or native port, 0 to 4095.
        tag: Option<u16> = "tag",
        /// The VLANs of a trunk; empty for all.
        trunks: BTreeSet<u16> = "trunks",
        /// `access`, `trunk`, `native-tagged`, `native-untagged` or `dot1q-tunnel`.
        vlan_mode: Option<String> = "vlan_mode",
        /// Whether frames to other protected ports of the bridge are dropped.
        is_protected: bool = "protected",
        /// `active` or `passive`: frames pass only with a LACP partner at the other end.
        lacp: Option<String> = "lacp",
        /// How a bond uses its interfaces, for example `active-backup`.
        bond_mode: Option<String> = "bond_mode",
        /// The MAC address of the interface that an active-backup bond uses.
        bond_active_slave: Option<String> = "bond_active_slave",
        /// Settings, for example `lacp-time`.
        other_config: BTreeMap<String, String> = "other_config",
        /// The QoS that limits the frames leaving the port.
        qos: Option<Uuid> = "qos",
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

table_row! {
    /// Limits of the frames that leave a port. A row exists whether a port refers to it or not: it
    /// is not deleted with its last port.
    Qos from "QoS" {
        /// The column `type`, for example `egress-policer`.
        qos_type: String = "type",
        /// Settings of the type.
        other_config: BTreeMap<String, String> = "other_config",
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

table_row! {
    Interface from "Interface" {
        name: String = "name",
        /// The column `type`: `internal`, `dpdkvhostuserclient`, … or empty for a system device.
        interface_type: String = "type",
        /// The OpenFlow port number, set by `ovs-vswitchd`. It is -1 if the interface could not be
        /// created.
        ofport: Option<i64> = "ofport",
        /// The reason why the interface could not be created.
        error: Option<String> = "error",
        /// The MTU in bytes. A connected vhost-user port with MTU 0 got no packet memory.
        mtu: Option<i64> = "mtu",
        mtu_request: Option<i64> = "mtu_request",
        /// The limit of the frames that enter the port, in kbit/s (1000 bits); 0 for none.
        ingress_policing_rate: i64 = "ingress_policing_rate",
        /// The burst of entering frames, in kilobits (1000 bits).
        ingress_policing_burst: i64 = "ingress_policing_burst",
        /// Settings of the interface's type, for example `vhost-server-path`.
        options: BTreeMap<String, String> = "options",
        /// Settings of any interface, for example `tx-steering`.
        other_config: BTreeMap<String, String> = "other_config",
        /// The status reported by `ovs-vswitchd`, for example `status=connected` of a vhost-user
        /// port.
        status: BTreeMap<String, String> = "status",
        /// `up` or `down`.
        link_state: Option<String> = "link_state",
        mac_in_use: Option<String> = "mac_in_use",
        /// Whether the LACP partner of the interface has been heard of in time.
        lacp_current: Option<bool> = "lacp_current",
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}
