//! Values of a column as those of another type.

use crate::copy::as_currency;
use bobak_core::{
    ColumnRole, ColumnSchema, Error, ErrorKind, FieldSet, OnError, Result, Select, Session, Source,
    TableSchema, Type, Value, ValueRef, Verb, Write, WriteBatch, change_log,
    convert as convert_number,
};
use std::sync::Arc;

/// The number of rows that are read and written at a time.
const ROWS: u64 = 1_000;
/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Sets the column `to` of each row to the value of `from`, as one of `to`'s type, and the columns `kept` to their own
/// values. Each part of the rows is a write of its own, or part of the open transaction.
///
/// # Errors
/// `Mismatch` or `OutOfRange` for a value that the type does not have, with the row's key.
pub(super) fn run(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    from: usize,
    to: usize,
    kept: &[usize],
) -> Result<()> {
    set_in_each_row(session, table, to, kept, |table, row| {
        let before = row.get(to).cloned();
        set_converted(table, row, from, to)?;
        Ok(row.get(to) != before.as_ref())
    })
}

/// Sets the values of the column `to` in a change log to those of `from`, where a change has none. What `to`'s type does not have
/// becomes NULL.
///
/// # Errors
/// Those of the engine.
pub(super) fn run_in_log(
    session: &dyn Session,
    table: &TableSchema,
    from: usize,
    to: usize,
) -> Result<()> {
    let log = Arc::new(change_log::log_schema(table, false)?);
    for place in [change_log::old_column, change_log::new_column] {
        let set = set_in_each_row(session, &log, place(to), &[], |log, row| {
            let is_set = row.get(place(to)).is_some_and(|value| *value != Value::Null);
            let is_empty = row.get(place(from)).is_none_or(|value| *value == Value::Null);
            Ok(!is_set && !is_empty && set_converted(log, row, place(from), place(to)).is_ok())
        });
        match set {
            // A killed process has renamed the log's columns already.
            Err(error) if error.kind() == ErrorKind::Schema => return Ok(()),
            set => set?,
        }
    }
    Ok(())
}

/// Sets a column to a value in each row where it is NULL, and the columns `kept` to their own values.
///
/// # Errors
/// Those of the engine.
pub(super) fn fill(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    column: usize,
    value: &Value<'static>,
    kept: &[usize],
) -> Result<()> {
    set_in_each_row(session, table, column, kept, |_, row| match row.get_mut(column) {
        Some(slot @ Value::Null) => {
            *slot = value.clone();
            Ok(true)
        }
        _ => Ok(false),
    })
}

/// Writes the column `to`, and those in `kept`, of each row that `set` changes.
fn set_in_each_row(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    to: usize,
    kept: &[usize],
    set: impl Fn(&TableSchema, &mut [Value<'static>]) -> Result<bool>,
) -> Result<()> {
    // Neither time stamps nor versions change.
    let plain = TableSchema::clone(table).map_columns(|column| column.role(ColumnRole::Plain))?;
    let plain = Arc::new(plain);
    let fields = FieldSet::from_iter(kept.iter().copied().chain([to]));
    let mut after: Option<Vec<Value<'static>>> = None;
    loop {
        let mut select = Select::all(&plain);
        if let Some(key) = &after {
            select = select.after(key)?;
        }
        select.limit = Some(ROWS);
        let mut rows: Vec<Vec<Value<'static>>> = Vec::new();
        session.query(&Source::Select(&select), &mut |row| {
            rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
            Ok(true)
        })?;
        let mut batch = WriteBatch::new();
        for row in &mut rows {
            if !set(&plain, row)? {
                continue;
            }
            let verb = Verb::Update;
            batch.push_unstamped(&Write { table: &plain, verb, fields, values: row })?;
        }
        let Some(last) = rows.last() else { return Ok(()) };
        after = Some(key_of(&plain, last));
        let mut failed = None;
        session.batch(&batch, OnError::Stop, &mut |result| {
            failed = failed.take().or(result.err());
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
}

fn set_converted(
    table: &TableSchema,
    row: &mut [Value<'static>],
    from: usize,
    to: usize,
) -> Result<()> {
    let (source, target) = (table.column_at(from)?, table.column_at(to)?);
    let value = row.get(from).map_or(ValueRef::Null, Value::as_ref);
    let converted = convert(source, target, value).map_err(|error| {
        let key: Vec<_> = key_of(table, row).iter().map(|part| show(part.as_ref())).collect();
        let message = format!(
            "the value {} of the row with key {} cannot become {}: {}",
            show(value),
            key.join(", "),
            target.ty,
            error.message()
        );
        let error = Error::new(error.kind(), message);
        error.in_table(table.name().to_owned()).in_column(source.name.to_string())
    })?;
    if let Some(slot) = row.get_mut(to) {
        *slot = converted;
    }
    Ok(())
}

fn key_of(table: &TableSchema, row: &[Value<'static>]) -> Vec<Value<'static>> {
    table.key().iter().filter_map(|place| row.get(*place).cloned()).collect()
}

fn show(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Int(integer) => integer.to_string(),
        ValueRef::Float(float) => float.to_string(),
        ValueRef::Text(text) => format!("'{}'", text.chars().take(40).collect::<String>()),
        ValueRef::Bytes(bytes) => format!("of {} bytes", bytes.len()),
    }
}

/// A stored value of one column as a stored value of another; nothing is rounded.
fn convert(from: &ColumnSchema, to: &ColumnSchema, value: ValueRef<'_>) -> Result<Value<'static>> {
    match (value, to.ty) {
        (ValueRef::Null, _) => Ok(Value::Null),
        (ValueRef::Text(text), ty) if !from.ty.has_text_form() => to.accept(parsed(text, ty)?),
        (value, Type::Text) => to.accept(Value::from(text_of(from, value)?)),
        (ValueRef::Int(integer), Type::Bool) if from.ty != Type::Currency => match integer {
            0 | 1 => Ok(Value::Int(integer)),
            _ => Err(Error::new(ErrorKind::OutOfRange, "only 0 and 1 become a boolean")),
        },
        (ValueRef::Float(_), Type::Currency) => {
            let message = "it has more than four decimals, or too many digits";
            let amount =
                as_currency(value).ok_or_else(|| Error::new(ErrorKind::OutOfRange, message));
            to.accept(Value::Int(amount?))
        }
        (ValueRef::Float(float), ty) if ty.integer_range().is_some() => {
            let integer = float as i64;
            if integer as f64 == float && float.abs() < 9e15 && !ty.has_text_form() {
                return to.accept(convert_number(ValueRef::Int(integer), Type::I64, ty)?.into());
            }
            Err(Error::new(ErrorKind::OutOfRange, "it is not a whole number"))
        }
        (value, Type::DateTime) if from.ty == Type::Date => {
            to.accept(Value::Int(number_of(Type::Date, value)? * DAY))
        }
        (value, Type::Date) if from.ty == Type::DateTime => {
            let microseconds = number_of(Type::DateTime, value)?;
            if microseconds % DAY != 0 {
                return Err(Error::new(ErrorKind::OutOfRange, "it has a time of day"));
            }
            to.accept(Value::Int(microseconds / DAY))
        }
        (value, ty) => to.accept(convert_number(value, from.ty, ty)?.into()),
    }
}

/// The stored number of a date or time, which may be kept as text.
fn number_of(ty: Type, value: ValueRef<'_>) -> Result<i64> {
    match ColumnSchema::new("", ty).accept(value.into())? {
        Value::Int(number) => Ok(number),
        other => Err(Error::mismatch(ty.name(), other.as_ref())),
    }
}

/// The value that a text shows.
fn parsed(text: &str, ty: Type) -> Result<Value<'static>> {
    let unreadable = || Error::new(ErrorKind::Mismatch, format!("the text is not {}", ty.name()));
    let trimmed = text.trim();
    Ok(match ty {
        Type::Bool => match trimmed {
            "true" | "1" => Value::Int(1),
            "false" | "0" => Value::Int(0),
            _ => return Err(unreadable()),
        },
        Type::F32 | Type::F64 => {
            let float: f64 = trimmed.parse().map_err(|_| unreadable())?;
            let shortest =
                if ty == Type::F32 { format!("{:e}", float as f32) } else { format!("{float:e}") };
            // That of a number that is too large is `inf`, which has none.
            if digits(trimmed) != digits(&shortest) {
                return Err(too_exact("float"));
            }
            Value::Float(float)
        }
        Type::Time | Type::DateTime | Type::Timestamp if has_nanoseconds(trimmed) => {
            return Err(too_exact(ty.name()));
        }
        Type::Currency => {
            let amount: bobak_core::Currency = trimmed.parse().map_err(|_| unreadable())?;
            Value::Int(amount.scaled())
        }
        Type::Bytes => Value::from(text.as_bytes().to_vec()),
        ty if ty.has_text_form() || matches!(ty, Type::Text | Type::Json | Type::Any) => {
            Value::from(text.to_owned())
        }
        _ => Value::Int(trimmed.parse().map_err(|_| unreadable())?),
    })
}

fn too_exact(kind: &str) -> Error {
    let message = format!("it has more digits than a {kind} keeps");
    Error::new(ErrorKind::OutOfRange, message)
}

/// The digits of a number that do not depend on its exponent.
fn digits(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// Whether a time has digits behind the microseconds.
fn has_nanoseconds(time: &str) -> bool {
    let fraction = time.rsplit_once('.').map_or("", |(_, fraction)| fraction);
    fraction.chars().take_while(char::is_ascii_digit).skip(6).any(|digit| digit != '0')
}

/// The text that shows a value.
fn text_of(from: &ColumnSchema, value: ValueRef<'_>) -> Result<String> {
    Ok(match value {
        ValueRef::Text(text) => text.to_owned(),
        ValueRef::Int(0) if from.ty == Type::Bool => "false".to_owned(),
        ValueRef::Int(_) if from.ty == Type::Bool => "true".to_owned(),
        ValueRef::Int(scaled) if from.ty == Type::Currency => {
            bobak_core::Currency::from_scaled(scaled).to_string()
        }
        value if from.ty.has_text_form() => {
            let shown = ColumnSchema::new("", from.ty).as_text().accept(value.into())?;
            return match shown {
                Value::Text(text) => Ok(text.into_owned()),
                _ => Err(Error::new(ErrorKind::Mismatch, "the value has no text form")),
            };
        }
        ValueRef::Int(integer) => integer.to_string(),
        ValueRef::Float(float) => format!("{float:?}"),
        ValueRef::Bytes(bytes) => std::str::from_utf8(bytes)
            .map_err(|_| Error::new(ErrorKind::Mismatch, "the bytes are not UTF-8"))?
            .to_owned(),
        ValueRef::Null => String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_date_times_and_back_if_nothing_is_lost() {
        let column = |ty| ColumnSchema::new("at", ty);
        let (date, date_time) = (column(Type::Date), column(Type::DateTime));
        let (date_text, date_time_text) = (date.clone().as_text(), date_time.clone().as_text());
        for (day, text) in [(19_404, "2023-02-16"), (-1, "1969-12-31")] {
            let (number, text) = (ValueRef::Int(day), Value::from(text));
            let midnight = Value::Int(day * DAY);
            assert_eq!(convert(&date, &date_time, number).unwrap(), midnight);
            assert_eq!(convert(&date_text, &date_time, text.as_ref()).unwrap(), midnight);
            assert_eq!(convert(&date_time, &date, midnight.as_ref()).unwrap(), Value::Int(day));
            let shown = convert(&date, &date_time_text, number).unwrap();
            assert_eq!(convert(&date_time_text, &date_text, shown.as_ref()).unwrap(), text);
        }
        let error = convert(&date_time, &date, ValueRef::Int(DAY + 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        assert!(error.to_string().contains("it has a time of day"), "{error}");
    }
}
