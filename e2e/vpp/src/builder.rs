//! The options of a VPP for a test.

use crate::instance::Running;
use crate::{Error, Fault, Kind, Vpp, kind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// `sun_path` holds 108 bytes with the terminating zero; VPP uses one less for memif.
const SOCKET_PATH_MAX: usize = 106;

/// The plugins of ports, tunnels, policers and access lists, and the one that answers echo
/// requests.
const PLUGINS: [&str; 7] = [
    "memif_plugin.so",
    "vhost_plugin.so",
    "af_packet_plugin.so",
    "vxlan_plugin.so",
    "policer_plugin.so",
    "acl_plugin.so",
    "ping_plugin.so",
];

#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    kind: Kind,
    plugins: Vec<String>,
    faults: Vec<Fault>,
    polls: bool,
}

impl Builder {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, plugins: PLUGINS.map(str::to_owned).into(), faults: Vec::new(), polls: false }
    }

    /// Has a real VPP poll without a pause, as it does by default: it takes a core.
    pub fn polling(mut self) -> Self {
        self.polls = true;
        self
    }

    /// Loads a plugin in addition to the usual ones. The simulator has no other.
    pub fn plugin(mut self, file: &str) -> Self {
        self.plugins.push(file.to_owned());
        self
    }

    pub fn without_plugin(mut self, file: &str) -> Self {
        self.plugins.retain(|plugin| plugin != file);
        if self.kind == Kind::Simulator {
            self.faults.push(Fault::WithoutPlugin(file.to_owned()));
        }
        self
    }

    /// Adds a fault from each start on. A real VPP does not support faults.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Starts VPP, and returns when it answers.
    pub fn start(self) -> Result<Vpp, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("vpp-").tempdir_in(&temporary).map_err(Error::file(temporary))?;
        let socket = folder.path().join("api.sock");
        if socket.with_file_name("control.sock").as_os_str().len() > SOCKET_PATH_MAX {
            return Err(Error::PathTooLong(socket));
        }
        let prefix = format!("vpp-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let program = match self.kind {
            Kind::Real => kind::program().ok_or(Error::NoVpp)?,
            Kind::Simulator => PathBuf::new(),
        };
        let mut vpp = Vpp {
            running: Running::Nothing,
            kind: self.kind,
            program,
            plugins: self.plugins,
            faults: self.faults,
            polls: self.polls,
            prefix,
            socket,
            folder,
        };
        vpp.start_again()?;
        Ok(vpp)
    }
}
