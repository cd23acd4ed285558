//! What kind of VPP a test wants.

use crate::instance::Running;
use crate::{Error, Fault, Kind, Vpp, kind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// `sun_path` holds 108 bytes with the closing zero; VPP takes one less for memif.
const SOCKET_PATH_MAX: usize = 106;

/// Those of ports and policers, and the one that answers echo requests.
const PLUGINS: [&str; 6] = [
    "memif_plugin.so",
    "vhost_plugin.so",
    "af_packet_plugin.so",
    "vxlan_plugin.so",
    "policer_plugin.so",
    "ping_plugin.so",
];

/// What kind of VPP a test wants.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    kind: Kind,
    plugins: Vec<String>,
    faults: Vec<Fault>,
}

impl Builder {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, plugins: PLUGINS.map(str::to_owned).into(), faults: Vec::new() }
    }

    /// With a plugin more than the usual ones. The simulator has no other.
    pub fn plugin(mut self, file: &str) -> Self {
        self.plugins.push(file.to_owned());
        self
    }

    /// Without a plugin.
    pub fn without_plugin(mut self, file: &str) -> Self {
        self.plugins.retain(|plugin| plugin != file);
        if self.kind == Kind::Simulator {
            self.faults.push(Fault::WithoutPlugin(file.to_owned()));
        }
        self
    }

    /// With a fault from the start on, and again whenever it is started again. The real VPP has
    /// none to offer.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Starts it, and returns when it answers.
    ///
    /// # Errors
    /// When there is no such VPP, or it does not come up.
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
            prefix,
            socket,
            folder,
        };
        vpp.start_again()?;
        Ok(vpp)
    }
}
