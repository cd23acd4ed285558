//! `usnet-tools` tests interfaces of usnet from inside a pod.

mod arguments;
mod connector;
mod control;
mod device;
mod error;
mod interface;
mod lookup;
mod numbered;
mod owner;
mod request;
mod stack;
mod streams;

use arguments::{Arguments, Command};
use clap::Parser;
use error::Error;
use interface::Interface;
use nix::sys::signal::{SigSet, Signal};
use owner::Owner;
use request::Answer;
use std::process::ExitCode;
use std::sync::mpsc;

/// The exit status if frames are missing.
const INCOMPLETE: u8 = 1;
/// The exit status if the port cannot be used.
const UNUSABLE: u8 = 3;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    exit_on_signals();
    match run(arguments) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(answer)) => {
            print(&answer);
            ExitCode::from(match (answer.ok, answer.is_of_unusable_port()) {
                (true, _) => 0,
                (false, true) => UNUSABLE,
                (false, false) => INCOMPLETE,
            })
        }
        Err(error) => {
            print_error(&error);
            ExitCode::from(UNUSABLE)
        }
    }
}

fn run(arguments: Arguments) -> Result<Option<Answer>, Error> {
    let memif = arguments.abstract_memif.interface();
    let named = arguments.interface.clone().or_else(|| memif.as_ref().map(|interface| interface.name.clone()));
    let interfaces = match memif {
        Some(interface) => Ok(vec![interface]),
        None => lookup::interfaces(&lookup::folders(arguments.folder), named.as_deref()),
    };
    match arguments.command {
        None => serve_all(interfaces?).map(|()| None),
        Some(command) => run_command(command, named, interfaces).map(Some),
    }
}

/// Serves each interface in a thread of its own. The program ends when one of them fails.
fn serve_all(interfaces: Vec<Interface>) -> Result<(), Error> {
    let (ended, first_ended) = mpsc::channel();
    for interface in interfaces {
        let ended = ended.clone();
        std::thread::spawn(move || {
            // The receiver is gone once the first thread has ended.
            let _sent = ended.send(serve(interface));
        });
    }
    drop(ended);
    first_ended.recv().unwrap_or(Ok(()))
}

fn serve(interface: Interface) -> Result<(), Error> {
    let name = interface.name.clone();
    let requests = control::listen(&name)?;
    let requests = requests.ok_or_else(|| Error::Request(format!("another usnet-tools has {name}")))?;
    control::serve(Owner::new(interface)?, &requests)
}

fn run_command(
    command: Command,
    named: Option<String>,
    interfaces: Result<Vec<Interface>, Error>,
) -> Result<Answer, Error> {
    let only = interfaces.and_then(|all| {
        let names: Vec<String> = all.iter().map(|interface| interface.name.clone()).collect();
        <[Interface; 1]>::try_from(all).map_err(|_| Error::SeveralInterfaces(names.join(", ")))
    });
    let name = match (&only, named) {
        (_, Some(name)) => name,
        (Ok([interface]), None) => interface.name.clone(),
        // The instance that has the port may have got the socket of a memif in its arguments.
        (Err(Error::NoInterface { interface, .. }), None) => interface.clone(),
        (Err(_), None) => String::new(),
    };
    let request = command.request();
    if !name.is_empty()
        && let Some(answer) = control::call(&name, &request)?
    {
        return Ok(answer);
    }
    let [interface] = only?;
    let mut owner = Owner::new(interface)?;
    Ok(owner.handle(&request).unwrap_or_else(|error| control::error_answer(&error)))
}

/// Without this, signals would not end the program: the kernel ignores them for the first process
/// of a container unless it handles them.
fn exit_on_signals() {
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || {
            let _signal = signals.wait();
            std::process::exit(0);
        });
    }
}

#[expect(clippy::print_stdout, reason = "the answer is the output of the program")]
fn print(answer: &Answer) {
    println!("{}", serde_json::json!(answer));
}

#[expect(clippy::print_stderr, reason = "errors of a command")]
fn print_error(error: &Error) {
    eprintln!("usnet-tools: {}", error::chain(error));
}
