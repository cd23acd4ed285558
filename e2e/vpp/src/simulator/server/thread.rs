//! The thread of a simulated VPP: it reads, executes and answers one message after the other, as
//! VPP's main thread does.

use crate::Error;
use crate::simulator::model::state::State;
use crate::simulator::server::client::Client;
use crate::simulator::server::control::{Command, Controller};
use crate::simulator::server::listen::{READ_SIZE, listen, listen_for_packets};
use crate::simulator::server::shared::Shared;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use usnet_vpp::messages::{IfStatusFlags, SwInterfaceEvent};
use usnet_vpp::wire::Envelope;

/// The index of VPP's first client.
const FIRST_CLIENT: u32 = 0x8000_0001;

pub(crate) struct Server {
    folder: PathBuf,
    socket: PathBuf,
    pub(crate) shared: Arc<Shared>,
    /// Readable when the test has changed something.
    pub(crate) woken: UnixStream,
    pub(crate) control: UnixListener,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) listener: UnixListener,
    /// The socket at which clients get the memory of the counters.
    pub(crate) stats: OwnedFd,
    /// The key is the client index.
    pub(crate) clients: BTreeMap<u32, Client>,
    pub(crate) next_client: u32,
    pub(crate) state: State,
    /// The number of restarts.
    pub(crate) restarts: u16,
    pub(crate) buffer: Vec<u8>,
}

impl Server {
    /// Binds the sockets, and replaces files that an earlier VPP left.
    pub(crate) fn bind(folder: &Path, socket: &Path, shared: Arc<Shared>, woken: UnixStream) -> Result<Self, Error> {
        let (control, stats) = (folder.join("control.sock"), folder.join("stats.sock"));
        Ok(Self {
            state: State::new(folder, shared.stats.clone()),
            folder: folder.to_owned(),
            socket: socket.to_owned(),
            shared,
            woken,
            control: listen(&control).map_err(Error::file(control))?,
            controllers: Vec::new(),
            listener: listen(socket).map_err(Error::file(socket))?,
            stats: listen_for_packets(&stats).map_err(Error::file(stats))?,
            clients: BTreeMap::new(),
            next_client: FIRST_CLIENT,
            restarts: 0,
            buffer: vec![0; READ_SIZE],
        })
    }

    /// Serves clients until a fault or the test ends it.
    pub(crate) fn run(mut self) {
        while !self.shared.is_stopped() && self.step().is_continue() {}
    }

    /// Waits for events and handles them. It breaks when VPP is to end.
    fn step(&mut self) -> ControlFlow<()> {
        self.wait();
        self.accept();
        self.read();
        self.run_commands()?;
        self.run_messages()?;
        self.send_events();
        self.write();
        ControlFlow::Continue(())
    }

    /// Executes the commands of the control socket.
    fn run_commands(&mut self) -> ControlFlow<()> {
        for index in 0..self.controllers.len() {
            while let Some(command) = self.controllers.get_mut(index).and_then(Controller::next_command) {
                let done = self.run_command(command);
                if let Some(controller) = self.controllers.get_mut(index) {
                    controller.answer("ok");
                }
                done?;
            }
        }
        ControlFlow::Continue(())
    }

    fn run_command(&mut self, command: Command) -> ControlFlow<()> {
        match command {
            Command::Fault(fault) => self.shared.faults().add(fault),
            Command::ClearFaults => self.shared.faults().clear(),
            Command::Restart => return self.restart(),
            Command::Die => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Ends VPP and starts it again, with a new socket file and other message ids.
    pub(crate) fn restart(&mut self) -> ControlFlow<()> {
        // This comes first, so that a client that sees its connection end connects to the new
        // socket.
        match listen(&self.socket) {
            Ok(listener) => self.listener = listener,
            Err(_) => return ControlFlow::Break(()),
        }
        self.state = State::new(&self.folder, self.shared.stats.clone());
        self.restarts = self.restarts.wrapping_add(1);
        self.clients.clear();
        ControlFlow::Continue(())
    }

    pub(crate) fn disconnect(&mut self, client: u32) {
        self.state.subscribers.remove(&client);
        if let Some(mut client) = self.clients.remove(&client) {
            // Answers that were queued before are still sent.
            let _gone = client.write();
        }
    }

    /// Sends interface events to their subscribers.
    fn send_events(&mut self) {
        for (sw_if_index, event) in std::mem::take(&mut self.state.events) {
            let up = if event.admin_up { IfStatusFlags::ADMIN_UP } else { IfStatusFlags::default() };
            let linked = if event.link_up { IfStatusFlags::LINK_UP } else { IfStatusFlags::default() };
            for (client_index, pid) in &self.state.subscribers {
                let client = self.clients.get_mut(client_index);
                let found = client.and_then(|client| {
                    let id = client.table.as_ref()?.id_of::<SwInterfaceEvent>()?;
                    Some((client, id))
                });
                let Some((client, id)) = found else { continue };
                let envelope = Envelope { client_index: *client_index, context: 0 };
                let reported = SwInterfaceEvent { pid: *pid, sw_if_index, flags: up | linked, deleted: event.deleted };
                client.send(id, envelope, &reported);
            }
        }
    }
}

impl Drop for Server {
    /// This precedes the end of the sockets: a client that sees their end also sees that VPP does
    /// not run.
    fn drop(&mut self) {
        self.shared.ended();
    }
}
