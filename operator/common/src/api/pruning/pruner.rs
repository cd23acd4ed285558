//! Removes what is not used from JSON text that arrives in pieces. Only what is between two values
//! is parsed; values themselves are copied, skipped or, if they are bounded, kept until their end.
//! The memory that it takes does not depend on its input. Pure.

use super::rules::{ANNOTATION_MAX, CONFIG, CONFIG_TEXT_MAX, LIST_MAX, Rules, Used};
use std::mem::take;

/// The quotes of a string.
const QUOTES: usize = 2;
/// What `\u` and four digits add to one character.
const DIGITS: usize = 4;

/// The sort of a container that is not copied as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An object, a list of objects, or the event of a watch.
    Object,
    Metadata,
    Annotations,
    /// Another object of which some members are used.
    Members(&'static [&'static str]),
    /// Objects of a list.
    Items,
    /// A list of which the first entries are used.
    First,
}

/// What becomes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Copy,
    Skip,
    /// The value is parsed, if it is a container.
    Enter(Place),
    /// The value is copied unless it is longer; then its length replaces it, or nothing.
    Bounded {
        most: usize,
        or_length: bool,
    },
}

/// A container that was entered.
#[derive(Debug)]
struct Frame {
    place: Place,
    /// Members or entries that were copied.
    copied: usize,
}

/// What the parser expects next.
#[derive(Debug)]
enum State {
    Value(Plan),
    /// The end of a value that is not parsed.
    Within(Within),
    /// A key, or the end of the object.
    Key,
    InKey {
        is_escaped: bool,
    },
    Colon,
    /// An entry, or the end of the list.
    Entry,
    /// The input is no JSON text: it is copied, and its reader reports the problem.
    Broken,
}

/// Where a value ends.
#[derive(Debug)]
struct Within {
    plan: Plan,
    depth: u32,
    is_string: bool,
    is_escaped: bool,
    /// The text so far, if the value is bounded.
    text: Vec<u8>,
    /// The length of the value so far.
    length: usize,
    /// The number of bytes that escapes add.
    escapes: usize,
}

/// Prunes one answer.
#[derive(Debug)]
pub(super) struct Pruner {
    rules: Rules,
    state: State,
    stack: Vec<Frame>,
    /// With its quotes.
    key: Vec<u8>,
    output: Vec<u8>,
}

impl Pruner {
    pub(super) const fn new(rules: Rules) -> Self {
        let state = State::Value(Plan::Enter(Place::Object));
        Self { rules, state, stack: Vec::new(), key: Vec::new(), output: Vec::new() }
    }

    /// The next piece, without what is not used.
    pub(super) fn push(&mut self, input: &[u8]) -> Vec<u8> {
        let mut rest = input;
        while let Some(&next) = rest.first() {
            let used = self.step(next, rest);
            rest = rest.get(used..).unwrap_or_default();
        }
        take(&mut self.output)
    }

    /// Returns how many bytes were used: none if only the state changed.
    fn step(&mut self, next: u8, rest: &[u8]) -> usize {
        let is_space = next.is_ascii_whitespace();
        match &mut self.state {
            State::Broken => {
                self.output.extend_from_slice(rest);
                rest.len()
            }
            State::Within(within) => {
                let (used, is_end) = within.advance(rest);
                let (piece, _) = rest.split_at(used);
                match within.plan {
                    Plan::Skip => {}
                    Plan::Bounded { most, .. } => within.keep(piece, most),
                    Plan::Copy | Plan::Enter(_) => self.output.extend_from_slice(piece),
                }
                if is_end {
                    self.end_value();
                }
                used
            }
            State::InKey { is_escaped } => {
                let is_end = next == b'"' && !*is_escaped;
                *is_escaped = next == b'\\' && !*is_escaped;
                self.key.push(next);
                if is_end {
                    self.state = State::Colon;
                }
                1
            }
            // Events of a watch are separated by lines.
            _ if is_space => {
                if self.stack.is_empty() {
                    self.output.push(next);
                }
                1
            }
            State::Value(plan) => {
                let plan = *plan;
                self.begin_value(plan, next)
            }
            State::Key | State::Colon | State::Entry => self.between(next),
        }
    }

    fn between(&mut self, next: u8) -> usize {
        match (&self.state, next) {
            (State::Key | State::Entry, b',') => 1,
            (State::Key, b'}') | (State::Entry, b']') => {
                self.output.push(next);
                self.stack.pop();
                self.end_of_value();
                1
            }
            (State::Key, b'"') => {
                self.key.clear();
                self.key.push(next);
                self.state = State::InKey { is_escaped: false };
                1
            }
            (State::Colon, b':') => {
                self.state = State::Value(self.plan_of_member());
                1
            }
            (State::Entry, _) => {
                self.state = State::Value(self.plan_of_entry());
                0
            }
            _ => {
                self.state = State::Broken;
                0
            }
        }
    }

    fn plan_of_member(&self) -> Plan {
        let key = self.key.get(1..self.key.len().saturating_sub(1)).unwrap_or_default();
        let place = self.stack.last().map(|frame| frame.place);
        let some = |used: Used| match used {
            Used::All => Plan::Copy,
            Used::Only(names) => Plan::Enter(Place::Members(names)),
        };
        let is_in = |names: &[&str]| names.iter().any(|name| name.as_bytes() == key);
        match (place, key) {
            (Some(Place::Object), b"metadata") if self.rules.metadata == Used::All => Plan::Copy,
            (Some(Place::Object), b"metadata") => Plan::Enter(Place::Metadata),
            (Some(Place::Object), b"items") => Plan::Enter(Place::Items),
            (Some(Place::Object), b"object") => Plan::Enter(Place::Object),
            (Some(Place::Object), b"spec") => some(self.rules.spec),
            (Some(Place::Object), b"status") => some(self.rules.status),
            (Some(Place::Metadata), b"labels") => some(self.rules.labels),
            (Some(Place::Metadata), b"annotations") if self.rules.annotations != Used::All => {
                Plan::Enter(Place::Annotations)
            }
            (Some(Place::Metadata), b"finalizers" | b"ownerReferences") => Plan::Enter(Place::First),
            (Some(Place::Metadata), _) => match self.rules.metadata {
                Used::Only(names) if !is_in(names) => Plan::Skip,
                _ => Plan::Copy,
            },
            (Some(Place::Annotations), _) => match self.rules.annotations {
                Used::Only(names) if !is_in(names) => Plan::Skip,
                _ => Plan::Bounded { most: ANNOTATION_MAX, or_length: false },
            },
            (Some(Place::Members(names)), _) if !is_in(names) => Plan::Skip,
            (Some(Place::Members(_)), key) if key == CONFIG.as_bytes() => {
                Plan::Bounded { most: CONFIG_TEXT_MAX, or_length: true }
            }
            _ => Plan::Copy,
        }
    }

    fn plan_of_entry(&self) -> Plan {
        match self.stack.last() {
            Some(Frame { place: Place::First, copied }) if *copied < LIST_MAX => Plan::Copy,
            Some(Frame { place: Place::First, .. }) => Plan::Skip,
            _ => Plan::Enter(Place::Object),
        }
    }

    fn begin_value(&mut self, plan: Plan, first: u8) -> usize {
        if matches!(first, b',' | b':' | b'}' | b']') {
            self.state = State::Broken;
            return 0;
        }
        if !matches!(plan, Plan::Skip | Plan::Bounded { .. }) {
            self.begin_member();
        }
        let state = match (plan, first) {
            (Plan::Enter(Place::Items | Place::First), b'[') => Some(State::Entry),
            (Plan::Enter(Place::Items | Place::First), _) => None,
            (Plan::Enter(_), b'{') => Some(State::Key),
            _ => None,
        };
        match (plan, state) {
            (Plan::Enter(place), Some(state)) => {
                self.output.push(first);
                self.stack.push(Frame { place, copied: 0 });
                self.state = state;
                1
            }
            _ => {
                self.state = State::Within(Within::new(plan));
                0
            }
        }
    }

    /// The comma and the key before a value that is copied.
    fn begin_member(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.copied > 0 {
            self.output.push(b',');
        }
        frame.copied += 1;
        if !matches!(frame.place, Place::Items | Place::First) {
            self.output.extend_from_slice(&self.key);
            self.output.push(b':');
        }
    }

    /// The end of a value that is not parsed.
    fn end_value(&mut self) {
        if let State::Within(within) = &mut self.state
            && let Plan::Bounded { most, or_length } = within.plan
        {
            let (length, text) = (within.decoded(), take(&mut within.text));
            if length <= most {
                self.begin_member();
                self.output.extend_from_slice(&text);
            } else if or_length {
                self.begin_member();
                self.output.extend_from_slice(length.to_string().as_bytes());
            }
        }
        self.end_of_value();
    }

    fn end_of_value(&mut self) {
        self.state = match self.stack.last().map(|frame| frame.place) {
            None => State::Value(Plan::Enter(Place::Object)),
            Some(Place::Items | Place::First) => State::Entry,
            Some(_) => State::Key,
        };
    }
}

impl Within {
    const fn new(plan: Plan) -> Self {
        Self { plan, depth: 0, is_string: false, is_escaped: false, text: Vec::new(), length: 0, escapes: 0 }
    }

    /// How many bytes belong to the value, and whether it ends with them.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.is_string {
                let (used, is_end) = self.advance_string(rest);
                at += used;
                if is_end && self.depth == 0 {
                    return (at, true);
                }
                continue;
            }
            match rest.first() {
                Some(b'"') => self.is_string = true,
                Some(b'{' | b'[') => self.depth += 1,
                // A number or a word ends before it.
                Some(b'}' | b']') if self.depth == 0 => return (at, true),
                Some(b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                Some(b',' | b' ' | b'\t' | b'\r' | b'\n') if self.depth == 0 => return (at, true),
                _ => {}
            }
            at += 1;
        }
        (at, false)
    }

    fn advance_string(&mut self, bytes: &[u8]) -> (usize, bool) {
        if take(&mut self.is_escaped) {
            self.escapes += if bytes.first() == Some(&b'u') { DIGITS } else { 0 };
            return (1, false);
        }
        match bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            None => (bytes.len(), false),
            Some(at) if bytes.get(at) == Some(&b'"') => {
                self.is_string = false;
                (at + 1, true)
            }
            Some(at) => {
                self.is_escaped = true;
                self.escapes += 1;
                (at + 1, false)
            }
        }
    }

    fn keep(&mut self, piece: &[u8], most: usize) {
        self.length += piece.len();
        // The digits of an escape may be in the next piece.
        if self.decoded() <= most + DIGITS {
            self.text.extend_from_slice(piece);
        } else {
            self.text = Vec::new();
        }
    }

    /// The length of the decoded text, which is never longer.
    const fn decoded(&self) -> usize {
        self.length.saturating_sub(self.escapes + QUOTES)
    }
}
