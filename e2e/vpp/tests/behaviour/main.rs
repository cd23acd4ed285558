//! The behaviour of VPP, checked on the simulator and, when there is one, on a real VPP. The
//! simulator may differ in behaviour that is not checked here.
//!
//! Some checks make a real VPP crash, and say so: that is the behaviour of VPP 26.06.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod access_lists;
mod bridges;
mod classify;
mod connection;
mod events;
mod faults;
mod features;
mod interfaces;
mod miscount;
mod neighbours;
mod policers;
mod ports;
mod program;
mod raw;
mod stats;

use std::path::PathBuf;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    CreateLoopbackInstance, MemifCreateV2, MemifDelete, MemifDetails, MemifDump, MemifSocketFilenameAddDelV2,
    NO_INTERFACE, SwInterfaceDetails, SwInterfaceDump,
};
use usnet_vpp::{Batch, Dump, Error, ReplyError, Request, ReturnCode};

/// Runs a check on a new simulator and, if there is one, on a new real VPP.
fn on_each(check: impl Fn(&mut Fixture)) {
    for kind in Kind::available() {
        check(&mut Fixture::start(kind));
    }
}

/// A VPP with a client.
struct Fixture {
    vpp: Vpp,
    client: Client,
}

impl Fixture {
    fn start(kind: Kind) -> Self {
        Self::of(Vpp::start(kind).expect("start"))
    }

    fn of(vpp: Vpp) -> Self {
        let client = vpp.client().expect("client");
        Self { vpp, client }
    }

    /// Returns a path in VPP's folder.
    fn path(&self, name: &str) -> String {
        self.vpp.folder().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn exists(&self, name: &str) -> bool {
        PathBuf::from(self.path(name)).exists()
    }

    /// Sends one request.
    fn request<R: Request>(&mut self, request: R) -> Result<R::Reply, ReturnCode> {
        self.try_request(request).expect("an answer")
    }

    /// Sends one request. An error means that VPP does not answer.
    fn try_request<R: Request>(&mut self, request: R) -> Result<Result<R::Reply, ReturnCode>, Error> {
        let mut batch = Batch::new();
        let ticket = batch.request(request);
        Ok(match self.client.send(&batch)?.reply(ticket) {
            Ok(reply) => Ok(reply),
            Err(ReplyError::Refused { code, .. }) => Err(code),
            Err(other) => panic!("{other}"),
        })
    }

    /// Sends a request that ends VPP.
    fn request_fatal(&mut self, request: impl Request) {
        assert!(self.try_request(request).is_err(), "it was answered");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.vpp.is_running() {
            assert!(std::time::Instant::now() < end, "it still runs");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn dump<D: Dump>(&mut self, dump: D) -> Vec<D::Details> {
        let mut batch = Batch::new();
        let ticket = batch.dump(dump);
        self.client.send(&batch).expect("answers").details(ticket).expect("details")
    }

    fn interfaces(&mut self) -> Vec<SwInterfaceDetails> {
        self.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() })
    }

    fn interface(&mut self, sw_if_index: u32) -> SwInterfaceDetails {
        self.interfaces().into_iter().find(|found| found.sw_if_index == sw_if_index).expect("the interface")
    }

    fn memifs(&mut self) -> Vec<MemifDetails> {
        self.dump(MemifDump {})
    }

    fn loopback(&mut self) -> u32 {
        self.request(CreateLoopbackInstance::default()).expect("loopback").sw_if_index
    }

    fn add_socket(&mut self, socket_id: u32, name: &str) -> Result<(), ReturnCode> {
        let add = MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename: name.into() };
        self.request(add).map(drop)
    }

    fn delete_socket(&mut self, socket_id: u32) -> Result<(), ReturnCode> {
        self.request(MemifSocketFilenameAddDelV2 { socket_id, ..MemifSocketFilenameAddDelV2::default() }).map(drop)
    }

    fn create_memif(&mut self, socket_id: u32, id: u32) -> Result<u32, ReturnCode> {
        self.request(memif(socket_id, id)).map(|reply| reply.sw_if_index)
    }

    fn delete_memif(&mut self, sw_if_index: u32) -> Result<(), ReturnCode> {
        self.request(MemifDelete { sw_if_index }).map(drop)
    }
}

/// Returns the request for a memif.
fn memif(socket_id: u32, id: u32) -> MemifCreateV2 {
    MemifCreateV2 { socket_id, id, ..MemifCreateV2::default() }
}
