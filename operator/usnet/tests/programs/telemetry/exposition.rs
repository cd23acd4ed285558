//! A strict parser of the Prometheus text format 0.0.4, without timestamps and summaries, which are
//! never written. Format:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details>

use std::collections::{BTreeMap, BTreeSet};

/// Each sample by its name and labels as they stand there, or what breaks a rule.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, f64>, String> {
    if !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    let mut families = BTreeSet::new();
    let mut samples = BTreeMap::new();
    let mut family: Option<(String, String)> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or(format!("no help: {line}"))?;
            check(is_name(name) && !help.is_empty(), line)?;
            check(families.insert(name.to_owned()), &format!("{name} comes twice"))?;
            let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} ")));
            let kind = kind.ok_or(format!("no type after: {line}"))?;
            check(["counter", "gauge", "histogram"].contains(&kind), kind)?;
            check((kind == "counter") == name.ends_with("_total"), &format!("counters end in _total: {name}"))?;
            family = Some((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (series, value) = line.rsplit_once(' ').ok_or(format!("no value: {line}"))?;
        let value: f64 = value.replace("+Inf", "inf").parse().map_err(|_| format!("no number: {line}"))?;
        let (name, kind) = family.as_ref().ok_or(format!("no family: {line}"))?;
        let suffix = sample_name(series)?.strip_prefix(name.as_str()).ok_or(format!("not of {name}: {line}"))?;
        let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        check(suffixes.contains(&suffix), line)?;
        check(kind == "gauge" || value >= 0.0, line)?;
        check(samples.insert(series.to_owned(), value).is_none(), &format!("twice: {series}"))?;
    }
    check_histograms(&samples)?;
    Ok(samples)
}

/// The name of a series, whose labels must be in order.
fn sample_name(series: &str) -> Result<&str, String> {
    let Some((name, labels)) = series.split_once('{') else {
        check(is_name(series), series)?;
        return Ok(series);
    };
    let labels = labels.strip_suffix('}').ok_or(format!("no end of labels: {series}"))?;
    for label in labels.split(',') {
        let (key, value) = label.split_once('=').ok_or(format!("no label: {series}"))?;
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let is_plain = value.is_some_and(|value| !value.is_empty() && !value.contains(['"', '\\']));
        check(is_name(key) && !key.contains(':') && is_plain, series)?;
    }
    check(is_name(name), series)?;
    Ok(name)
}

/// Buckets grow, and the last one has everything.
fn check_histograms(samples: &BTreeMap<String, f64>) -> Result<(), String> {
    for (series, count) in samples.iter().filter(|(series, _)| series.contains("_count")) {
        let buckets = series.replacen("_count", "_bucket", 1);
        let start = buckets.trim_end_matches('}');
        let all = samples.iter().filter(|(name, _)| name.starts_with(start) && name.contains("le=\"+Inf\""));
        check(all.clone().count() == 1 && all.clone().all(|(_, value)| value == count), series)?;
        check(samples.contains_key(&series.replacen("_count", "_sum", 1)), series)?;
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    name.chars().all(is_letter) && name.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

fn check(holds: bool, complaint: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(complaint.to_owned()) }
}

#[test]
fn what_breaks_a_rule_is_found() {
    let good = "# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\"} 1\n";
    assert_eq!(parse(good).unwrap()["a_total{b=\"c\"}"], 1.0);
    for (old, new) in [
        ("counter", "count"),
        ("} 1", "} one"),
        ("b=", "1="),
        ("a_total{", "b_total{"),
        ("# TYPE", "# TYP"),
        ("1\n", "1"),
    ] {
        assert!(parse(&good.replacen(old, new, 1)).is_err(), "{old} → {new}");
    }
}
