//! What the tests against a real VPP and against a scripted one share.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

pub mod scripted;

use std::path::Path;
use std::time::Duration;
use usnet_test_vpp::Kind;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{CreateLoopbackInstance, SwInterfaceDetails, SwInterfaceDump};
use usnet_vpp::{Batch, messages};

/// Long enough never to be reached if there is an answer.
pub const AMPLE: Duration = Duration::from_secs(30);
/// Short enough to wait for if there is none.
pub const SHORT: Duration = Duration::from_millis(100);

/// A real VPP.
pub struct Vpp(usnet_test_vpp::Vpp);

impl Vpp {
    /// Starts one, if there is one on this machine.
    pub fn start() -> Option<Self> {
        Self::start_without(&[])
    }

    /// Starts one that lacks some plugins.
    pub fn start_without(plugins: &[&str]) -> Option<Self> {
        let builder = usnet_test_vpp::Vpp::builder(Kind::Real.or_skip()?);
        let builder = plugins.iter().fold(builder, |builder, plugin| builder.without_plugin(plugin));
        Some(Self(builder.start().expect("VPP starts")))
    }

    /// Starts it again after [`Self::kill`].
    pub fn start_again(&mut self) {
        self.0.start_again().expect("VPP starts");
    }

    /// Kills it, as a crash does.
    pub fn kill(&mut self) {
        self.0.kill().expect("kill");
    }

    /// Stops it, so that it hangs.
    pub fn pause(&self) {
        self.0.pause().expect("it runs");
    }

    pub fn resume(&self) {
        self.0.resume().expect("it runs");
    }

    pub fn pid(&self) -> u32 {
        self.0.pid().expect("it runs")
    }

    pub fn socket(&self) -> &Path {
        self.0.socket()
    }

    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    pub fn client(&self) -> Client {
        Client::connect(self.socket(), AMPLE).expect("connect")
    }
}

/// All interfaces.
pub fn interfaces(client: &mut Client) -> Vec<SwInterfaceDetails> {
    let mut batch = Batch::new();
    let dump = batch.dump(all_interfaces());
    client.send(&batch).expect("answers").details(dump).expect("interfaces")
}

pub fn all_interfaces() -> SwInterfaceDump {
    SwInterfaceDump { sw_if_index: messages::NO_INTERFACE, ..SwInterfaceDump::default() }
}

/// A batch that creates a loopback interface.
pub fn loopback() -> Batch {
    let mut batch = Batch::new();
    batch.request(CreateLoopbackInstance::default());
    batch
}
