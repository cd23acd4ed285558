//! What the kernel says of a process.

use std::fs;

/// `USER_HZ`, which is 100 on every architecture that usnet runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU seconds so far, user and system; 0 when there is no such process.
pub(crate) fn cpu_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The program's name is in parentheses and may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}

/// Peak resident memory in MiB; 0 when there is no such process.
pub(crate) fn peak_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}
