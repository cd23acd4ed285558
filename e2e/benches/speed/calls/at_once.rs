//! The same call several times at once.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Calls with the numbers below `count`, all at once, each on a thread of its own.
pub(crate) fn run(count: usize, call: impl Fn(usize) -> Duration + Sync) -> Vec<Duration> {
    if count == 1 {
        return vec![call(0)];
    }
    let (start, call) = (Barrier::new(count), &call);
    thread::scope(|scope| {
        let start = &start;
        let wait_and_call = |number| {
            move || {
                start.wait();
                call(number)
            }
        };
        let calls: Vec<_> = (0..count).map(|number| scope.spawn(wait_and_call(number))).collect();
        calls.into_iter().map(|call| call.join().expect("the call ends")).collect()
    })
}
