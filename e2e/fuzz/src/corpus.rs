//! Malformed inputs in JSON.

use crate::Random;
use serde_json::{Map, Value, json};

/// Fragments of JSON that are inserted at random positions of a text.
const FRAGMENTS: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\",
    ",",
    ":",
    "[[[[[[[[",
    "{\"a\":{\"b\":",
    "\\ud800",
    "\\u0000",
    "null",
    "true",
    "-",
    "1e999",
    "-1",
    "18446744073709551616",
    "0.1",
    "{}",
    "[]",
    "\"\"",
    "\u{fffd}",
];

/// Texts that break assumptions on names, paths, addresses and numbers.
const TEXTS: &[&str] = &[
    "",
    "..",
    "/",
    "../../etc/passwd",
    "/proc/self/root",
    "a/b",
    "a\u{0}b",
    "a\nb",
    "\u{202e}",
    "\u{e9}",
    "-",
    "0",
    "A",
    "null",
    "0.0.0.0/0",
    "255.255.255.255/32",
    "::/0",
    "fe80::1%eth0",
    "10.0.0.0/33",
    "02:00:00:00:00:01",
    "ff:ff:ff:ff:ff:ff",
    "abstract:x",
    "%s%n",
    "a;b=c",
    "IP=",
    "*",
    "{\"a\":1}",
    "99999999999999999999",
    "1e3",
    "01",
];

/// Valid inputs, from which malformed ones are made.
#[derive(Debug)]
pub struct Corpus {
    seeds: Vec<Value>,
    /// Keys and short texts of the seeds, which are inserted elsewhere.
    words: Vec<String>,
    values: Vec<Value>,
}

impl Corpus {
    /// Needs at least one seed.
    pub fn new(seeds: impl IntoIterator<Item = Value>) -> Self {
        let seeds: Vec<Value> = seeds.into_iter().collect();
        let (mut words, mut values) = (Vec::new(), Vec::new());
        seeds.iter().for_each(|seed| collect(seed, &mut words, &mut values));
        words.sort_unstable();
        words.dedup();
        Self { seeds, words, values }
    }

    /// Most inputs are seeds with a few values changed, so that they reach what comes after the
    /// syntax. Some have broken syntax, and some are noise.
    pub fn input(&self, random: &mut Random) -> Vec<u8> {
        if random.below(100) == 0 {
            return (0..random.below(256)).map(|_| random.byte()).collect();
        }
        let mut value = random.pick(&self.seeds).clone();
        for _ in 0..random.below(4) {
            self.change(random, &mut value);
        }
        let mut text = value.to_string().into_bytes();
        if random.below(8) == 0 {
            for _ in 0..=random.below(3) {
                break_syntax(random, &mut text);
            }
        }
        text
    }

    /// Returns a text for formats other than JSON.
    pub fn word(&self, random: &mut Random) -> String {
        match random.below(3) {
            0 => (*random.pick(TEXTS)).to_owned(),
            1 => random.pick(&self.words).repeat(random.below(40)),
            _ => random.pick(&self.words).clone(),
        }
    }

    fn change(&self, random: &mut Random, value: &mut Value) {
        match value {
            Value::Object(members) if !members.is_empty() && random.below(8) != 0 => {
                self.change_member(random, members);
            }
            Value::Array(elements) if !elements.is_empty() && random.below(8) != 0 => {
                let at = random.below(elements.len());
                match random.below(6) {
                    0 => drop(elements.remove(at)),
                    1 => elements.extend(elements.get(at).cloned()),
                    _ => elements.get_mut(at).into_iter().for_each(|element| self.change(random, element)),
                }
            }
            other => *other = self.value(random),
        }
    }

    fn change_member(&self, random: &mut Random, members: &mut Map<String, Value>) {
        let key = members.keys().nth(random.below(members.len())).cloned().unwrap_or_default();
        match random.below(8) {
            0 => drop(members.remove(&key)),
            1 => drop(members.insert(self.word(random), self.value(random))),
            2 => {
                // The member gets another key, or a key in other letters.
                let moved = members.remove(&key).unwrap_or_default();
                let to = if random.below(2) == 0 { key.to_uppercase() } else { self.word(random) };
                members.insert(to, moved);
            }
            _ => members.get_mut(&key).into_iter().for_each(|member| self.change(random, member)),
        }
    }

    fn value(&self, random: &mut Random) -> Value {
        match random.below(12) {
            0 => Value::Null,
            1 => json!(random.below(2) == 0),
            2 => json!(random.pick(&[0, 1, -1, 15, 4095, 4096, 65536, i64::MAX, i64::MIN])),
            3 => json!(random.pick(&[0.5, -0.0, 1e300])),
            4 => json!(random.pick(TEXTS).repeat(random.below(300))),
            5 => (0..random.below(100)).fold(json!({}), |inner, _| json!([inner])),
            6 | 7 => json!(self.word(random)),
            _ => random.pick(&self.values).clone(),
        }
    }
}

fn break_syntax(random: &mut Random, text: &mut Vec<u8>) {
    let at = random.below(text.len());
    match random.below(4) {
        0 => text.truncate(at),
        1 => {
            let byte = random.byte();
            text.iter_mut().skip(at).take(1).for_each(|old| *old = byte);
        }
        2 => {
            let end = text.len().min(at + random.below(4));
            drop(text.splice(at.min(end)..end, random.pick(FRAGMENTS).bytes()));
        }
        _ => {
            // A part of the text is repeated, so that whole values get to other places.
            let end = text.len().min(at + random.below(40));
            let part: Vec<u8> = text.get(at..end).unwrap_or_default().to_vec();
            let to = random.below(text.len());
            drop(text.splice(to..to, part));
        }
    }
}

fn collect(value: &Value, words: &mut Vec<String>, values: &mut Vec<Value>) {
    values.push(value.clone());
    match value {
        Value::String(text) if text.len() < 64 => words.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, words, values)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            words.push(key.clone());
            collect(member, words, values);
        }),
        _ => {}
    }
}
