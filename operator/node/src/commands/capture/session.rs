//! Copies the frames of a port to a file until a limit is reached.

use super::output::{Output, Written};
use std::fmt;
use std::io;
use std::time::{Duration, Instant, SystemTime};
use usnet_endpoint::{Error as PortError, Port};
use usnet_node_output::pcapng;

/// How many bytes are collected before they are written, if frames arrive quickly.
const BUFFER: usize = 32 * 1024;
/// How long to wait for a frame before everything else is checked.
const WAIT: Duration = Duration::from_millis(100);

/// When a capture stops by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) until: Instant,
    /// How many bytes of each frame are written; none for all.
    pub(super) snaplen: Option<usize>,
}

/// Why a capture has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Frames,
    Bytes,
    Time,
    Requested,
    ReaderGone,
    Detached,
    EngineGone,
}

impl fmt::Display for End {
    /// Completes the sentence "the capture ended: ".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Frames => "the limit of --count is reached",
            Self::Bytes => "the limit of --bytes is reached",
            Self::Time => "the limit of --seconds is reached",
            Self::Requested => "it was requested",
            Self::ReaderGone => "the reader of its output has gone",
            Self::Detached => "the interface was detached",
            Self::EngineGone => "the engine closed the connection",
        })
    }
}

/// The conditions that a session checks from time to time.
pub(super) trait CaptureHost {
    /// Whether the user has requested the end.
    fn is_stop_requested(&mut self) -> bool;
    /// Whether the interface is still attached.
    fn is_attached(&mut self) -> bool;
    /// Tells the user from time to time how many frames were captured.
    fn report_progress(&mut self, frames: u64);
}

/// The result of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) frames: u64,
    pub(super) end: End,
}

/// Why copying failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot write the frames")]
    Write(#[source] io::Error),
    #[error("cannot read frames from the engine")]
    Read(#[from] PortError),
}

/// A capture in progress.
pub(super) struct Session<'a, S> {
    pub(super) output: &'a mut Output,
    pub(super) bounds: Bounds,
    pub(super) host: S,
}

impl<S: CaptureHost> Session<'_, S> {
    /// Copies frames until the capture ends. The header of the file must be written before.
    pub(super) fn copy(&mut self, port: &mut impl Port) -> Result<Copied, Error> {
        let (mut frames, mut bytes) = (0, 0);
        let (mut frame, mut buffer) = (Vec::new(), Vec::with_capacity(2 * BUFFER));
        loop {
            let received = match port.receive(&mut frame) {
                Err(PortError::Disconnected) => {
                    let written = self.flush(&mut buffer)?;
                    return Ok(Copied { frames, end: written.unwrap_or(End::EngineGone) });
                }
                received => received?,
            };
            if received {
                let known = self.bounds.snaplen.and_then(|snaplen| frame.get(..snaplen)).unwrap_or(&frame);
                pcapng::packet(&mut buffer, SystemTime::now(), known, frame.len());
                frames += 1;
                bytes += u64::try_from(known.len()).unwrap_or(u64::MAX);
            }
            let bound = self.reached(frames, bytes);
            if received && bound.is_none() && buffer.len() < BUFFER {
                continue;
            }
            if let Some(end) = self.flush(&mut buffer)?.or(bound).or_else(|| self.ended()) {
                return Ok(Copied { frames, end });
            }
            self.host.report_progress(frames);
            if !received {
                port.wait(WAIT)?;
            }
        }
    }

    fn reached(&self, frames: u64, bytes: u64) -> Option<End> {
        let Bounds { frames: most_frames, bytes: most_bytes, .. } = self.bounds;
        if frames >= most_frames {
            return Some(End::Frames);
        }
        (bytes >= most_bytes).then_some(End::Bytes)
    }

    fn ended(&mut self) -> Option<End> {
        if self.host.is_stop_requested() {
            return Some(End::Requested);
        }
        if Instant::now() >= self.bounds.until {
            return Some(End::Time);
        }
        if self.output.is_abandoned() {
            return Some(End::ReaderGone);
        }
        (!self.host.is_attached()).then_some(End::Detached)
    }

    /// Writes what was collected. Returns why the capture ends, if the reader does not accept it.
    fn flush(&mut self, buffer: &mut Vec<u8>) -> Result<Option<End>, Error> {
        let mut end = None;
        let Self { output, bounds, host } = self;
        let goes_on = || {
            end = if host.is_stop_requested() {
                Some(End::Requested)
            } else {
                (Instant::now() >= bounds.until).then_some(End::Time)
            };
            end.is_none()
        };
        let written = output.write(buffer, goes_on).map_err(Error::Write)?;
        buffer.clear();
        Ok(match written {
            Written::All => None,
            Written::ReaderGone => Some(End::ReaderGone),
            Written::GaveUp => end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::fs::{self, File};

    /// The frames of a file: the known bytes, and the length.
    fn packets(mut file: &[u8]) -> Vec<(Vec<u8>, usize)> {
        const PACKET: usize = 6;
        let word = |file: &[u8], at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let mut packets = Vec::new();
        while !file.is_empty() {
            if word(file, 0) == PACKET {
                packets.push((file[28..28 + word(file, 20)].to_vec(), word(file, 24)));
            }
            file = &file[word(file, 4)..];
        }
        packets
    }

    /// A port with these frames, whose engine then goes.
    struct Frames(VecDeque<Vec<u8>>);

    impl Port for Frames {
        fn send(&mut self, _frame: &[u8]) -> Result<(), PortError> {
            Err(PortError::Full)
        }

        fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, PortError> {
            let frame = self.0.pop_front().ok_or(PortError::Disconnected)?;
            let is_frame = !frame.is_empty();
            *buffer = frame;
            Ok(is_frame)
        }

        fn wait(&self, _timeout: Duration) -> Result<bool, PortError> {
            Ok(true)
        }
    }

    struct Fixed {
        stop: bool,
        attached: bool,
    }

    impl CaptureHost for Fixed {
        fn is_stop_requested(&mut self) -> bool {
            self.stop
        }
        fn is_attached(&mut self) -> bool {
            self.attached
        }
        fn report_progress(&mut self, _frames: u64) {}
    }

    const NOTHING: Fixed = Fixed { stop: false, attached: true };

    fn bounds() -> Bounds {
        Bounds { frames: 100, bytes: 10_000, until: Instant::now() + Duration::from_secs(600), snaplen: None }
    }

    /// Frames of these lengths; 0 is a moment without a frame.
    fn run(lengths: &[usize], bounds: Bounds, host: Fixed) -> (Copied, Vec<(Vec<u8>, usize)>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.pcapng");
        let mut output = Output::open(&path).unwrap();
        let mut port = Frames(lengths.iter().map(|length| vec![7; *length]).collect());
        let copied = Session { output: &mut output, bounds, host }.copy(&mut port).unwrap();
        (copied, packets(&fs::read(&path).unwrap()))
    }

    #[test]
    fn all_frames_are_written_whatever_ends_the_capture() {
        let ended = |lengths: &[usize], bounds, host| {
            let (copied, written) = run(lengths, bounds, host);
            assert_eq!(copied.frames, written.len() as u64, "{copied:?}");
            (copied.frames, copied.end)
        };
        assert_eq!(ended(&[60, 0, 61], bounds(), NOTHING), (2, End::EngineGone));
        assert_eq!(ended(&[60, 60, 60, 60], Bounds { frames: 3, ..bounds() }, NOTHING), (3, End::Frames));
        assert_eq!(ended(&[60, 60, 60, 60], Bounds { bytes: 100, ..bounds() }, NOTHING), (2, End::Bytes));
        assert_eq!(ended(&[60, 0, 60], Bounds { until: Instant::now(), ..bounds() }, NOTHING), (1, End::Time));
        assert_eq!(ended(&[60, 0, 60], bounds(), Fixed { stop: true, ..NOTHING }), (1, End::Requested));
        assert_eq!(ended(&[60, 0, 60], bounds(), Fixed { attached: false, ..NOTHING }), (1, End::Detached));
        let many = vec![1500; 40];
        assert_eq!(ended(&many, Bounds { bytes: u64::MAX, ..bounds() }, NOTHING), (40, End::EngineGone));
    }

    #[test]
    fn the_whole_length_of_a_frame_is_written_with_its_start() {
        let (_, written) = run(&[60, 20], Bounds { snaplen: Some(32), ..bounds() }, NOTHING);
        assert_eq!(written, [(vec![7; 32], 60), (vec![7; 20], 20)]);
    }

    #[test]
    fn a_reader_that_is_gone_or_does_not_read_ends_the_capture() {
        let (reader, writer) = nix::unistd::pipe().unwrap();
        let mut output = Output::from(File::from(writer));
        let frames = || Frames(vec![vec![7; 9000]; 50].into());
        let mut session =
            |bounds| Session { output: &mut output, bounds, host: NOTHING }.copy(&mut frames()).unwrap().end;
        let unbounded = Bounds { bytes: u64::MAX, ..bounds() };
        // More than a pipe takes.
        assert_eq!(session(Bounds { until: Instant::now() + Duration::from_millis(300), ..unbounded }), End::Time);
        drop(reader);
        assert_eq!(session(unbounded), End::ReaderGone);
    }
}
