//! `usnet node capture`: copies the frames of an interface to a file, for Wireshark and tcpdump.
//!
//! 1. [`target`] finds the attachment; the locks of [`lease`](usnet_dataplane::capture::lease) keep
//!    other processes from capturing it.
//! 2. The engine connects to a vhost-user socket of this process, and sends copies there.
//! 3. [`session`] writes them as [`pcapng`] to [`output`], until a limit is reached or [`stop`]
//!    receives a request to stop; [`progress`] tells the user meanwhile that it works.
//! 4. What was created is removed, and then the connection is closed: DPDK may use freed memory if
//!    the other end of a port closes while the engine removes the port. If this process is killed,
//!    the agent removes what is left.

mod output;
mod progress;
mod session;
mod stop;
mod target;

use output::{Output, Written};
use progress::Progress;
use session::{Bounds, CaptureHost, Copied, End, Session};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use stop::StopRequests;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::capture::lease::{Description, Lease, Leased, Leases};
use usnet_dataplane::capture::{CAPTURES_MAX, Capture, Captures, Direction};
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::paths::NodePaths;
use usnet_endpoint::vhost_user::{Endpoint, Listener};
use usnet_node_output::capture::{DirectionOption, Limits};
use usnet_node_output::pcapng;

/// How long the engine may take to connect. VPP tries every 3 s.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the user waits before a line says what for.
const QUIET: Duration = Duration::from_secs(2);
/// How often it is checked whether the interface is still attached.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Options of `usnet node capture`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The pod, as namespace and name.
    #[arg(value_name = "NAMESPACE/POD")]
    pod: String,
    /// The interface of the pod, such as net1.
    interface: String,
    /// The file to write the frames to, in the format pcapng; - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
    #[command(flatten)]
    limits: Limits,
    /// Stop when standard input ends, as it does when a remote client has gone.
    #[arg(long)]
    until_stdin_ends: bool,
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the attachments of this node from {}", path.display())]
    Attachments { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("pod {pod} has no attached interface of usnet on this node: kubectl usnet explain pod {pod}")]
    NoPod { pod: String },
    #[error("pod {pod} has no interface {interface} of usnet: it has {}", names.join(", "))]
    NoInterface { pod: String, interface: String, names: Vec<String> },
    /// VPP passes packets without Ethernet headers on such an interface.
    #[error(
        "interface {interface} of pod {pod} is a memif in IP mode, which has no Ethernet frames: it cannot be captured"
    )]
    NoFrames { pod: String, interface: String },
    #[error("interface {interface} of pod {pod} is captured already: stop the other capture first")]
    PortBusy { pod: String, interface: String },
    #[error("{CAPTURES_MAX} captures run on this node, which is the maximum: stop one of them first")]
    TooMany,
    #[error("frames are not written to a terminal: use --write FILE, or pipe the output into a program")]
    Terminal,
    #[error("cannot write to {}", path.display())]
    Output { path: PathBuf, source: io::Error },
    #[error("cannot use the folder of captures")]
    Lease(#[from] usnet_dataplane::capture::lease::Error),
    #[error("cannot lock the attachment")]
    Journal(#[from] journal::Error),
    #[error("cannot receive signals")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Engine(#[from] usnet_dataplane::capture::Error),
    #[error("cannot receive frames")]
    Endpoint(#[from] usnet_endpoint::Error),
    #[error("{engine} did not connect to {} within {} s: it has to see that folder at this path, as it sees the sockets of pods", socket.display(), CONNECT_TIMEOUT.as_secs())]
    NotConnected { engine: EngineKind, socket: PathBuf },
    #[error("the capture failed")]
    Session(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Captures, and prints a summary on standard error.
pub(crate) fn run(paths: &NodePaths, options: &Options) -> Result<(), Error> {
    if options.write == Path::new("-") && io::stdout().is_terminal() {
        return Err(Error::Terminal);
    }
    let mut stop = StopRequests::new(options.until_stdin_ends).map_err(Error::Signals)?;
    let record = target::find(paths, &options.pod, &options.interface)?;
    let lease = lease(paths, &record)?;
    let failed = |source| Error::Output { path: options.write.clone(), source };
    let mut output = Output::open(&options.write).map_err(failed)?;
    let engine = Captures::new(record.engine, paths.engine_socket(record.engine));
    let journal = Journal::open(paths)?;
    let listener = Listener::bind(&lease.socket())?;
    lease.describe(&Description::from(&record))?;
    let run = CaptureRun { paths, options, record: &record, lease: &lease, engine: &engine, journal: &journal };
    let mut connection = None;
    let result = run.connect(&listener, &mut stop).and_then(|connected| match connected {
        Some(connected) => run.copy(connection.insert(connected), &mut output, &mut stop),
        None => {
            output.write(&run.header(), || false).map_err(failed)?;
            Ok("nothing captured: a stop was requested before the engine was connected".to_owned())
        }
    });
    // If the engine does not answer any more, the agent removes what is left.
    let stopped = engine.stop(lease.number());
    drop((connection, listener));
    if stopped.is_ok() {
        lease.finish()?;
    }
    let said = result?;
    let _written = writeln!(io::stderr(), "usnet: {said}");
    stopped.map(drop).map_err(Error::from)
}

fn lease(paths: &NodePaths, record: &Record) -> Result<Lease, Error> {
    match Leases::new(paths).take(&record.port.name)? {
        Leased::Granted(lease) => Ok(lease),
        Leased::PortBusy => {
            Err(Error::PortBusy { pod: record.pod.to_string(), interface: record.id.interface.to_string() })
        }
        Leased::TooMany => Err(Error::TooMany),
    }
}

/// The input of one capture.
#[derive(Clone, Copy)]
struct CaptureRun<'a> {
    paths: &'a NodePaths,
    options: &'a Options,
    record: &'a Record,
    lease: &'a Lease,
    engine: &'a Captures,
    journal: &'a Journal,
}

impl CaptureRun<'_> {
    /// Starts the capture, and waits until the engine has connected; none if the user stops it
    /// before.
    fn connect(&self, listener: &Listener, stop: &mut StopRequests) -> Result<Option<Endpoint>, Error> {
        let Self { paths, record, lease, .. } = *self;
        admit_engine(&lease.socket(), &paths.engine_socket(record.engine))
            .map_err(|source| Error::Output { path: lease.socket(), source })?;
        self.start()?;
        accept(listener, stop, record.engine).map_err(|error| match error {
            usnet_endpoint::Error::NotConnected { path } => Error::NotConnected { engine: record.engine, socket: path },
            other => other.into(),
        })
    }

    /// Copies frames until the capture ends. Returns the summary for users.
    fn copy(&self, port: &mut Endpoint, output: &mut Output, stop: &mut StopRequests) -> Result<String, Error> {
        let Self { options, record, lease, engine, journal, .. } = *self;
        let limits = &options.limits;
        let now = Instant::now();
        let until = now + Duration::from_secs(limits.seconds);
        let failed = |source| Error::Output { path: options.write.clone(), source };
        let bounds =
            Bounds { frames: limits.count, bytes: limits.bytes, until, snaplen: limits.snaplen.map(usize::from) };
        let copied = match output.write(&self.header(), || Instant::now() < until).map_err(failed)? {
            Written::All => {
                let progress = Progress::from(now);
                let host = NodeHost { stop, journal, record, next_poll: now + POLL_INTERVAL, progress };
                let mut session = Session { output: &mut *output, bounds, host };
                session.copy(port).map_err(|error| Error::Session(Box::new(error)))?
            }
            Written::ReaderGone | Written::GaveUp => Copied { frames: 0, end: End::ReaderGone },
        };
        let lost = engine.lost(lease.number());
        if !matches!(copied.end, End::ReaderGone) {
            let mut statistics = Vec::new();
            pcapng::statistics(&mut statistics, SystemTime::now(), copied.frames, lost);
            // The frames are complete without the statistics.
            let _written = output.write(&statistics, || false);
        }
        Ok(summary(copied, lost))
    }

    /// The start of the file, which makes it one that Wireshark reads.
    fn header(&self) -> Vec<u8> {
        let interface = format!("{} {}", self.record.pod, self.record.id.interface);
        pcapng::header(&interface, self.options.limits.snaplen.map_or(0, u32::from))
    }

    fn request(&self) -> Capture {
        let Self { options: Options { limits, .. }, record, lease, .. } = *self;
        let direction = match limits.direction {
            DirectionOption::Received => Direction::Received,
            DirectionOption::Sent => Direction::Sent,
            DirectionOption::Both => Direction::Both,
        };
        Capture {
            number: lease.number(),
            port: record.port.name.clone(),
            socket: lease.socket(),
            direction,
            snaplen: limits.snaplen,
        }
    }

    /// Starts the capture while the attachment is locked, so that its port is not removed
    /// meanwhile.
    fn start(&self) -> Result<(), Error> {
        let Self { record, engine, journal, .. } = *self;
        let locked = journal.lock(&record.id)?;
        let is_same = locked.read()?.is_some_and(|now| now.progress == record.progress && now.port == record.port);
        if !is_same {
            return Err(Error::NoPod { pod: record.pod.to_string() });
        }
        Ok(engine.start(&self.request(), &PortOwner::new(&record.network, &record.id))?)
    }
}

fn summary(Copied { frames, end }: Copied, lost: Option<u64>) -> String {
    let lost = match lost {
        Some(lost) if lost > 0 => format!(", and {lost} lost because they came too quickly"),
        Some(_) => ", none lost as far as the engine has counted".to_owned(),
        None => String::new(),
    };
    format!("{frames} frames captured{lost}; the capture ended: {end}")
}

/// Lets an engine that runs as another user connect.
fn admit_engine(socket: &Path, control_socket: &Path) -> io::Result<()> {
    let is_of_root = std::fs::metadata(control_socket).is_ok_and(|found| found.uid() == 0);
    if is_of_root {
        return Ok(());
    }
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))
}

/// Waits for the engine; none if the user stops the capture.
fn accept(
    listener: &Listener,
    stop: &mut StopRequests,
    engine: EngineKind,
) -> Result<Option<Endpoint>, usnet_endpoint::Error> {
    let start = Instant::now();
    let end = start + CONNECT_TIMEOUT;
    let mut is_quiet = true;
    loop {
        match listener.accept(Duration::from_millis(200)) {
            // A connection that breaks at once belongs to the port of an earlier capture.
            Err(usnet_endpoint::Error::NotConnected { .. } | usnet_endpoint::Error::Negotiation { .. })
                if Instant::now() < end => {}
            accepted => return accepted.map(Some),
        }
        if stop.is_requested() {
            return Ok(None);
        }
        if is_quiet && start.elapsed() > QUIET {
            is_quiet = false;
            let _written = writeln!(io::stderr(), "usnet: waiting for {engine} to connect");
        }
    }
}

/// The host of a capture on this node.
struct NodeHost<'a> {
    stop: &'a mut StopRequests,
    journal: &'a Journal,
    record: &'a Record,
    next_poll: Instant,
    progress: Progress,
}

impl CaptureHost for NodeHost<'_> {
    fn is_stop_requested(&mut self) -> bool {
        self.stop.is_requested()
    }

    fn is_attached(&mut self) -> bool {
        if Instant::now() < self.next_poll {
            return true;
        }
        self.next_poll = Instant::now() + POLL_INTERVAL;
        target::is_attached(self.journal, self.record)
    }

    fn report_progress(&mut self, frames: u64) {
        if let Some(line) = self.progress.line(frames, Instant::now()) {
            // Standard error may be closed.
            let _written = writeln!(io::stderr(), "usnet: {line}");
        }
    }
}
