//! The rows that usnet reads.

use super::table::column;
use super::{Column, SchemaError, Table, TableRow};
use crate::value::{FromValue, Row, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// A struct with a field for each column, its table and the conversion from a row: three lists that
/// would have to be kept consistent by hand otherwise.
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
            /// The row's identifier.
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
    /// The one row of the table `Open_vSwitch`.
    OpenVswitch from "Open_vSwitch" {
        /// Incremented by each client that changes the configuration.
        next_cfg: i64 = "next_cfg",
        /// The `next_cfg` that `ovs-vswitchd` has seen.
        cur_cfg: i64 = "cur_cfg",
        /// All bridges.
        bridges: BTreeSet<Uuid> = "bridges",
        /// Version of Open vSwitch, for example 3.1.0.
        ovs_version: Option<String> = "ovs_version",
        /// Whether DPDK works.
        dpdk_initialized: bool = "dpdk_initialized",
        /// The types of interfaces that `ovs-vswitchd` can create; empty before it has written it.
        iface_types: BTreeSet<String> = "iface_types",
        /// Keys and values set by clients.
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

table_row! {
    /// A bridge.
    Bridge from "Bridge" {
        /// Unique; also the name of its local port and tap device.
        name: String = "name",
        /// `netdev` in user space; `system` or empty in the kernel.
        datapath_type: String = "datapath_type",
        /// 16 hexadecimal digits, set by `ovs-vswitchd` when the bridge exists.
        datapath_id: Option<String> = "datapath_id",
        /// Its ports.
        ports: BTreeSet<Uuid> = "ports",
        /// Keys and values set by clients.
        external_ids: BTreeMap<String, String> = "external_ids",
        /// The VLANs in which it does not learn MAC addresses, so that their frames are flooded.
        flood_vlans: BTreeSet<u16> = "flood_vlans",
        /// `secure` or `standalone`; without one it is `standalone`.
        fail_mode: Option<String> = "fail_mode",
        /// The OpenFlow controllers that decide which frames it forwards.
        controller: BTreeSet<Uuid> = "controller",
        /// The versions of OpenFlow that it speaks; empty for all.
        protocols: BTreeSet<String> = "protocols",
        /// Whether it takes part in the spanning tree protocol, and may block ports.
        stp_enable: bool = "stp_enable",
        /// The same for the rapid spanning tree protocol.
        rstp_enable: bool = "rstp_enable",
        /// Whether it sends multicast frames only to ports that were asked for.
        mcast_snooping_enable: bool = "mcast_snooping_enable",
        /// Settings, for example `mac-aging-time`.
        other_config: BTreeMap<String, String> = "other_config",
    }
}

table_row! {
    /// A port of a bridge.
    Port from "Port" {
        /// Unique.
        name: String = "name",
        /// Its interfaces; more than one for a bond.
        interfaces: BTreeSet<Uuid> = "interfaces",
        /// The VLAN of an access or native port, 0 to 4095.
        tag: Option<u16> = "tag",
        /// The VLANs of a trunk; all of them when it is empty.
        trunks: BTreeSet<u16> = "trunks",
        /// `access`, `trunk`, `native-tagged`, `native-untagged` or `dot1q-tunnel`.
        vlan_mode: Option<String> = "vlan_mode",
        /// Whether it sends no frames to other protected ports of its bridge.
        is_protected: bool = "protected",
        /// `active` or `passive`: it carries frames only with a partner of LACP at its other end.
        lacp: Option<String> = "lacp",
        /// The QoS that limits the frames leaving through it.
        qos: Option<Uuid> = "qos",
        /// Keys and values set by clients.
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

table_row! {
    /// Limits of the frames that leave through a port. A row exists whether a port refers to it or
    /// not: it is not deleted with its last port.
    Qos from "QoS" {
        /// The column `type`, for example `egress-policer`.
        qos_type: String = "type",
        /// Settings of its type.
        other_config: BTreeMap<String, String> = "other_config",
        /// Keys and values set by clients.
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

table_row! {
    /// An interface of a port.
    Interface from "Interface" {
        /// Unique.
        name: String = "name",
        /// The column `type`: `internal`, `dpdkvhostuserclient`, … or empty for a system device.
        interface_type: String = "type",
        /// OpenFlow port number set by `ovs-vswitchd`; -1 if the interface could not be created.
        ofport: Option<i64> = "ofport",
        /// Why it could not be created.
        error: Option<String> = "error",
        /// MTU in bytes. A connected vhost-user port with 0 got no packet memory.
        mtu: Option<i64> = "mtu",
        /// The requested MTU.
        mtu_request: Option<i64> = "mtu_request",
        /// Limit of the frames that enter through it, in kbit/s (1000 bits); 0 for none.
        ingress_policing_rate: i64 = "ingress_policing_rate",
        /// What may enter at once, in kilobits (1000 bits).
        ingress_policing_burst: i64 = "ingress_policing_burst",
        /// Settings of the interface's type, for example `vhost-server-path`.
        options: BTreeMap<String, String> = "options",
        /// The status reported by `ovs-vswitchd`, for example `status=connected` of a vhost-user
        /// port.
        status: BTreeMap<String, String> = "status",
        /// `up` or `down`.
        link_state: Option<String> = "link_state",
        /// MAC address.
        mac_in_use: Option<String> = "mac_in_use",
        /// Keys and values set by clients.
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}
