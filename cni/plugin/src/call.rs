//! One call of the plugin: environment and standard input in, output and exit status out.

use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::{Environment, Verb};
use crate::protocol::error::{ErrorCode, ErrorReply};
use crate::protocol::input::read_all;
use crate::protocol::version::SpecVersion;
use crate::verbs::add::AddRequest;
use crate::verbs::check::check;
use crate::verbs::del::del;
use crate::verbs::gc::collect;
use crate::verbs::history;
use crate::verbs::multi_network;
use crate::verbs::status::status;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::panic;
use std::process::{ExitCode, exit};
use std::time::Instant;
use usnet_dataplane::paths::NodePaths;

/// The outcome of a call.
#[derive(Debug)]
enum Answer {
    /// A JSON object on standard output.
    Result(Value),
    /// No output; possibly a note for the log.
    Done(Option<String>),
    /// The program was not called by a runtime.
    About,
}

/// Executes the call that the environment and standard input of this process describe.
pub fn main() -> ExitCode {
    report_panics();
    let mut version = SpecVersion::LATEST;
    match handle(&Environment::from_process(), &mut version) {
        Ok(Answer::Result(result)) => exit_code(&print(&result)),
        Ok(Answer::Done(note)) => {
            note.iter().for_each(|note| log(note));
            ExitCode::SUCCESS
        }
        Ok(Answer::About) => {
            log(&about());
            ExitCode::SUCCESS
        }
        Err(error) => {
            // The exit status reports the failure even if the error cannot be printed.
            let _printed = print(&json!(error.reply(version)));
            ExitCode::FAILURE
        }
    }
}

fn handle(environment: &Environment, version: &mut SpecVersion) -> Result<Answer, Error> {
    let Some(verb) = environment.verb()? else { return Ok(Answer::About) };
    let input = read_all(io::stdin())?;
    match verb {
        Verb::Version => Ok(Answer::Result(versions(&input))),
        Verb::Add => {
            let (started, configuration) = (Instant::now(), configuration(&input, version)?);
            let added = add(environment, &configuration);
            let added = added.inspect_err(|error| history::add_failed(environment, &configuration, error, started));
            added.map(Answer::Result)
        }
        Verb::Del => {
            let configuration = configuration(&input, version)?;
            let del = if configuration.uses_pod_annotations() { multi_network::del } else { del };
            del(&node()?, environment, &configuration).map(Answer::Done)
        }
        Verb::Check => {
            let configuration = configuration(&input, version)?;
            let check = if configuration.uses_pod_annotations() { multi_network::check } else { check };
            check(&node()?, environment, &configuration).map(|()| Answer::Done(None))
        }
        Verb::CollectGarbage => collect(&node()?, environment, &configuration(&input, version)?).map(Answer::Done),
        Verb::Status => {
            let configuration = configuration(&input, version)?;
            let node = node().map_err(|error| Error::status_failed(ErrorCode::NotAvailable, error))?;
            match configuration.uses_pod_annotations() {
                true => multi_network::status(&node, &configuration)?,
                false => status(&node, environment, &configuration)?,
            }
            Ok(Answer::Done(None))
        }
    }
}

fn add(environment: &Environment, configuration: &Configuration) -> Result<Value, Error> {
    if configuration.uses_pod_annotations() {
        return multi_network::add(&node()?, environment, configuration);
    }
    AddRequest::parse(environment, configuration)?.run(&node()?)
}

fn node() -> Result<Node, Error> {
    Ok(Node::open(NodePaths::from_environment())?)
}

/// Parses the configuration. `version` is set to its version, if supported, so that errors are
/// reported in it.
fn configuration(input: &[u8], version: &mut SpecVersion) -> Result<Configuration, Error> {
    let configuration = Configuration::parse(input)?;
    *version = configuration.version().unwrap_or(SpecVersion::LATEST);
    Ok(configuration)
}

/// The answer to VERSION. It does not depend on the input, except that it is in the caller's
/// version if supported.
fn versions(input: &[u8]) -> Value {
    let requested = Configuration::parse(input).and_then(|configuration| configuration.version());
    json!({ "cniVersion": requested.unwrap_or(SpecVersion::LATEST), "supportedVersions": SpecVersion::ALL })
}

fn about() -> String {
    format!(
        "CNI userspace plugin {}\nCNI protocol versions supported: {}",
        env!("CARGO_PKG_VERSION"),
        SpecVersion::list()
    )
}

/// Reports a panic, which is a defect, as a CNI error that the runtime can read; the next DEL
/// cleans up from the record.
pub fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        let code = ErrorCode::Internal;
        let message = "the userspace plugin has a defect, please report it";
        let reply = ErrorReply::new(SpecVersion::LATEST, code.number(), code.reason(), message, panic.to_string());
        let _printed = print(&json!(reply));
        exit(1);
    }));
}

fn print(document: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{document}")?;
    output.flush()
}

fn log(text: &str) {
    // A runtime that closed standard error is not interested in the log.
    let _written = writeln!(io::stderr(), "{text}");
}

fn exit_code(printed: &io::Result<()>) -> ExitCode {
    if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
