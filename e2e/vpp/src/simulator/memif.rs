//! Shared memory interfaces, the numbers of their socket files, and how VPP miscounts those.

mod messages;

use super::address::{MemifAddress, complete};
use super::dispatch::Failure;
use super::interface::{Device, Interface};
use super::listener;
use super::pool::Pool;
use super::state::{Random, State};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{MemifCreateV2, MemifMode, MemifRole};

/// The socket id that VPP has from the start.
const DEFAULT_SOCKET: u32 = 0;

/// What is behind a memif.
#[derive(Debug)]
pub(super) struct Memif {
    id: u32,
    role: MemifRole,
    pub(super) mode: MemifMode,
    zero_copy: bool,
    socket_id: u32,
    /// Where its socket file was when it was made. Another one may be there now.
    slot: u32,
}

/// The numbers of socket files.
#[derive(Debug)]
pub(super) struct Sockets {
    files: Pool<SocketFile>,
    /// The slot of each socket id.
    slots: BTreeMap<u32, u32>,
    random: Random,
}

#[derive(Debug)]
struct SocketFile {
    name: String,
    /// How many interfaces use it, as VPP counts.
    references: i32,
    listens: bool,
    /// The numbers of its interfaces; nothing before the first and after the last one by VPP's count.
    ids: Option<BTreeSet<u32>>,
    listener: Option<OwnedFd>,
}

impl SocketFile {
    const fn new(name: String) -> Self {
        Self { name, references: 0, listens: false, ids: None, listener: None }
    }
}

impl Sockets {
    pub(super) fn new(runtime_directory: &Path) -> Self {
        let mut sockets = Self { files: Pool::default(), slots: BTreeMap::new(), random: Random::default() };
        sockets.insert(DEFAULT_SOCKET, format!("{}/memif.sock", runtime_directory.display()));
        sockets
    }

    fn insert(&mut self, socket_id: u32, name: String) {
        let slot = self.files.insert(SocketFile::new(name));
        self.slots.insert(socket_id, slot);
    }

    /// Adds a number. Nothing is asked of the file, but the folder of a relative name is made.
    fn add(&mut self, socket_id: u32, name: &str, runtime_directory: &Path) -> Result<(), ReturnCode> {
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

    /// Removes a number, if no interface uses it as VPP counts.
    fn remove(&mut self, socket_id: u32) -> Result<(), ReturnCode> {
        let slot = *self.slots.get(&socket_id).ok_or(ReturnCode::InvalidArgument)?;
        if self.files.get(slot).is_some_and(|file| file.references > 0) {
            return Err(ReturnCode::UnexpectedIntfState);
        }
        self.files.remove(slot);
        self.slots.remove(&socket_id);
        Ok(())
    }
}

impl State {
    /// Makes a memif. The index of a refusal is without meaning.
    fn create_memif(&mut self, asked: &MemifCreateV2) -> Result<u32, (Failure, u32)> {
        let refuse = |code: ReturnCode| (Failure::Refused(code), 0);
        if asked.ring_size != 0 && !asked.ring_size.is_power_of_two() {
            return Err(refuse(ReturnCode::InvalidArgument));
        }
        let is_server = asked.role == MemifRole::Master;
        let slot = self.sockets.slots.get(&asked.socket_id).copied();
        let file = slot.and_then(|slot| Some((slot, self.sockets.files.get_mut(slot)?)));
        let Some((slot, file)) = file else { return Err(refuse(ReturnCode::InvalidArgument)) };
        let taken = file.ids.as_ref().is_some_and(|ids| ids.contains(&asked.id));
        if file.references > 0 && (file.listens != is_server || taken) {
            return Err(refuse(ReturnCode::SubifAlreadyExists));
        }
        let name = format!("memif{}/{}", asked.socket_id, asked.id);
        if file.references == 0 {
            file.ids = Some(BTreeSet::new());
            file.listens = is_server;
        }
        let is_known_mode = matches!(asked.mode, MemifMode::Ethernet | MemifMode::Ip);
        if self.has_name(&name) || !is_known_mode {
            return Err((Failure::Fatal, 0));
        }
        let sw_if_index = self.add_memif(name, slot, asked);
        let listened = self.use_socket(slot, asked.id);
        listened.map(|()| sw_if_index).map_err(|code| {
            self.remove_interface(sw_if_index);
            (Failure::Refused(code), sw_if_index)
        })
    }

    fn add_memif(&mut self, name: String, slot: u32, asked: &MemifCreateV2) -> u32 {
        let role = if asked.role == MemifRole::Master { MemifRole::Master } else { MemifRole::Slave };
        let zero_copy = role == MemifRole::Slave && !asked.no_zero_copy;
        let memif = Memif { id: asked.id, role, mode: asked.mode, zero_copy, socket_id: asked.socket_id, slot };
        let mut interface = Interface::new(name, Device::Memif(memif));
        if asked.mode == MemifMode::Ethernet {
            interface.address = if asked.hw_addr == [0; 6] { self.new_address() } else { asked.hw_addr };
        }
        self.add_interface(interface)
    }

    /// Counts an interface more on a socket, and listens for the first one. VPP counts one down if that fails.
    fn use_socket(&mut self, slot: u32, id: u32) -> Result<(), ReturnCode> {
        let Some(file) = self.sockets.files.get_mut(slot) else { return Ok(()) };
        if file.listens && file.references == 0 {
            let bound = MemifAddress::parse(&file.name).and_then(|address| listener::for_memif(&address).ok());
            if bound.is_none() {
                file.references -= 1;
                return Err(ReturnCode::SyscallError4);
            }
            file.listener = bound;
        }
        file.references += 1;
        if let Some(ids) = &mut file.ids {
            ids.insert(id);
        }
        Ok(())
    }

    /// Removes a memif. The last one on a socket, as VPP counts, ends the listening and leaves the file.
    fn delete_memif(&mut self, sw_if_index: u32) -> Result<(), Failure> {
        let Device::Memif(Memif { slot, id, .. }) = self.interface(sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        };
        self.remove_interface(sw_if_index);
        let Some(file) = self.sockets.files.get_mut(slot) else { return Ok(()) };
        // VPP looks into memory that it has given back.
        let Some(ids) = &mut file.ids else { return Err(Failure::Fatal) };
        ids.remove(&id);
        file.references -= 1;
        if file.references == 0 {
            file.ids = None;
            file.listener = None;
        }
        Ok(())
    }
}
