//! dpdk-testpmd in a pod: its drivers for the interfaces of the pod, and its output.

/// The driver of testpmd for an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// vhost-user: testpmd listens, and the engine connects.
    VhostServer,
    /// vhost-user: the engine listens.
    VhostClient,
    /// memif with its socket in the pod's volume.
    Memif,
    /// memif with an abstract socket in the pod's network namespace, which needs no volume.
    MemifAbstract,
}

impl Driver {
    /// Whether the pod needs the volume `usnet`.
    pub(crate) fn needs_volume(self) -> bool {
        self != Self::MemifAbstract
    }

    /// Returns the commands before the program: DPDK does not listen on a socket that an earlier
    /// container of the pod has left.
    fn setup(self) -> &'static str {
        if self == Self::VhostServer { "rm -f /run/usnet/net1.sock\n" } else { "" }
    }

    /// Returns the functions `connected` and `back` of [`RECONNECTING`], for a pod with the socket
    /// in its volume.
    fn back(self) -> &'static str {
        match self {
            Self::VhostServer | Self::VhostClient => VHOST_BACK,
            Self::Memif | Self::MemifAbstract => MEMIF_BACK,
        }
    }

    /// Returns the argument of EAL for the interface `net<number>`.
    pub(crate) fn device(self, number: usize) -> String {
        let socket = format!("/run/usnet/net{number}.sock");
        match self {
            Self::VhostServer => format!("--vdev=net_virtio_user{number},path={socket},server=1"),
            Self::VhostClient => format!("--vdev=net_virtio_user{number},path={socket}"),
            Self::Memif => format!("--vdev=net_memif{number},role=client,id=0,socket={socket},socket-abstract=no"),
            Self::MemifAbstract => {
                format!("--vdev=net_memif{number},role=client,id=0,socket=net{number},socket-abstract=yes")
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) driver: Driver,
    /// The forwarding mode, such as `flowgen`, which sends, and counts received packets.
    pub(crate) mode: &'a str,
    /// Whether the port is restarted after an outage of the engine, which DPDK's drivers for memif
    /// and vhost-user need with VPP.
    pub(crate) reconnects: bool,
}

impl<'a> Program<'a> {
    /// Returns a program that does not handle outages of the engine.
    pub(crate) fn new(driver: Driver, mode: &'a str) -> Self {
        Self { driver, mode, reconnects: false }
    }

    /// Returns the command of a pod with this number of interfaces.
    pub(crate) fn command(&self, interfaces: usize) -> Vec<String> {
        let mut command: Vec<String> = match self.reconnects {
            true => vec![
                "sh".into(),
                "-c".into(),
                format!("{}{}{RECONNECTING}", self.driver.setup(), self.driver.back()),
                "sh".into(),
            ],
            false => Vec::new(),
        };
        let start = ["dpdk-testpmd", "--no-pci", "--no-huge", "--no-telemetry", "-l", "0,1", "-m", "64"];
        command.extend(start.map(Into::into));
        command.extend((1..=interfaces).map(|number| self.driver.device(number)));
        command.extend(["--".into(), format!("--forward-mode={}", self.mode)]);
        command.push(if self.reconnects { "--interactive" } else { "--stats-period=1" }.into());
        command.extend(["--auto-start", "--total-num-mbufs=2048", "--no-mlockall"].map(Into::into));
        command
    }
}

/// Runs an interactive testpmd, and types the commands that correspond to a link handler for the
/// return of the engine, which `back` detects for each driver. The start is repeated every five
/// seconds, in case it failed because of another outage; testpmd rejects it while it forwards.
/// DPDK's memif may exit with the engine: the next container may start before the engine, so its
/// first start fails.
const RECONNECTING: &str = r#"
mkfifo /tmp/typed
(
    exec >/tmp/typed
    turn=0
    until connected; do
        sleep 0.1
        turn=$((turn + 1))
        [ $((turn % 50)) != 0 ] || printf 'port start all\nstart\n'
    done
    while sleep 0.05; do
        turn=$((turn + 1))
        ! back || printf 'stop\nport stop all\nport start all\nstart\n'
        [ $((turn % 4)) != 0 ] || echo show port stats all
        [ $((turn % 100)) != 0 ] || printf 'port start all\nstart\n'
    done
) &
exec "$@" </tmp/typed
"#;

/// DPDK's memif connects when its port is started. The engine is back when the file of the socket
/// is new. A connected socket has the state 03 in `/proc/net/unix`.
const MEMIF_BACK: &str = r#"
connected() { grep -q ' 0005 03 ' /proc/net/unix; }
file() { stat -c '%i %Z' /run/usnet/net1.sock; }
tried=$(file)
back() {
    ! connected || return 1
    [ "$(file)" != "$tried" ] || [ $((turn % 20)) = 0 ] || return 1
    tried=$(file)
}
"#;

/// DPDK's virtio accepts the engine again by itself. But VPP waits for a kick of each ring, and
/// DPDK kicks the receive ring only when its port is started. DPDK has an internal socket, one that
/// listens, and one more while the engine is connected.
const VHOST_BACK: &str = r#"
connected() { [ "$(ls -l /proc/1/fd | grep -c socket:)" -ge 3 ]; }
lost=no
back() {
    if ! connected; then
        lost=yes
        return 1
    fi
    [ $lost = yes ] || return 1
    lost=no
}
"#;

/// Returns the count of received packets in a line of output. After a restart of its port, DPDK's
/// memif counts from below zero, which testpmd prints without a sign.
pub(crate) fn counter_in(line: &str) -> Option<i64> {
    let packets = line.split_once("RX-packets:")?.1.split_whitespace().next()?;
    // An interactive program may print its prompt within the line.
    Some(packets.parse::<u64>().ok()?.cast_signed())
}

/// Returns every count of received packets in a program's output, with the number of the port.
fn every_counter(log: &str) -> Vec<(u64, i64)> {
    let mut port = None;
    let mut found = Vec::new();
    for line in log.lines() {
        if let Some(rest) = line.split("NIC statistics for port ").nth(1) {
            port = rest.split_whitespace().next().and_then(|number| number.parse().ok());
        }
        if let (Some(port), Some(packets)) = (port, counter_in(line)) {
            found.push((port, packets));
        }
    }
    found
}

/// Returns the last count of each port in a program's output, in the order of the ports.
pub(crate) fn last_counters(log: &str) -> Vec<i64> {
    every_counter(log).into_iter().collect::<std::collections::BTreeMap<_, _>>().into_values().collect()
}

/// Returns the counts of received packets of a program with one port, one for each second.
pub(crate) fn counters(log: &str) -> Vec<i64> {
    every_counter(log).into_iter().map(|(_, count)| count).collect()
}

/// Returns the counts of received packets of a program with one port, one for each second, from the
/// first packet on. Panics if they decreased, as after a recreation of the port, or did not change
/// for longer than a program may not run on a busy machine.
#[track_caller]
pub(crate) fn flowing_counters(log: &str) -> Vec<i64> {
    const STALL_SECONDS: usize = 3;
    let flowing: Vec<i64> = counters(log).into_iter().skip_while(|count| *count == 0).collect();
    assert!(flowing.is_sorted(), "the counter decreased: {flowing:?}");
    let is_stalled = flowing.windows(STALL_SECONDS + 1).any(|counts| counts.first() == counts.last());
    assert!(!is_stalled, "the counter did not change for {STALL_SECONDS} s: {flowing:?}");
    flowing
}
