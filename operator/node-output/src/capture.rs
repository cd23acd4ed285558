//! The limits of `usnet node capture`, which are those of `kubectl usnet capture`.

use clap::ValueEnum;

/// What is captured, and when a capture ends by itself.
#[derive(Debug, Clone, clap::Args)]
pub struct Limits {
    /// End after so many frames.
    #[arg(long, value_name = "FRAMES", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
    /// End after so many seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// End after so many bytes of frames.
    #[arg(long, default_value_t = 64 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub bytes: u64,
    /// Capture only the first bytes of each frame.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(14..))]
    pub snaplen: Option<u16>,
    /// Which frames.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionOption,
}

/// Which frames are captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DirectionOption {
    /// What the pod receives.
    Received,
    /// What the pod sends.
    Sent,
    /// Both.
    #[default]
    Both,
}

impl Limits {
    /// The arguments of `usnet node capture`.
    pub fn arguments(&self) -> Vec<String> {
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
