//! Plausible values of a column, by its type, name and rules.

use super::limits::ValueLimits;
use super::random::Random;
use super::words::{Subject, words};
use bobak::Value;
use bobak::prelude::Uuid;
use bobak::schema::{ColumnSchema, Storage, Type};

/// How the values of one column are made.
#[derive(Debug)]
pub struct ValueSource {
    ty: Type,
    nullable: bool,
    limits: ValueLimits,
    subject: Subject,
    /// Plausible numbers, in stored units.
    usual: (i64, i64),
    max_chars: usize,
    /// The values differ by this column alone.
    pub is_unique: bool,
    /// It is one of several columns whose values differ together.
    pub is_in_unique: bool,
}

/// The number of tries after which values may be implausible.
const PLAUSIBLE_TRIES: u32 = 20;

/// 2021-01-01 and 2025-12-31, in days: a sample does not depend on the day.
const RECENT_DAYS: (i64, i64) = (18_628, 20_453);
const BIRTH_DAYS: (i64, i64) = (-7_305, 13_878);
const DAY: i64 = 86_400_000_000;
/// What money is stored in: ten-thousandths.
const UNIT: i64 = 10_000;

impl ValueSource {
    /// The source for a column of a table.
    pub fn new(table: &str, column: &ColumnSchema, limits: ValueLimits) -> Self {
        let max_chars = column.max_chars.map_or(usize::MAX, |max| max as usize);
        Self {
            ty: column.ty,
            nullable: column.nullable,
            subject: Subject::of(table, &column.name),
            usual: usual(column.ty, &words(&column.name)),
            max_chars: max_chars.min(limits.max_chars.unwrap_or(usize::MAX)),
            limits,
            is_unique: false,
            is_in_unique: false,
        }
    }

    /// A value for a row. The more tries failed, the less plausible.
    pub fn value(&self, random: &mut Random, row: u64, tries: u32) -> Value<'static> {
        if self.nullable && !self.is_unique && random.percent(10) {
            return Value::Null;
        }
        if let Some(choice) = random.pick(&self.limits.choices) {
            return choice.clone();
        }
        match self.ty.storage() {
            Storage::Int => Value::Int(self.integer(random, row, tries)),
            Storage::Float => {
                let (low, high) = self.range(tries);
                let hundredths = random.between(low.saturating_mul(100), high.saturating_mul(100));
                Value::Float(hundredths as f64 / 100.0)
            }
            Storage::Text if self.ty == Type::Json => {
                let name = Subject::Word.text(random);
                Value::from(format!("{{\"{name}\":{}}}", random.below(1_000)))
            }
            Storage::Text => Value::from(self.text(random, row, tries)),
            Storage::Bytes => {
                let bytes = random_bytes(random);
                let bytes = if self.ty == Type::Uuid { version_4(bytes) } else { bytes };
                Value::from(bytes.to_vec())
            }
            Storage::Any => Value::Int(random.between(0, 1_000)),
        }
    }

    fn integer(&self, random: &mut Random, row: u64, tries: u32) -> i64 {
        let ((low, high), step) = (self.range(tries), self.limits.step.max(1));
        let plain = !matches!(self.ty, Type::Date | Type::Time | Type::DateTime | Type::Timestamp);
        if self.is_unique && plain && tries == 0 {
            // Numbers that differ are consecutive.
            let next = low.max(1).saturating_add_unsigned(row.saturating_mul(step as u64));
            let next = next - next.rem_euclid(step);
            if next <= self.range(PLAUSIBLE_TRIES).1 {
                return next.max(low);
            }
        }
        if step > 1 {
            let first = low.div_euclid(step) + i64::from(low % step != 0);
            return random.between(first, high.div_euclid(step)) * step;
        }
        match self.ty {
            // Whole cents, from the first one in the range.
            Type::Currency if high - low >= UNIT / 100 && tries < PLAUSIBLE_TRIES => {
                let cent = UNIT / 100;
                random.between(low.div_euclid(cent) + i64::from(low % cent != 0), high / cent)
                    * cent
            }
            // Whole seconds.
            Type::DateTime | Type::Timestamp | Type::Time if tries < PLAUSIBLE_TRIES => {
                let value = random.between(low, high);
                (value - value.rem_euclid(1_000_000)).max(low)
            }
            _ => random.between(low, high),
        }
    }

    /// The range of numbers: the usual one within the limits, or all that the column may have.
    fn range(&self, tries: u32) -> (i64, i64) {
        let (least, most) = match self.ty {
            Type::F32 | Type::F64 => (-1_000_000, 1_000_000),
            Type::Date => (-25_567, 47_482),
            Type::DateTime | Type::Timestamp => (-25_567 * DAY, 47_482 * DAY),
            Type::Currency => (-1_000_000 * UNIT, 1_000_000 * UNIT),
            ty => ty.integer_range().unwrap_or((0, 1_000)),
        };
        let low = self.limits.low.map(|low| low.ceil() as i64);
        let high = self.limits.high.map(|high| high.floor() as i64);
        let (usual_low, usual_high) = self.usual;
        if tries >= PLAUSIBLE_TRIES {
            return (
                low.unwrap_or(least).max(least),
                high.unwrap_or(most.max(low.unwrap_or(most))),
            );
        }
        // Such as years in a column of bytes.
        let (usual_low, usual_high) =
            if usual_low > most { (least.max(0), most) } else { (usual_low, usual_high) };
        let width = usual_high - usual_low;
        match (low, high) {
            (None, None) => (usual_low.max(least), usual_high.min(most)),
            (Some(low), None) if low <= usual_low => (usual_low, usual_high.min(most)),
            (Some(low), None) => (low, low.saturating_add(width)),
            (None, Some(high)) if high >= usual_high => (usual_low.max(least), usual_high),
            (None, Some(high)) => (high.saturating_sub(width).max(least), high),
            (Some(low), Some(high)) => {
                let (inner_low, inner_high) = (low.max(usual_low), high.min(usual_high));
                if inner_low < inner_high { (inner_low, inner_high) } else { (low, high) }
            }
        }
    }

    fn text(&self, random: &mut Random, row: u64, tries: u32) -> String {
        if self.limits.is_uuid {
            return Uuid::from_bytes(version_4(random_bytes(random))).to_string();
        }
        let mut text = self.subject.text(random);
        while text.chars().count() < self.limits.min_chars {
            text.push_str(&Subject::Word.text(random));
        }
        let mut text: String = text.chars().take(self.max_chars).collect();
        text.truncate(text.trim_end().len());
        match tries {
            0 => text,
            _ if !self.is_in_unique => text,
            1 => self.subject.numbered(&text, row, self.max_chars),
            _ => self.subject.numbered(&text, random.below(1_000_000_000_000), self.max_chars),
        }
    }
}

fn random_bytes(random: &mut Random) -> [u8; 16] {
    (u128::from(random.number()) << 64 | u128::from(random.number())).to_be_bytes()
}

/// A random UUID is one of version 4.
const fn version_4(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// Plausible numbers of a column, in stored units.
fn usual(ty: Type, words: &[String]) -> (i64, i64) {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    match ty {
        Type::Bool => (0, 1),
        Type::Date if has(&["birth", "born", "birthday", "birthdate", "dob"]) => BIRTH_DAYS,
        Type::Date => RECENT_DAYS,
        Type::Time => (6 * 3_600_000_000, 22 * 3_600_000_000),
        Type::DateTime | Type::Timestamp => (RECENT_DAYS.0 * DAY, RECENT_DAYS.1 * DAY),
        Type::Currency => (UNIT, 500 * UNIT),
        _ if has(&["age"]) => (18, 90),
        _ if has(&["year"]) => (1990, 2025),
        _ if has(&["month"]) => (1, 12),
        _ if has(&["day"]) => (1, 28),
        _ if has(&["rating", "stars", "score"]) => (1, 5),
        _ if has(&["quantity", "qty", "count", "pieces"]) => (1, 10),
        _ if has(&["percent", "percentage", "discount"]) => (0, 100),
        _ if has(&["lat", "latitude"]) => (-90, 90),
        _ if has(&["lon", "lng", "longitude"]) => (-180, 180),
        _ if has(&["price", "amount", "total", "cost", "cents"]) => (1, 500),
        Type::I8 | Type::U8 => (0, 100),
        _ => (0, 1_000),
    }
}
