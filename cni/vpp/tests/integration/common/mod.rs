//! Helpers for tests against a real VPP and against a scripted one.

pub(crate) mod scripted;

use std::path::Path;
use std::time::Duration;
use usnet_test_vpp::Kind;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{CreateLoopbackInstance, SwInterfaceDetails, SwInterfaceDump};
use usnet_vpp::{Batch, messages};

/// A limit that is never reached if there is an answer.
pub(crate) const AMPLE: Duration = Duration::from_secs(30);
/// A limit that is short enough to be waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(100);

/// A real VPP.
pub(crate) struct Vpp(usnet_test_vpp::Vpp);

impl Vpp {
    /// Starts a VPP, if there is one on this machine.
    pub(crate) fn start() -> Option<Self> {
        Self::start_without(&[])
    }

    /// Starts a VPP that lacks some plugins.
    pub(crate) fn start_without(plugins: &[&str]) -> Option<Self> {
        let builder = usnet_test_vpp::Vpp::builder(Kind::Real.or_skip()?);
        let builder = plugins.iter().fold(builder, |builder, plugin| builder.without_plugin(plugin));
        Some(Self(builder.start().expect("VPP starts")))
    }

    pub(crate) fn start_again(&mut self) {
        self.0.start_again().expect("VPP starts");
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("kill");
    }

    /// Stops VPP, so that it hangs.
    pub(crate) fn pause(&self) {
        self.0.pause().expect("it runs");
    }

    pub(crate) fn resume(&self) {
        self.0.resume().expect("it runs");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.pid().expect("it runs")
    }

    pub(crate) fn socket(&self) -> &Path {
        self.0.socket()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.folder()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.socket(), AMPLE).expect("connect")
    }
}

pub(crate) fn interfaces(client: &mut Client) -> Vec<SwInterfaceDetails> {
    let mut batch = Batch::new();
    let dump = batch.dump(all_interfaces());
    client.send(&batch).expect("answers").details(dump).expect("interfaces")
}

pub(crate) fn all_interfaces() -> SwInterfaceDump {
    SwInterfaceDump { sw_if_index: messages::NO_INTERFACE, ..SwInterfaceDump::default() }
}

/// Returns a batch that creates a loopback interface.
pub(crate) fn loopback() -> Batch {
    let mut batch = Batch::new();
    batch.request(CreateLoopbackInstance::default());
    batch
}
