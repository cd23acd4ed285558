//! Reports as text, JSON or YAML.
//!
//! - [`screen`]: the terminal; [`mod@table`], [`wrap`]: texts that fit it; [`units`]: numbers;
//! - [`wait`] (IO): what the user is told during a wait.

mod screen;
mod table;
pub(crate) mod units;
mod wait;
mod wrap;

use super::error::Error;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{self, Write};
use usnet_common::display::OneLine;

pub(crate) use screen::{ColorChoice, Screen, Tone, title};
pub(crate) use table::{table, table_of_numbers};
pub(crate) use usnet_common::display::age;
pub(crate) use wait::{API_SERVER, QUIET, tell, waiting};
pub(crate) use wrap::VERBATIM;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for users.
    #[default]
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What a command prints, and its exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub text: String,
    pub exit_status: u8,
}

/// Renders a report; `text` does so for users.
pub(crate) fn render<T: Serialize>(
    report: &T,
    format: Format,
    text: impl FnOnce(&T) -> String,
) -> Result<String, Error> {
    match format {
        Format::Text => {
            let text = text(report);
            Ok(Screen::current().width.map_or_else(|| text.clone(), |width| wrap::text(&text, width)))
        }
        Format::Json => serde_json::to_string_pretty(report)
            .map(|text| text + "\n")
            .map_err(|error| Error::Output(error.to_string())),
        Format::Yaml => serde_yaml::to_string(report).map_err(|error| Error::Output(error.to_string())),
    }
}

/// Prints to standard output. A reader that ends early, as `| head` does, is not an error.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error.to_string())),
        _ => Ok(()),
    }
}

/// Returns a number with its noun, such as `2 nodes`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Escapes untrusted text, such as names and messages of engines and programs, to one line.
pub(crate) fn line(text: &str) -> String {
    OneLine(text.trim()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_text_json_or_yaml() {
        let report = serde_json::json!({"a": 1});
        let rendered = |format| render(&report, format, |_| "text\n".to_owned()).unwrap();
        assert_eq!(rendered(Format::Text), "text\n");
        assert_eq!(rendered(Format::Json), "{\n  \"a\": 1\n}\n");
        assert_eq!(rendered(Format::Yaml), "a: 1\n");
    }
}
