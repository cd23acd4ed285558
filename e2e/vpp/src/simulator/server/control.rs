//! The control socket: each line is a fault or a command.

use crate::simulator::fault::Fault;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Fault(Fault),
    /// Clears all faults.
    ClearFaults,
    /// VPP ends and starts again with an empty state.
    Restart,
    /// VPP ends.
    Die,
}

impl Command {
    fn parse(line: &str) -> Result<Self, String> {
        match line.trim() {
            "clear" => Ok(Self::ClearFaults),
            "restart" => Ok(Self::Restart),
            "die" => Ok(Self::Die),
            words => words.parse().map(Self::Fault).map_err(|error| format!("{error}, clear, restart, die")),
        }
    }
}

/// A connection to the control socket.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) stream: UnixStream,
    received: Vec<u8>,
}

impl Controller {
    pub(crate) fn new(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// Reads without waiting. Returns false once the other side has closed the connection.
    pub(crate) fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.received.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// Returns the next command. Lines that are not a command are answered here.
    pub(crate) fn next_command(&mut self) -> Option<Command> {
        while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            match Command::parse(&String::from_utf8_lossy(&line)) {
                Ok(command) => return Some(command),
                Err(problem) => self.answer(&format!("error: {problem}")),
            }
        }
        None
    }

    pub(crate) fn answer(&mut self, text: &str) {
        // Lines are short: only a closed connection does not take them.
        let _sent = self.stream.write_all(format!("{text}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Controller};
    use crate::Fault;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn lines_are_commands_or_answered_with_an_error() {
        let (mut ours, theirs) = UnixStream::pair().expect("pair");
        let mut controller = Controller::new(theirs).expect("controller");
        ours.write_all(b"clear\nnonsense\nhang\nrest").expect("write");
        assert!(controller.read());
        assert_eq!(controller.next_command(), Some(Command::ClearFaults));
        assert_eq!(controller.next_command(), Some(Command::Fault(Fault::Hang)));
        assert_eq!(controller.next_command(), None);
        ours.write_all(b"art\n").expect("write");
        assert!(controller.read());
        assert_eq!(controller.next_command(), Some(Command::Restart));
        let mut answer = String::new();
        BufReader::new(&ours).read_line(&mut answer).expect("read");
        assert!(answer.starts_with("error: \"nonsense\" is not a fault"), "{answer}");
        drop(ours);
        assert!(!controller.read());
    }
}
