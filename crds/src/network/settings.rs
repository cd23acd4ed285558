//! The settings that a network has in each of its forms: validated (`ValidNetwork`), compiled for
//! all nodes (`CompiledNetworkSpec`), and on one node ([`NodeNetwork`](crate::NodeNetwork)). Each
//! setting is declared here alone.
//!
//! One struct with `#[serde(flatten)]` would do the same, but serde buffers what it flattens: to
//! parse a network took 2 to 2.5 times as long, and 2 to 6 times the memory.

/// Declares a struct with its own fields and the settings of a network. With `plain`, they have no
/// attributes of serde. Own fields come first in JSON; those in `between` come after the settings
/// that each network has, and those in `after` at the end.
macro_rules! network_struct {
    ($($declaration:tt)*) => {
        $crate::network::settings::settings! { declare! { $($declaration)* } }
    };
}

/// Makes a value of such a struct from its own fields and the settings of a value of another one.
#[cfg(feature = "api")]
macro_rules! with_settings_of {
    ($from:expr => $($value:tt)*) => {
        $crate::network::settings::settings! { convert! { $from => $($value)* } }
    };
}

/// Passes on what it was given, and the settings: those that each network has, and those that are
/// left out of JSON where they have no value.
macro_rules! settings {
    ($macro:ident! { $($given:tt)* }) => {
        $crate::network::settings::$macro! {
            { $($given)* }
            required {
                /// The software switch that carries the network.
                engine: $crate::EngineKind,
                /// The bridge on each node, with its resolved name or id.
                bridge: $crate::Bridge,
                /// The defaults of every port.
                port: $crate::Port,
            }
            optional {
                /// A CNI IPAM configuration, passed on as it is.
                ipam: Option<serde_json::Value>,
                /// The gateway; none means that pods reach others of this network only.
                gateway: Option<$crate::Gateway>,
                /// The node itself in the network; none means that it is not.
                node_access: Option<$crate::NodeAccess>,
                /// What the names of pods fix, sorted by namespace and pod.
                attachments: Vec<$crate::FixedAttachment>,
                /// How kubelet counts its attachments.
                device_plugin: Option<$crate::DevicePlugin>,
                /// How many ports of a node resource claims get.
                resource_claims: Option<$crate::ResourceClaims>,
                /// Whether policies restrict the connections of pods.
                policies: $crate::Policies,
            }
        }
    };
}

macro_rules! declare {
    (
        { plain $(#[$attribute:meta])* pub struct $name:ident { $($own:tt)* } }
        required { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
        optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty,)* }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($own)*
            $($(#[$doc])* pub $field: $type,)*
            $($(#[$optional_doc])* pub $optional: $optional_type,)*
        }
    };
    (
        {
            $(#[$attribute:meta])*
            pub struct $name:ident { $($own:tt)* }
            $(between { $($between:tt)* } after { $($after:tt)* })?
        }
        required { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
        optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty,)* }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($own)*
            $($(#[$doc])* pub $field: $type,)*
            $($($between)*)?
            $(
                $(#[$optional_doc])*
                #[serde(default, skip_serializing_if = "crate::network::settings::is_default")]
                pub $optional: $optional_type,
            )*
            $($($after)*)?
        }
    };
}

#[cfg(feature = "api")]
macro_rules! convert {
    (
        { $from:expr => $name:ident { $($own:tt)* } }
        required { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
        optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty,)* }
    ) => {
        $name {
            $($own)*
            $($field: $from.$field.clone(),)*
            $($optional: $from.$optional.clone(),)*
        }
    };
}

#[cfg(feature = "api")]
pub(crate) use {convert, with_settings_of};
pub(crate) use {declare, network_struct, settings};

pub(crate) fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}
