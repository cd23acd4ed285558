//! One run of a target.

use crate::Random;
use std::env;
use std::time::{Duration, Instant};

/// The seed if `USNET_FUZZ_SEED` is not set. Any number would do.
const SEED: u64 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// The input was well formed nevertheless.
    Accepted,
    Rejected,
}

impl<T, E> From<&Result<T, E>> for Parsed {
    fn from(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Accepted } else { Self::Rejected }
    }
}

/// An input for a parser.
pub trait Input {
    /// Returns the bytes that are printed when the parser fails.
    fn bytes(&self) -> &[u8];
}

impl Input for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A run of one target.
#[derive(Debug)]
pub struct FuzzRun {
    target: &'static str,
    random: Random,
    limit: Limit,
}

#[derive(Debug)]
enum Limit {
    Inputs(u64),
    Time(Duration),
}

impl FuzzRun {
    /// Runs `target` with this many inputs, unless the environment sets another limit.
    pub fn new(target: &'static str, inputs: u64) -> Self {
        let time = setting("USNET_FUZZ_SECONDS").map(|seconds| Limit::Time(Duration::from_secs(seconds)));
        let limit = setting("USNET_FUZZ_INPUTS").map(Limit::Inputs).or(time).unwrap_or(Limit::Inputs(inputs));
        Self { target, random: Random::new(setting("USNET_FUZZ_SEED").unwrap_or(SEED)), limit }
    }

    /// Gives inputs from `generate` to `parse`, and prints the one on which it panics.
    ///
    /// # Panics
    /// If almost all inputs are rejected, or almost none is: such a run proves nothing.
    pub fn run<I: Input>(mut self, generate: impl Fn(&mut Random) -> I, mut parse: impl FnMut(&I) -> Parsed) {
        let started = Instant::now();
        let (mut inputs, mut accepted) = (0_u64, 0_u64);
        while !self.is_over(inputs, started) {
            let input = generate(&mut self.random);
            let printer = PrintOnPanic(self.target, input.bytes());
            accepted += u64::from(parse(&input) == Parsed::Accepted);
            drop(printer);
            inputs += 1;
        }
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{}: {inputs} inputs in {seconds:.1} s, {accepted} of them accepted", self.target);
        // Otherwise the inputs are rejected early, and prove nothing about what comes after.
        assert!(accepted > inputs / 50, "{}: only {accepted} of {inputs} inputs were accepted", self.target);
        assert!(accepted < inputs / 50 * 49, "{}: {accepted} of {inputs} inputs were accepted", self.target);
    }

    fn is_over(&self, inputs: u64, started: Instant) -> bool {
        match self.limit {
            Limit::Inputs(limit) => inputs >= limit,
            Limit::Time(limit) => started.elapsed() >= limit,
        }
    }
}

fn setting(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable} is {text:?}: {error}")))
}

/// Prints the input if its parser panics.
struct PrintOnPanic<'input>(&'static str, &'input [u8]);

impl Drop for PrintOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: {}", self.0, String::from_utf8_lossy(self.1));
            eprintln!("{}: {:02x?}", self.0, self.1);
        }
    }
}
