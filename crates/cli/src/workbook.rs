//! Cells of workbooks (`.xlsx`), and how Bobak's values become cells and cells become values again.
//!
//! A workbook's numbers are floats that Excel shows with 15 digits, and its dates are numbers with a format. What such a cell
//! does not hold exactly is a cell of text: integers of more than 15 digits, microseconds, instants, dates before March 1900.

use crate::import::csv_reader::{CELL_TEXT, EMPTY_CELL};
use bobak::ValueRef;
use bobak::schema::Type;
use bobak_text::write;

/// The most UTF-16 code units of a cell's text.
pub const MAX_TEXT: usize = 32_767;
/// The most rows of a sheet.
pub const MAX_ROWS: u32 = 1 << 20;

/// The digits that Excel keeps of a number.
const DIGITS: usize = 15;
/// The serial number of 1970-01-01.
const EPOCH: f64 = 25_569.0;
/// 1900-03-01: before it Excel counts a day that did not exist.
const SERIAL_BEGIN: f64 = 61.0;
/// The day after 9999-12-31, Excel's last.
pub const SERIAL_END: f64 = 2_958_466.0;
const MILLISECONDS_PER_DAY: f64 = 86_400_000.0;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum SheetCell {
    Empty,
    Bool(bool),
    Number(f64),
    Text(String),
    /// The serial number of a day, with a fraction for the time of day.
    Date(f64),
    DateTime(f64),
    /// A fraction of a day.
    Time(f64),
}

impl SheetCell {
    /// The cell for a value of a column of type `ty`.
    pub fn of_value(ty: Type, value: ValueRef<'_>) -> Self {
        let mut text = String::new();
        write::write(&mut text, ty, value);
        let number = match (ty, value) {
            (_, ValueRef::Null) => return Self::Empty,
            (Type::Bool, ValueRef::Int(0 | 1)) => return Self::Bool(text == "true"),
            (Type::Date, ValueRef::Int(days)) => Some(Self::Date(days as f64 + EPOCH)),
            (Type::DateTime, ValueRef::Int(micros)) => {
                days(micros).map(|days| Self::DateTime(days + EPOCH))
            }
            (Type::Time, ValueRef::Int(micros)) => days(micros).map(Self::Time),
            (_, ValueRef::Float(float)) if float.is_finite() => Some(Self::Number(float)),
            _ if write::is_number(ty, value) && fits(&text) => text.parse().ok().map(Self::Number),
            _ => None,
        };
        match number {
            Some(Self::Date(serial) | Self::DateTime(serial))
                if !(SERIAL_BEGIN..SERIAL_END).contains(&serial) =>
            {
                Self::Text(text)
            }
            Some(cell) => cell,
            None => Self::Text(text),
        }
    }

    /// The field for the import. Of a column with times of day, dates have one too.
    pub fn field(&self, has_times: bool) -> Vec<u8> {
        match self {
            Self::Empty => EMPTY_CELL.to_vec(),
            Self::Bool(true) => b"true".to_vec(),
            Self::Bool(false) => b"false".to_vec(),
            Self::Number(number) => number_text(*number).into_bytes(),
            Self::Text(text) => [CELL_TEXT, text.as_bytes()].concat(),
            Self::Time(days) => [CELL_TEXT, time_text(*days).as_bytes()].concat(),
            Self::Date(serial) if !has_times => date_text(*serial).into_bytes(),
            Self::Date(serial) | Self::DateTime(serial) => {
                // Rounded before the day is split off, since 23:59:59.9999 is the next day.
                let serial = (serial * MILLISECONDS_PER_DAY).round() / MILLISECONDS_PER_DAY;
                format!("{}T{}", date_text(serial), time_text(serial.fract())).into_bytes()
            }
        }
    }
}

/// Microseconds as a fraction of days; `None` if a workbook, which has milliseconds, would round them.
fn days(micros: i64) -> Option<f64> {
    (micros % 1000 == 0).then_some((micros / 1000) as f64 / MILLISECONDS_PER_DAY)
}

/// Whether Excel keeps all digits of a decimal number.
fn fits(number: &str) -> bool {
    number.bytes().filter(u8::is_ascii_digit).count() <= DIGITS
}

fn number_text(number: f64) -> String {
    let mut text = String::new();
    let is_integer = number.fract() == 0.0 && number.abs() < 1e15;
    // Excel has no negative zero.
    let value = if is_integer { ValueRef::Int(number as i64) } else { ValueRef::Float(number) };
    write::write(&mut text, Type::Any, value);
    text
}

fn date_text(serial: f64) -> String {
    let mut text = String::new();
    let days = (serial.floor() - EPOCH) as i64;
    write::write(&mut text, Type::Date, ValueRef::Int(days));
    text
}

/// `23:59:59.999`. A duration may have more hours than a day.
fn time_text(days: f64) -> String {
    let millis = (days * MILLISECONDS_PER_DAY).round() as u64;
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let fraction = if rest == 0 { String::new() } else { format!(".{rest:03}") };
    format!("{hours:02}:{minutes:02}:{:02}{fraction}", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::infer;
    use bobak::Value;

    /// The field that an import reads for the value, without its marker.
    fn text(ty: Type, value: &Value<'_>) -> (SheetCell, String) {
        let cell = SheetCell::of_value(ty, value.as_ref());
        let field = cell.field(false);
        let (text, _) = crate::import::csv_reader::field_text(&field);
        let text = String::from_utf8(text.to_vec()).expect("text");
        (cell, text)
    }

    #[test]
    fn what_a_number_cannot_hold_is_text() {
        let micros = 1_388_534_400_000_000;
        for (ty, value, cell) in [
            (Type::I64, Value::Int(999_999_999_999_999), SheetCell::Number(999_999_999_999_999.0)),
            (
                Type::I64,
                Value::Int(-1_000_000_000_000_000),
                SheetCell::Text("-1000000000000000".into()),
            ),
            (Type::F64, Value::Float(0.1 + 0.2), SheetCell::Number(0.1 + 0.2)),
            (Type::Currency, Value::Int(199_900), SheetCell::Number(19.99)),
            (Type::Currency, Value::Int(i64::MAX), SheetCell::Text("922337203685477.5807".into())),
            (Type::Bool, Value::Int(1), SheetCell::Bool(true)),
            (Type::Date, Value::Int(16_071), SheetCell::Date(41_640.0)),
            (Type::Date, Value::Int(-25_509), SheetCell::Text("1900-02-28".into())),
            (Type::Date, Value::Int(-25_508), SheetCell::Date(61.0)),
            (Type::DateTime, Value::Int(micros), SheetCell::DateTime(41_640.0)),
            (
                Type::DateTime,
                Value::Int(micros + 1),
                SheetCell::Text("2014-01-01T00:00:00.000001".into()),
            ),
            (Type::Timestamp, Value::Int(micros), SheetCell::Text("2014-01-01T00:00:00Z".into())),
            (Type::Text, Value::from("12"), SheetCell::Text("12".into())),
            (Type::Text, Value::Null, SheetCell::Empty),
        ] {
            assert_eq!(SheetCell::of_value(ty, value.as_ref()), cell, "{ty:?} {value:?}");
        }
    }

    #[test]
    fn values_come_back() {
        for (ty, value) in [
            (Type::I64, Value::Int(i64::MIN)),
            (Type::I64, Value::Int(0)),
            (Type::F64, Value::Float(1e300)),
            (Type::F64, Value::Float(-5e-324)),
            (Type::Currency, Value::Int(-1)),
            (Type::Bool, Value::Int(0)),
            (Type::Date, Value::Int(0)),
            (Type::DateTime, Value::Int(1_388_591_999_999_000)),
            (Type::DateTime, Value::Int(-1)),
            (Type::Time, Value::Int(86_399_999_000)),
            (Type::Time, Value::Int(1)),
            (Type::Timestamp, Value::Int(1_388_548_800_123_456)),
            (Type::Text, Value::from("007")),
            (Type::Text, Value::from("")),
            (Type::Json, Value::from("[1]")),
            (Type::Bytes, Value::from(vec![0_u8, 255])),
        ] {
            let (cell, text) = text(ty, &value);
            let field = cell.field(false);
            let read = infer::value(ty, &field);
            assert_eq!(read, Ok(value), "{ty:?} {text}");
        }
    }

    #[test]
    fn dates_beside_times_of_day_have_midnight() {
        assert_eq!(SheetCell::Date(41_640.0).field(true), b"2014-01-01T00:00:00");
        assert_eq!(SheetCell::Date(41_640.0).field(false), b"2014-01-01");
        assert_eq!(SheetCell::DateTime(41_640.999_999_999_9).field(true), b"2014-01-02T00:00:00");
    }
}
