//! One call of the plugin, from environment and standard input to output and exit status.

use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::{Environment, Verb};
use crate::protocol::error::{ErrorCode, ErrorReply};
use crate::protocol::input::read_all;
use crate::protocol::version::SpecVersion;
use crate::verbs::{Note, Verbs, gc, history};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::panic;
use std::process::exit;
use std::time::Instant;

/// The output of a successful call.
#[derive(Debug)]
enum Output {
    /// A JSON object on standard output.
    Result(Value),
    /// Nothing on standard output.
    Done(Option<Note>),
    /// The program was not called by a runtime: it prints its versions.
    About,
}

/// Executes the call that the environment and standard input of this process describe. Returns
/// whether it succeeded.
pub fn main() -> bool {
    report_panics();
    let mut version = SpecVersion::LATEST;
    match run(&Environment::from_process(), &mut version) {
        Ok(Output::Result(result)) => print(&result).is_ok(),
        Ok(Output::Done(note)) => {
            note.iter().for_each(|note| log(note));
            true
        }
        Ok(Output::About) => {
            log(&about());
            true
        }
        Err(error) => {
            // The exit status reports the failure even if the error cannot be printed.
            let _printed = print(&json!(error.reply(version)));
            false
        }
    }
}

fn run(environment: &Environment, version: &mut SpecVersion) -> Result<Output, Error> {
    let Some(verb) = environment.verb()? else { return Ok(Output::About) };
    let input = read_all(io::stdin())?;
    let started = Instant::now();
    let configuration = match parse_configuration(&input, version) {
        Err(_) if verb == Verb::Version => return Ok(Output::Result(versions(*version))),
        parsed => parsed?,
    };
    let verbs = Verbs::of(&configuration);
    match verb {
        Verb::Version => Ok(Output::Result(versions(*version))),
        Verb::Add => {
            let added = (verbs.add)(environment, &configuration);
            let added = added.inspect_err(|error| history::add_failed(environment, &configuration, error, started));
            added.map(Output::Result)
        }
        Verb::Del => (verbs.del)(&Node::from_environment(), environment, &configuration).map(Output::Done),
        Verb::Check => {
            (verbs.check)(&Node::from_environment(), environment, &configuration)?;
            Ok(Output::Done(None))
        }
        Verb::CollectGarbage => gc::collect(&Node::from_environment(), environment, &configuration).map(Output::Done),
        Verb::Status => {
            (verbs.status)(&Node::from_environment(), environment, &configuration)?;
            Ok(Output::Done(None))
        }
    }
}

/// Parses the configuration. `version` is set to its version, if that is supported, so that errors
/// are reported in it.
fn parse_configuration(input: &[u8], version: &mut SpecVersion) -> Result<Configuration, Error> {
    let configuration = Configuration::parse(input)?;
    *version = configuration.version().unwrap_or(SpecVersion::LATEST);
    Ok(configuration)
}

/// The answer to VERSION, in the caller's version if that is supported.
fn versions(version: SpecVersion) -> Value {
    json!({"cniVersion": version, "supportedVersions": SpecVersion::ALL})
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

/// Prints a document by one system call: the standard library's buffer of lines has 1 KiB.
fn print(document: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(format!("{document}\n").as_bytes())?;
    output.flush()
}

fn log(text: &str) {
    // A runtime that closed standard error is not interested in the log.
    let _written = writeln!(io::stderr(), "{text}");
}
