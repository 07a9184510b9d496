//! Sort keys of texts: the bytes by which Access's indexes order and compare them, under its sort orders "General" and
//! "General - Legacy".
//!
//! What each UTF-16 unit adds to a key is a fact of Access, of which `data/*.bin` has runs of units: see `data/README.md`.

use super::bytes::too_large;
use super::format::SortOrder;
use bobak_core::Result;
use std::sync::OnceLock;

/// Units after these are no part of a key.
pub(super) const MAX_UNITS: usize = 255;

const LEGACY: &[u8] = include_bytes!("../../data/general_legacy.bin");
const GENERAL: &[u8] = include_bytes!("../../data/general.bin");

/// What follows the marks of kana.
const KANA_END: [u8; 5] = [0xff, 0x02, 0x80, 0xff, 0x80];
/// The marks of kana: three in a byte, each of two bits.
const KANA_START: u8 = 0x80;
const KANA_FIRST: u8 = 2;
const KANA_SECOND: u8 = 3;
/// What the second part of a key has for a unit without an accent.
const NO_ACCENT: u8 = 2;
/// The second part of a key for surrogates.
const SURROGATE: u8 = 0x3f;

/// Units in a row that differ only in the last bytes of their primary weight.
struct Run {
    first: u32,
    kind: WeightKind,
    weight: Vec<u8>,
    step: i8,
    second: Vec<u8>,
}

/// What units add to a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WeightKind {
    Nothing,
    /// A primary weight.
    Plain,
    /// A primary weight, and bytes of the second part.
    Accented,
    /// A place and bytes of the last part: hyphens, apostrophes, controls.
    Marked,
    /// Raises the last byte of the second part: combining accents.
    Combining,
    /// As `Accented`, and a mark of kana.
    FirstKana,
    SecondKana,
    Unknown,
}

/// What one unit adds.
struct Weights {
    kind: WeightKind,
    first: Vec<u8>,
    second: Vec<u8>,
}

/// The parts of a key while it is made.
#[derive(Default)]
struct TextKey {
    second: Vec<u8>,
    /// The units that `second` covers.
    covered: usize,
    /// The bytes of `second` before the first unit.
    leading: usize,
    has_second: bool,
    kana: Vec<u8>,
    marks: Vec<u8>,
}

/// Appends the sort key of a text.
///
/// # Errors
/// `OutOfRange` for a character whose place is not known.
pub(super) fn push(key: &mut Vec<u8>, text: &str, order: SortOrder, ascending: bool) -> Result<()> {
    let start = key.len();
    let mut units: Vec<u16> = text.encode_utf16().take(MAX_UNITS).collect();
    while units.last() == Some(&0x20) {
        units.pop();
    }
    let mut parts = TextKey::default();
    let mut place = 0;
    for unit in units {
        let weights = weights(unit, order);
        let own = place;
        if !weights.first.is_empty()
            && weights.kind != WeightKind::Marked
            && weights.kind != WeightKind::Combining
        {
            key.extend_from_slice(&weights.first);
            place += 1;
        }
        parts.add(own, &weights).map_err(|()| unknown(text))?;
    }
    key.push(1);
    parts.finish(key);
    if !ascending {
        key.push(0);
        key.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
    }
    key.push(0);
    Ok(())
}

#[cold]
fn unknown(text: &str) -> bobak_core::Error {
    let start: String = text.chars().take(40).collect();
    too_large(&format!(
        "'{start}' has a character of private use, whose place in Access's sort order is not known, and is in an index"
    ))
}

impl TextKey {
    fn add(&mut self, place: usize, weights: &Weights) -> std::result::Result<(), ()> {
        match weights.kind {
            WeightKind::Nothing | WeightKind::Plain => {}
            WeightKind::Unknown => return Err(()),
            WeightKind::Accented => self.add_second(place, &weights.second),
            WeightKind::FirstKana | WeightKind::SecondKana => {
                if !weights.second.is_empty() {
                    self.add_second(place, &weights.second);
                }
                let is_first = weights.kind == WeightKind::FirstKana;
                self.kana.push(if is_first { KANA_FIRST } else { KANA_SECOND });
            }
            WeightKind::Combining => {
                self.combine(place, weights.first.first().copied().unwrap_or(0))
            }
            WeightKind::Marked => self.mark(place, &weights.first),
        }
        Ok(())
    }

    /// The second part reaches to a unit.
    fn fill(&mut self, place: usize) {
        self.has_second = true;
        let missing = place.saturating_sub(self.covered);
        self.second.resize(self.second.len() + missing, NO_ACCENT);
        self.covered += missing;
    }

    fn add_second(&mut self, place: usize, bytes: &[u8]) {
        self.fill(place);
        self.second.extend_from_slice(bytes);
        self.covered += 1;
    }

    fn combine(&mut self, place: usize, accent: u8) {
        self.fill(place);
        match self.second.last_mut() {
            Some(last) => *last = last.wrapping_add(accent),
            None => {
                self.second.push(accent);
                self.leading = 1;
            }
        }
    }

    fn mark(&mut self, place: usize, bytes: &[u8]) {
        let place = match self.has_second {
            true => (self.second.len() + place).saturating_sub(self.covered + self.leading),
            false => place,
        };
        let at = u16::try_from(7 + 4 * place).unwrap_or(u16::MAX) | 0x8000;
        self.marks.extend(at.to_be_bytes());
        self.marks.push(6);
        self.marks.extend_from_slice(bytes);
    }

    fn finish(mut self, key: &mut Vec<u8>) {
        while self.second.last().is_some_and(|byte| *byte <= NO_ACCENT) {
            self.second.pop();
        }
        key.extend_from_slice(&self.second);
        if self.kana.is_empty() && self.marks.is_empty() {
            return;
        }
        key.extend([1, 1]);
        if !self.kana.is_empty() {
            push_kana(key, self.kana);
            if !self.marks.is_empty() {
                key.push(0xff);
            }
        }
        if !self.marks.is_empty() {
            key.push(1);
            key.extend(self.marks);
        }
    }
}

fn push_kana(key: &mut Vec<u8>, mut kana: Vec<u8>) {
    while kana.last() == Some(&KANA_SECOND) {
        kana.pop();
    }
    for part in kana.chunks(3) {
        let bits = part.iter().zip([4, 2, 0]).map(|(mark, shift)| mark << shift);
        key.push(bits.fold(KANA_START, |byte, mark| byte | mark));
    }
    key.extend(KANA_END);
}

fn weights(unit: u16, order: SortOrder) -> Weights {
    let surrogate = |number: u16| {
        let first = number.to_be_bytes().to_vec();
        Weights { kind: WeightKind::Accented, first, second: vec![SURROGATE] }
    };
    match unit {
        0xd800..=0xdbff => surrogate(unit - 10_238),
        0xdc00..=0xdfff => {
            // The weights of 254 units, and two that are left out.
            let parts = (unit - 0xdc00).saturating_sub(8) / 254 + u16::from(unit >= 0xdc08);
            surrogate(unit - 9_992 + 2 * parts.min(4))
        }
        _ => {
            let runs = runs(order);
            let after = runs.partition_point(|run| run.first <= u32::from(unit));
            let run = after.checked_sub(1).and_then(|at| runs.get(at));
            run.map_or(
                Weights { kind: WeightKind::Unknown, first: vec![], second: vec![] },
                |run| run.weights(u32::from(unit) - run.first),
            )
        }
    }
}

impl Run {
    fn weights(&self, distance: u32) -> Weights {
        let mut first = self.weight.clone();
        let mut rest = i64::from(self.step) * i64::from(distance);
        for byte in first.iter_mut().rev() {
            let sum = rest + i64::from(*byte);
            *byte = sum.rem_euclid(256).try_into().unwrap_or_default();
            rest = sum.div_euclid(256);
        }
        Weights { kind: self.kind, first, second: self.second.clone() }
    }
}

/// The runs of a sort order.
fn runs(order: SortOrder) -> &'static [Run] {
    static LEGACY_RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    static GENERAL_RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    match order {
        SortOrder::GeneralLegacy => LEGACY_RUNS.get_or_init(|| parse(LEGACY)),
        SortOrder::General => GENERAL_RUNS.get_or_init(|| parse(GENERAL)),
    }
}

/// A run is: the kind and the length of the weight, the number of units, the step, the weight, and the second part.
fn parse(mut bytes: &[u8]) -> Vec<Run> {
    let (mut runs, mut first) = (Vec::new(), 0);
    while let Some((run, units, rest)) = parse_run(bytes, first) {
        first += units;
        runs.push(run);
        bytes = rest;
    }
    runs
}

fn parse_run(bytes: &[u8], first: u32) -> Option<(Run, u32, &[u8])> {
    const KINDS: [WeightKind; 8] = [
        WeightKind::Nothing,
        WeightKind::Plain,
        WeightKind::Accented,
        WeightKind::Marked,
        WeightKind::Combining,
        WeightKind::FirstKana,
        WeightKind::SecondKana,
        WeightKind::Unknown,
    ];
    let (head, mut rest) = bytes.split_first()?;
    let kind = *KINDS.get(usize::from(head & 7))?;
    let (mut units, mut shift) = (0, 0);
    loop {
        let (byte, after) = rest.split_first()?;
        (units, shift, rest) = (units | u32::from(byte & 0x7f) << shift, shift + 7, after);
        if byte & 0x80 == 0 {
            break;
        }
    }
    let length = usize::from(head >> 3);
    let mut step = 0;
    if length > 0 && units > 1 {
        let (byte, after) = rest.split_first()?;
        (step, rest) = (byte.cast_signed(), after);
    }
    let (weight, mut rest) = rest.split_at_checked(length)?;
    let mut second: &[u8] = &[];
    if matches!(kind, WeightKind::Accented | WeightKind::FirstKana | WeightKind::SecondKana) {
        let (length, after) = rest.split_first()?;
        (second, rest) = after.split_at_checked(usize::from(*length))?;
    }
    let (weight, second) = (weight.to_vec(), second.to_vec());
    Some((Run { first, kind, weight, step, second }, units, rest))
}
