//! An error and its sources on one line: our errors do not repeat their sources.

use std::error::Error;
use std::fmt;

/// Prints an error and its sources, each after a colon.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut last = self.0.to_string();
        let mut next = self.0.source();
        while let Some(source) = next {
            let text = source.to_string();
            // Some libraries print their source themselves; it is not repeated.
            if !last.ends_with(&text) {
                write!(formatter, ": {text}")?;
            }
            last = text;
            next = source.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the journal")]
    struct KeepsSource(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("library failed: {0}")]
    struct PrintsSource(#[source] io::Error);

    #[test]
    fn every_cause_is_named_once() {
        let kept = KeepsSource(io::Error::other("disk is on fire"));
        assert_eq!(ErrorChain(&kept).to_string(), "cannot read the journal: disk is on fire");
        let printed = PrintsSource(io::Error::other("disk is on fire"));
        assert_eq!(ErrorChain(&printed).to_string(), "library failed: disk is on fire");
    }
}
