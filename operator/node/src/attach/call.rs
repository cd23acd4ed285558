//! Runs one call of the plugin as a child process (IO).

use super::options::Options;
use super::variables::accepted;
use super::{Answer, CniError, Request, SIZE_MAX};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use usnet_plugin::protocol::environment::IPAM_PLUGINS;

/// CNI's code for internal errors.
const INTERNAL: u32 = 999;
/// How often the end of the plugin is polled. Most calls take some tens of milliseconds.
const POLL: Duration = Duration::from_millis(3);

/// Runs the plugin with a time limit, if the request is allowed. The environment of the plugin
/// consists of the variables that a request may set, those that this service sets, and the `USNET_`
/// variables of this process, which set paths.
pub(super) fn run(options: &Options, request: &Request, limit: Duration) -> Answer {
    if let Err(refusal) = options.ipam.check(&request.configuration) {
        return failure(refusal);
    }
    let requested = match accepted(&request.environment) {
        Ok(requested) => requested,
        Err(refusal) => return failure(refusal.to_string()),
    };
    match call(options, requested, request, limit) {
        Ok(answer) => answer,
        Err(error) => failure(format!("cannot run {}: {error}", options.plugin.display())),
    }
}

fn call<'a>(
    options: &Options,
    requested: impl Iterator<Item = (&'a String, &'a String)>,
    request: &Request,
    limit: Duration,
) -> io::Result<Answer> {
    let own = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"USNET_"));
    let mut child = Command::new(&options.plugin)
        .env_clear()
        .envs(requested)
        .envs(own)
        .env("CNI_PATH", &options.plugin_folders)
        .env(IPAM_PLUGINS, options.ipam.variable())
        .env("CNI_COMMAND", request.command.as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let input = child.stdin.take();
    let output = child.stdout.take();
    // Input and output have their own threads: a plugin that neither reads nor ends must not block
    // this one.
    let configuration = request.configuration.to_string();
    spawn(move || input.map(|mut input| input.write_all(configuration.as_bytes())));
    let reader = spawn(move || {
        let mut text = Vec::new();
        output.map(|output| output.take(SIZE_MAX).read_to_end(&mut text)).transpose().map(|_| text)
    });
    let Some(is_success) = wait(&mut child, limit)? else {
        return Ok(failure(format!("the CNI plugin did not end within {} s", limit.as_secs())));
    };
    let text = reader.join().unwrap_or_else(|_| Ok(Vec::new()))?;
    Ok(answer(is_success, &text))
}

/// Returns whether the plugin succeeded; none if it was killed because it took too long.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<bool>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if started.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(POLL);
    }
}

fn answer(is_success: bool, text: &[u8]) -> Answer {
    let printed = || String::from_utf8_lossy(text).chars().take(400).collect::<String>();
    match (is_success, text.iter().all(u8::is_ascii_whitespace)) {
        (true, true) => Answer::Result(Value::Null),
        (true, false) => serde_json::from_slice(text)
            .map_or_else(|_| failure(format!("the CNI plugin did not print JSON: {}", printed())), Answer::Result),
        (false, _) => serde_json::from_slice::<CniError>(text)
            .map_or_else(|_| failure(format!("the CNI plugin failed: {}", printed())), Answer::Error),
    }
}

pub(super) fn failure(msg: String) -> Answer {
    Answer::Error(CniError { code: INTERNAL, msg, details: String::new() })
}
