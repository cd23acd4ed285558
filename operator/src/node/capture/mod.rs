//! `usnet node capture`: copies the frames of an interface to a file, for Wireshark and tcpdump.
//!
//! 1. [`target`] finds the attachment; the locks of [`lease`](usnet_dataplane::capture::lease) keep
//!    other processes from capturing it.
//! 2. The engine connects to a vhost-user socket of this process, and sends copies there.
//! 3. [`session`] copies them as [`pcapng`] to [`output`], until a bound is reached or one of the
//!    requests of [`stop`] comes.
//! 4. What was created is removed. If this process is killed, the agent does it.

mod output;
mod pcapng;
mod session;
mod stop;
mod target;

use clap::ValueEnum;
use output::{Output, Written};
use session::{Bounds, Copied, End, Session, Surroundings};
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

/// How long the engine may take to connect. VPP tries every 3 s.
const CONNECT: Duration = Duration::from_secs(10);
/// How often is looked whether the interface is still attached.
const LOOK: Duration = Duration::from_secs(1);

/// Options of `usnet node capture`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The pod.
    #[arg(value_name = "NAMESPACE/POD")]
    pod: String,
    /// Its interface, such as net1.
    interface: String,
    /// Where the frames are written, as pcapng; - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    write: PathBuf,
    #[command(flatten)]
    limits: Limits,
    /// End when standard input ends, as it does when a remote client has gone.
    #[arg(long)]
    until_stdin_ends: bool,
}

/// What is captured, and when a capture ends by itself.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Limits {
    /// End after so many frames.
    #[arg(long, value_name = "FRAMES", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// End after so many seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// End after so many bytes of frames.
    #[arg(long, default_value_t = 64 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,
    /// Capture only the first bytes of each frame.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(14..))]
    snaplen: Option<u16>,
    /// Which frames.
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionOption,
}

/// Which frames are captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum DirectionOption {
    /// What the pod receives.
    Received,
    /// What the pod sends.
    Sent,
    /// Both.
    #[default]
    Both,
}

impl Limits {
    /// As arguments of this command.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let direction = match self.direction {
            DirectionOption::Received => "received",
            DirectionOption::Sent => "sent",
            DirectionOption::Both => "both",
        };
        let numbers = [("--count", self.count), ("--seconds", self.seconds), ("--bytes", self.bytes)];
        let snaplen = self.snaplen.map(|snaplen| ("--snaplen", u64::from(snaplen)));
        let numbers = numbers.into_iter().chain(snaplen);
        let numbers = numbers.flat_map(|(name, value)| [name.to_owned(), value.to_string()]);
        numbers.chain(["--direction".to_owned(), direction.to_owned()]).collect()
    }
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The records cannot be read.
    #[error("cannot read the attachments of this node from {}", path.display())]
    Attachments {
        /// The folder of records.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The pod is not attached here.
    #[error("pod {pod} has no attached interface of usnet on this node: kubectl usnet explain pod {pod}")]
    NoPod {
        /// The pod.
        pod: String,
    },
    /// The pod has no such interface.
    #[error("pod {pod} has no interface {interface} of usnet: it has {}", names.join(", "))]
    NoInterface {
        /// The pod.
        pod: String,
        /// The interface.
        interface: String,
        /// Its interfaces.
        names: Vec<String>,
    },
    /// VPP passes packets without Ethernet headers there.
    #[error(
        "interface {interface} of pod {pod} is a memif in IP mode, which has no Ethernet frames: it cannot be captured"
    )]
    NoFrames {
        /// The pod.
        pod: String,
        /// The interface.
        interface: String,
    },
    /// Another program captures it.
    #[error("interface {interface} of pod {pod} is captured already: end the other capture first")]
    PortBusy {
        /// The pod.
        pod: String,
        /// The interface.
        interface: String,
    },
    /// There are as many captures as may be.
    #[error("{CAPTURES_MAX} captures run on this node, which is the most: end one of them first")]
    TooMany,
    /// A terminal cannot show frames.
    #[error("frames are not written to a terminal: use --write FILE, or pipe the output into a program")]
    Terminal,
    /// The output cannot be created or written.
    #[error("cannot write to {}", path.display())]
    Output {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The locks of captures cannot be used.
    #[error("cannot use the folder of captures")]
    Lease(#[from] usnet_dataplane::capture::lease::Error),
    /// The attachment cannot be locked.
    #[error("cannot lock the attachment")]
    Journal(#[from] journal::Error),
    /// The signals cannot be received.
    #[error("cannot receive signals")]
    Signals(#[source] io::Error),
    /// The engine did not start or end it.
    #[error(transparent)]
    Engine(#[from] usnet_dataplane::capture::Error),
    /// The socket of the capture cannot be used.
    #[error("cannot receive frames")]
    Endpoint(#[from] usnet_endpoint::Error),
    /// The engine did not connect.
    #[error("{engine} did not connect to {} within {} s: it has to see that folder at this path, as it sees the sockets of pods", socket.display(), CONNECT.as_secs())]
    NotConnected {
        /// Which engine.
        engine: EngineKind,
        /// The socket.
        socket: PathBuf,
    },
    /// Copying failed.
    #[error("the capture failed")]
    Session(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Captures, and says on standard error what was captured.
///
/// # Errors
/// When it does not start, or fails.
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
    lease.describe(&Description::from(&record))?;
    let result = capture(paths, options, (&record, &lease, &engine), (&mut output, &mut stop));
    // The agent removes what is left, if the engine does not answer any more.
    let stopped = engine.stop(lease.number());
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

/// Starts and copies. Returns what to say about it.
fn capture(
    paths: &NodePaths,
    options: &Options,
    (record, lease, engine): (&Record, &Lease, &Captures),
    (output, stop): (&mut Output, &mut StopRequests),
) -> Result<String, Error> {
    let limits = &options.limits;
    let until = Instant::now() + Duration::from_secs(limits.seconds);
    let listener = Listener::bind(&lease.socket())?;
    let failed = |source| Error::Output { path: options.write.clone(), source };
    admit_engine(&lease.socket(), &paths.engine_socket(record.engine)).map_err(failed)?;
    let journal = Journal::open(paths)?;
    start(&journal, record, engine, &request(record, lease, limits))?;
    let Some(mut port) = accept(&listener, stop).map_err(|error| match error {
        usnet_endpoint::Error::NotConnected { path, .. } => Error::NotConnected { engine: record.engine, socket: path },
        other => other.into(),
    })?
    else {
        return Ok("nothing captured: it was requested to end before the engine was connected".to_owned());
    };
    let interface = format!("{} {}", record.pod, record.id.interface);
    let header = pcapng::header(&interface, limits.snaplen.map_or(0, u32::from));
    let bounds = Bounds { frames: limits.count, bytes: limits.bytes, until, snaplen: limits.snaplen.map(usize::from) };
    let copied = match output.write(&header, || Instant::now() < until).map_err(failed)? {
        Written::All => {
            let surroundings = OnNode { stop, journal: &journal, record, next_look: Instant::now() + LOOK };
            let mut session = Session { output: &mut *output, bounds, surroundings };
            session.copy(&mut port).map_err(|error| Error::Session(Box::new(error)))?
        }
        Written::ReaderGone | Written::GaveUp => Copied { frames: 0, end: End::ReaderGone },
    };
    let lost = engine.lost(lease.number());
    if !matches!(copied.end, End::ReaderGone) {
        let mut statistics = Vec::new();
        pcapng::statistics(&mut statistics, SystemTime::now(), copied.frames, lost);
        // The frames are there without it.
        let _written = output.write(&statistics, || false);
    }
    Ok(summary(copied, lost))
}

fn summary(Copied { frames, end }: Copied, lost: Option<u64>) -> String {
    let lost = match lost {
        Some(lost) if lost > 0 => format!(", and {lost} lost because they came too quickly"),
        Some(_) => ", none lost as far as the engine has counted".to_owned(),
        None => String::new(),
    };
    format!("{frames} frames captured{lost}; the capture ended: {end}")
}

fn request(record: &Record, lease: &Lease, limits: &Limits) -> Capture {
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

/// Starts while the attachment is locked, so that its port is not removed meanwhile.
fn start(journal: &Journal, record: &Record, engine: &Captures, capture: &Capture) -> Result<(), Error> {
    let locked = journal.lock(&record.id)?;
    let is_same = locked.read()?.is_some_and(|now| now.progress == record.progress && now.port == record.port);
    if !is_same {
        return Err(Error::NoPod { pod: record.pod.to_string() });
    }
    Ok(engine.start(capture, &PortOwner::new(&record.network, &record.id))?)
}

/// An engine that runs as another user has to be able to connect.
fn admit_engine(socket: &Path, control_socket: &Path) -> io::Result<()> {
    let is_of_root = std::fs::metadata(control_socket).is_ok_and(|found| found.uid() == 0);
    if is_of_root {
        return Ok(());
    }
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))
}

/// Waits for the engine; none if the user has enough of it.
fn accept(listener: &Listener, stop: &mut StopRequests) -> Result<Option<Endpoint>, usnet_endpoint::Error> {
    let end = Instant::now() + CONNECT;
    loop {
        match listener.accept(Duration::from_millis(200)) {
            // A connection that breaks at once is of an earlier capture's port.
            Err(usnet_endpoint::Error::NotConnected { .. } | usnet_endpoint::Error::Negotiation { .. })
                if Instant::now() < end => {}
            accepted => return accepted.map(Some),
        }
        if stop.is_requested() {
            return Ok(None);
        }
    }
}

/// What a capture depends on.
struct OnNode<'a> {
    stop: &'a mut StopRequests,
    journal: &'a Journal,
    record: &'a Record,
    next_look: Instant,
}

impl Surroundings for OnNode<'_> {
    fn is_stop_requested(&mut self) -> bool {
        self.stop.is_requested()
    }

    fn is_attached(&mut self) -> bool {
        if Instant::now() < self.next_look {
            return true;
        }
        self.next_look = Instant::now() + LOOK;
        target::is_attached(self.journal, self.record)
    }
}
