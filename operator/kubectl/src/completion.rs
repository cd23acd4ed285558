//! Completion in shells. kubectl runs the program `kubectl_complete-usnet` on the PATH, by the
//! protocol of cobra: the words so far are its arguments, each line of its output is a candidate,
//! and the last line is a directive. The candidates come from the definition of the command line.

use clap::{Arg, Command};
use std::ffi::OsString;

/// The directive with which the shell does not propose files (`ShellCompDirectiveNoFileComp`).
const NO_FILES: &str = ":4";
/// The directive with which the shell proposes files (`ShellCompDirectiveDefault`).
const FILES: &str = ":0";

/// Returns the candidates for the last of these words, and the directive.
pub(crate) fn complete(command: &Command, words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let (last, before) = match words.split_last() {
        Some((last, before)) => (last.as_ref(), before),
        None => ("", &[][..]),
    };
    let mut command = command;
    // The value of an option is not a subcommand.
    let mut pending: Option<&Arg> = None;
    for word in before {
        if pending.take().is_some() {
            continue;
        }
        pending = option(command, word).filter(|option| option.get_action().takes_values() && !word.contains('='));
        if let Some(next) = command.find_subcommand(word.as_ref()) {
            command = next;
        }
    }
    let (candidates, directive) = match pending {
        Some(option) => values(option),
        None if last.starts_with('-') => (options(command), NO_FILES),
        None => positional(command),
    };
    let lines = candidates.into_iter().filter(|candidate| candidate.starts_with(last));
    lines.chain([directive.to_owned()]).map(|line| line + "\n").collect()
}

fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or_default();
    let is_named = |arg: &&Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => name.strip_prefix('-').is_some_and(|short| arg.get_short().map(String::from).as_deref() == Some(short)),
    };
    command.get_arguments().find(is_named)
}

fn options(command: &Command) -> Vec<String> {
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    visible.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect()
}

fn positional(command: &Command) -> (Vec<String>, &'static str) {
    let subcommands = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    let names: Vec<_> = subcommands.map(|subcommand| subcommand.get_name().to_owned()).collect();
    match command.get_positionals().next().map(values) {
        Some((values, _)) if names.is_empty() => (values, NO_FILES),
        _ => (names, NO_FILES),
    }
}

/// Returns the possible values of an option; files if it has none.
fn values(option: &Arg) -> (Vec<String>, &'static str) {
    let possible = option.get_possible_values();
    let directive = if possible.is_empty() { FILES } else { NO_FILES };
    (possible.iter().map(|value| value.get_name().to_owned()).collect(), directive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::command;

    fn completed(words: &[&str]) -> Vec<String> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        complete(&command(), &words).lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_options_and_values_are_completed() {
        assert_eq!(completed(&["sta"]), ["status", ":4"]);
        assert_eq!(completed(&["explain", "po"]), ["pod", ":4"]);
        assert_eq!(completed(&["--context", "status", "ver"]), ["version", ":4"], "status is the name of a context");
        assert_eq!(completed(&["status", "-o", "j"]), ["json", ":4"]);
        assert_eq!(completed(&["status", "--kubeconfig", ""]), [":0"], "a file");
        assert!(completed(&["history", "--"]).contains(&"--since".to_owned()));
        assert!(completed(&[]).contains(&"explain".to_owned()));
    }
}
