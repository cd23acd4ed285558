//! The options of the service.

use super::ipam_limits::IpamOptions;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `usnet serve-attachments`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The CNI plugin.
    #[arg(long, env = "USNET_PLUGIN", value_name = "FILE", default_value = "/opt/cni/bin/userspace")]
    pub plugin: PathBuf,
    /// The folders of IPAM plugins, separated by colons.
    #[arg(long, env = "CNI_PATH", value_name = "FOLDERS", default_value = "/opt/cni/bin")]
    pub plugin_folders: OsString,
    #[command(flatten)]
    pub ipam: IpamOptions,
}
