//! The `startup.conf` of a real VPP: without huge pages, PCI devices and network ports, and with
//! all files in one folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The settings in which VPPs of tests differ.
pub(crate) struct Configuration<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    /// The prefix of the names of VPP's shared memory under `/dev/shm`.
    pub(crate) prefix: &'a str,
    pub(crate) plugins: &'a [String],
    /// Whether it polls without a pause.
    pub(crate) polls: bool,
}

impl Configuration<'_> {
    pub(crate) fn text(&self) -> String {
        let folder = self.folder.display();
        let prefix = self.prefix;
        let pause = if self.polls { "" } else { " poll-sleep-usec 100" };
        // VPP does not start with a main heap of 64 MiB, and the defaults of buffers and statistics
        // take 300 MiB more.
        let mut text = format!(
            "unix {{ nodaemon nosyslog nobanner nocolor runtime-dir {folder} cli-listen {folder}/cli.sock \
             log {folder}/cli.log{pause} }}\n\
             memory {{ main-heap-size 256M main-heap-page-size 4k }}\n\
             buffers {{ page-size 4k buffers-per-numa 4096 }}\n\
             socksvr {{ socket-name {folder}/api.sock }}\n\
             api-segment {{ prefix {prefix} }}\n\
             statseg {{ socket-name {folder}/stats.sock size 32M page-size 4k per-node-counters off }}\n\
             plugins {{\n"
        );
        if let Some(path) = plugin_folder(self.program) {
            let _infallible = writeln!(text, "  path {}", path.display());
        }
        text.push_str("  plugin default { disable }\n");
        for plugin in self.plugins {
            let _infallible = writeln!(text, "  plugin {plugin} {{ enable }}");
        }
        text.push_str("}\n");
        text
    }
}

/// Returns the plugin folder of a VPP that is not installed at the prefix that it was built for:
/// `<prefix>/lib/<architecture>/vpp_plugins`.
#[must_use]
pub fn plugin_folder(program: &Path) -> Option<PathBuf> {
    let libraries = program.parent()?.parent()?.join("lib");
    let folders = libraries.read_dir().ok()?;
    folders.filter_map(Result::ok).map(|folder| folder.path().join("vpp_plugins")).find(|path| path.is_dir())
}
