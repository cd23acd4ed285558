//! The ids of memif sockets, and VPP's counts of their users.

use crate::simulator::model::memif_address::complete;
use crate::simulator::model::pool::Pool;
use crate::simulator::model::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use usnet_vpp::ReturnCode;

/// The socket id that exists after a start.
pub(crate) const DEFAULT_SOCKET: u32 = 0;

#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) files: Pool<SocketFile>,
    /// The slot of each socket id.
    pub(crate) slots: BTreeMap<u32, u32>,
    pub(crate) random: Random,
}

/// A socket file and the interfaces on it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    pub(crate) name: String,
    /// VPP's count of the interfaces on the socket.
    pub(crate) references: i32,
    pub(crate) listens: bool,
    /// The ids of the interfaces. There is no set before the first and after the last interface by
    /// VPP's count.
    pub(crate) ids: Option<BTreeSet<u32>>,
    pub(crate) listener: Option<OwnedFd>,
}

impl SocketFile {
    const fn new(name: String) -> Self {
        Self { name, references: 0, listens: false, ids: None, listener: None }
    }
}

impl Sockets {
    pub(crate) fn new(runtime_directory: &Path) -> Self {
        let mut sockets = Self { files: Pool::default(), slots: BTreeMap::new(), random: Random::default() };
        sockets.insert(DEFAULT_SOCKET, format!("{}/memif.sock", runtime_directory.display()));
        sockets
    }

    fn insert(&mut self, socket_id: u32, name: String) {
        let slot = self.files.insert(SocketFile::new(name));
        self.slots.insert(socket_id, slot);
    }

    /// Adds a socket id. The file is not checked, but the folder of a relative name is created.
    pub(crate) fn add(&mut self, socket_id: u32, name: &str, runtime_directory: &Path) -> Result<(), ReturnCode> {
        if name.is_empty() {
            return Err(ReturnCode::InvalidArgument);
        }
        let full = complete(name, &runtime_directory.to_string_lossy());
        if full != name
            && let Some(folder) = Path::new(&full).parent()
        {
            std::fs::create_dir_all(folder).map_err(|_| ReturnCode::SyscallError1)?;
        }
        match self.slots.get(&socket_id).and_then(|slot| self.files.get(*slot)) {
            Some(file) if file.name == full => Ok(()),
            Some(_) => Err(ReturnCode::EntryAlreadyExists),
            None => {
                self.insert(socket_id, full);
                Ok(())
            }
        }
    }

    /// Removes a socket id if VPP counts no interface on it.
    pub(crate) fn remove(&mut self, socket_id: u32) -> Result<(), ReturnCode> {
        let slot = *self.slots.get(&socket_id).ok_or(ReturnCode::InvalidArgument)?;
        if self.files.get(slot).is_some_and(|file| file.references > 0) {
            return Err(ReturnCode::UnexpectedIntfState);
        }
        self.files.remove(slot);
        self.slots.remove(&socket_id);
        Ok(())
    }
}
