//! Waiting, accepting, reading and writing of all sockets. Only the wait blocks.

use crate::simulator::server::client::Client;
use crate::simulator::server::control::Controller;
use crate::simulator::server::thread::Server;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::Read;
use std::os::fd::AsFd;

impl Server {
    /// Waits for an event of a socket, unless messages are left from before.
    pub(crate) fn wait(&mut self) {
        let hangs = self.shared.faults().hang;
        let is_left = !hangs && self.clients.values().any(|client| client.has_messages());
        let timeout = if is_left { PollTimeout::ZERO } else { PollTimeout::NONE };
        let input = |socket| PollFd::new(socket, PollFlags::POLLIN);
        let mut sockets = vec![input(self.woken.as_fd()), input(self.control.as_fd()), input(self.listener.as_fd())];
        // VPP's main thread serves this socket, so that a hang affects it.
        sockets.extend((!hangs).then(|| input(self.stats.as_fd())));
        sockets.extend(self.controllers.iter().map(|controller| input(controller.stream.as_fd())));
        sockets.extend(self.clients.values().filter_map(|client| {
            let output = if client.has_to_write() { PollFlags::POLLOUT } else { PollFlags::empty() };
            let input = if client.is_closing { PollFlags::empty() } else { PollFlags::POLLIN };
            // Without any event of interest, poll would still report that the peer has closed the
            // connection.
            let wanted = input | output;
            (!wanted.is_empty()).then(|| PollFd::new(client.stream.as_fd(), wanted))
        }));
        // An interrupted wait only ends early.
        let _ready = poll(&mut sockets, timeout);
        drop(sockets);
        let _drained = self.woken.read(&mut self.buffer);
    }

    pub(crate) fn accept(&mut self) {
        while let Ok((stream, _)) = self.control.accept() {
            self.controllers.extend(Controller::new(stream));
        }
        while let Ok((stream, _)) = self.listener.accept() {
            if let Ok(client) = Client::new(stream) {
                self.clients.insert(self.next_client, client);
                self.next_client = self.next_client.wrapping_add(1);
            }
        }
        self.send_counters();
    }

    fn send_counters(&self) {
        while !self.shared.faults().hang
            && let Ok(client) = rustix::net::accept(&self.stats)
        {
            // The client may have closed the connection.
            let _sent = self.shared.stats.send(client.as_fd());
        }
    }

    pub(crate) fn read(&mut self) {
        self.controllers.retain_mut(Controller::read);
        let buffer = &mut self.buffer;
        self.clients.values_mut().for_each(|client| client.read(buffer));
    }

    pub(crate) fn write(&mut self) {
        let gone: Vec<u32> =
            self.clients.iter_mut().filter_map(|(index, client)| (!client.write()).then_some(*index)).collect();
        gone.into_iter().for_each(|client| self.disconnect(client));
    }
}
