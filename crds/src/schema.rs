//! Hand-written JSON schemas, so that the API server keeps and validates every field.

use crate::fixed_attachment::CIDR_MAX;
use crate::mac::NO_MAC;
use crate::names;
use crate::network::SELECTOR_VALUES_MAX;
use crate::{
    BridgeName, DeviceCount, InterfaceAddress, KilobitsPerSecond, MacAddress, MacAge, Mtu, NamespaceName, NetworkName,
    PodName, Queues, RingSize, Vlan, VlanTag,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// Most requirements of one label selector: CEL rejects rules over unbounded lists.
const SELECTOR_LENGTH_MAX: u32 = 32;

macro_rules! number_schema {
    ($($name:ident),*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "integer", "format": "int64", "minimum": Self::MINIMUM, "maximum": Self::MAXIMUM})
            }
        }
    )*};
}
number_schema!(DeviceCount, KilobitsPerSecond, MacAge, Mtu, Queues, RingSize, VlanTag);

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
    InterfaceAddress: CIDR_MAX,
    MacAddress: NO_MAC.len(),
    NamespaceName: names::NAMESPACE_NAME_MAX,
    NetworkName: names::NETWORK_NAME_MAX,
    PodName: names::POD_NAME_MAX
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

/// A label selector with what the API server does not validate in custom resources by itself: the
/// operators, and bounds of the lists.
pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": SELECTOR_LENGTH_MAX},
            "matchExpressions": {
                "type": "array",
                "maxItems": SELECTOR_LENGTH_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "string"},
                        "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                        "values": {"type": "array", "items": {"type": "string"}, "maxItems": SELECTOR_VALUES_MAX},
                    },
                    "required": ["key", "operator"],
                },
            },
        },
        "x-kubernetes-map-type": "atomic",
    })
}

/// Any JSON object, unchanged.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Names of namespaces. The list has a single writer, so the API server need not track the
/// ownership of each item.
pub(crate) fn namespace_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "These namespaces, sorted.",
        "type": "array",
        "items": {"type": "string", "maxLength": names::NAMESPACE_NAME_MAX},
        "x-kubernetes-list-type": "atomic",
    })
}

/// The conditions of a node, with the limits that the controller relies on: the token of an agent
/// can be stolen.
pub(crate) fn node_conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 8,
        "items": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "minLength": 1, "maxLength": 64},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$"},
                "message": {"type": "string", "maxLength": 1024},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            },
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        },
    })
}
