//! Messages that this VPP does not know.

use usnet_vpp::{Message, Remedy};

/// Why a port cannot be created without this message. `has_plugin`: whether VPP knows an older
/// message of the same plugin, which distinguishes an old VPP from one without the plugin.
pub(in crate::engine::vpp) fn missing<M: Message>(has_plugin: bool) -> String {
    let remedy = match M::PLUGIN {
        Some(plugin) if !has_plugin => Remedy::LoadPlugin(plugin),
        _ => Remedy::UseRelease,
    };
    format!("it does not know the message {}; {remedy}", M::NAME)
}
