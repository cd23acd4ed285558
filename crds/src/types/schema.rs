//! The JSON schemas of newtypes that are no numbers, with their limits, so that the API server
//! validates them.

use super::address::InterfaceAddress;
use super::address_pair::{ADDRESS_MAX, HostAddress};
use super::limits::{CIDR_MAX, VlanTag};
use super::mac::{MacAddress, NO_MAC};
use super::names::{self, BridgeName, NamespaceName, NetworkName, PodName, RoutingDomain, UplinkName, VolumeName};
use super::pod_names::PodNames;
use super::vlan::Vlan;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

macro_rules! text_schema {
    ($($name:ident: $maximum:expr),*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "maxLength": $maximum})
            }
        }
    )*};
}
text_schema!(
    BridgeName: names::BRIDGE_NAME_MAX,
    HostAddress: ADDRESS_MAX,
    InterfaceAddress: CIDR_MAX,
    MacAddress: NO_MAC.len(),
    NamespaceName: names::NAMESPACE_NAME_MAX,
    NetworkName: names::NETWORK_NAME_MAX,
    PodName: names::POD_NAME_MAX,
    PodNames: names::POD_NAME_MAX,
    RoutingDomain: names::ROUTING_DOMAIN_MAX,
    VolumeName: names::VOLUME_NAME_MAX,
    UplinkName: names::UPLINK_NAME_MAX
);

impl JsonSchema for Vlan {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Vlan".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How the frames of a port are tagged.",
            "type": "object",
            "properties": {
                "mode": {"type": "string", "enum": ["Access", "Trunk", "NativeTagged", "NativeUntagged"]},
                "tag": VlanTag::json_schema(generator),
                "trunks": {"type": "array", "items": VlanTag::json_schema(generator), "maxItems": VlanTag::MAXIMUM},
            },
            "required": ["mode"],
        })
    }
}
