//! Logs on standard error, as text for users or as JSON for collectors.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, debug_fn};
use usnet_common::display::OneLine;

/// The default filter. Libraries log only warnings; `kube_client` returns all its errors to us for
/// logging, and would log them once more for each attempt.
const STANDARD_FILTER: &str = "warn,kube_client=off,usnet_agent=info,usnet_common=info,\
    usnet_controller=info,usnet_dataplane=info,usnet_engines=info,usnet_kubevirt=info,usnet_node=info,\
    usnet_ovsdb=info,usnet_policies=info,usnet_standalone=info";

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For users.
    #[default]
    Text,
    /// One JSON object for each line.
    Json,
}

/// Starts logging for the whole process. `RUST_LOG` selects what is logged, in the syntax of
/// `tracing_subscriber::EnvFilter`.
pub(crate) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(STANDARD_FILTER));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.fmt_fields(one_line_fields()).init(),
        LogFormat::Json => subscriber.event_format(json()).fmt_fields(JsonFields::new()).init(),
    }
}

/// A line as JSON: message and fields at the top, and the fields of all spans, of which the
/// outermost has the node.
fn json() -> Format<Json> {
    tracing_subscriber::fmt::format()
        .with_target(false)
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(true)
}

/// Message and fields of a line as text. Foreign text (names of ports, messages of engines) cannot
/// start a line that looks like one of ours.
fn one_line_fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    let fields = debug_fn(|writer, field, value| {
        let text = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", OneLine(text)),
            name => write!(writer, "{name}={}", OneLine(text)),
        }
    });
    fields.delimited(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_stays_one_line_whatever_is_in_it() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .fmt_fields(one_line_fields())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("agent", node = "node-a").entered();
            tracing::info!(port = %"p\nINFO forged", count = 2, "made {}", "x\u{1b}[2J");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text, " INFO agent{node=\"node-a\"}: made x\\u{1b}[2J port=p\\nINFO forged count=2\n");
    }
    #[test]
    fn a_line_of_json_has_the_fields_of_all_spans() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .event_format(json())
            .fmt_fields(JsonFields::new())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let _agent = tracing::info_span!("agent", node = "node-a").entered();
            let _engine = tracing::info_span!("reconciler", engine = "VPP").entered();
            tracing::warn!(network = "blue", "refused");
        });
        let line: serde_json::Value = serde_json::from_slice(&buffer.0.lock().unwrap()).unwrap();
        assert_eq!(
            (&line["message"], &line["network"], &line["level"]),
            (&"refused".into(), &"blue".into(), &"WARN".into())
        );
        assert_eq!((&line["spans"][0]["node"], &line["spans"][1]["engine"]), (&"node-a".into(), &"VPP".into()));
    }
}
