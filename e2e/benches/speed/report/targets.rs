//! Whether targets are met.

use super::table;

/// A figure that has a target.
struct Checked {
    target: String,
    place: String,
    value: f64,
    at_most: f64,
}

impl Checked {
    fn is_met(&self) -> bool {
        self.value <= self.at_most
    }
}

/// All targets of a run, with their figures.
#[derive(Default)]
pub(crate) struct Targets(Vec<Checked>);

impl Targets {
    /// Compares a figure with its target.
    pub(crate) fn check(&mut self, target: &str, place: String, value: f64, at_most: f64) -> String {
        let checked = Checked { target: target.to_owned(), place, value, at_most };
        let text = if checked.is_met() { "met" } else { "**MISSED**" };
        let text = format!("≤ {at_most}: {text}");
        self.0.push(checked);
        text
    }

    /// Prints each target with its worst figure, and all figures that miss theirs.
    pub(crate) fn print(&self) {
        let mut names: Vec<_> = self.0.iter().map(|checked| (checked.target.as_str(), checked.at_most)).collect();
        names.dedup();
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        let rows: Vec<_> = names.into_iter().map(|name| self.summary(name)).collect();
        table::print("Targets", &["target", "at most", "figures that meet it", "worst", "where"], &rows);
        let missed = self.0.iter().filter(|checked| !checked.is_met());
        let rows = missed.map(|checked| {
            vec![
                checked.target.clone(),
                checked.place.clone(),
                table::ratio(checked.value),
                checked.at_most.to_string(),
            ]
        });
        table::print("Missed", &["target", "where", "figure", "at most"], &rows.collect::<Vec<_>>());
    }

    fn summary(&self, (target, at_most): (&str, f64)) -> Vec<String> {
        let all: Vec<_> =
            self.0.iter().filter(|checked| checked.target == target && checked.at_most == at_most).collect();
        let met = all.iter().filter(|checked| checked.is_met()).count();
        let worst = all.iter().max_by(|one, two| one.value.total_cmp(&two.value));
        vec![
            target.to_owned(),
            at_most.to_string(),
            format!("{met} of {}", all.len()),
            worst.map_or_else(String::new, |worst| table::ratio(worst.value)),
            worst.map_or_else(String::new, |worst| worst.place.clone()),
        ]
    }
}
