//! Prints the progress of a test bed for the user.

use std::io::{self, Write};

use crate::testbed::settings::Settings;

/// Prints `text` to standard error, with the seconds since the start. Standard output is for the
/// user's command.
pub fn say(settings: &Settings, text: &str) {
    line(&format!("world: {:5.1} s  {text}", settings.age().as_secs_f32()));
}

/// Prints one line to standard error, which may be closed.
pub fn line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error and its sources.
pub fn error(error: &dyn std::error::Error) {
    line(&format!("world: error: {}", with_causes(error)));
}

/// Returns an error's message, followed by those of its sources.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
