//! An IPAM plugin under two names: `dhcp`, which usnet calls once the interface is connected, and
//! `pool`. A test can halt the plugin, and kill its caller meanwhile.

use crate::support;
use crate::support::ipam::PLUGINS;
use crate::support::wait::await_that;
use std::fs;
use std::path::Path;
use std::time::Duration;

const HOLD: &str = "/run/plugins/.hold";
const HELD: &str = "/run/plugins/.held";
const ENDED: &str = "/run/plugins/.ended";

/// The plugin. Each ADD assigns the next address.
const SCRIPT: &str = r#"read -r _ || true
if [ -e /run/plugins/.hold ]; then
  : >/run/plugins/.held
  while [ -e /run/plugins/.hold ]; do sleep 0.01; done
  : >/run/plugins/.ended
  exit 1
fi
if [ "$CNI_COMMAND" = ADD ]; then
  read -r last </run/plugins/.last || last=9
  echo $((last + 1)) >/run/plugins/.last
  echo "{\"cniVersion\": \"1.1.0\", \"ips\": [{\"address\": \"10.57.0.$((last + 1))/24\", \"gateway\": \"10.57.0.1\"}]}"
fi"#;

/// Installs the plugins; the next address is 10.57.0.`last` + 1.
pub(super) fn install(last: u8) {
    for name in ["dhcp", "pool"] {
        support::ipam::install(name, SCRIPT);
    }
    fs::write(format!("{PLUGINS}/.last"), format!("{last}\n")).unwrap();
}

/// Runs a call of the plugin until the IPAM plugin runs, and kills it there.
pub(super) fn kill_in_ipam(spawn: impl FnOnce() -> std::process::Child) {
    fs::write(HOLD, "").unwrap();
    let mut child = spawn();
    await_file(HELD);
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(HOLD).unwrap();
    // The plugin holds the attachment's lock until it ends.
    await_file(ENDED);
}

fn await_file(path: &str) {
    await_that(path, Duration::from_secs(20), || Path::new(path).exists());
    fs::remove_file(path).unwrap();
}
