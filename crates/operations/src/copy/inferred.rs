//! The values of a table whose columns hold what their types do not say: other programs' SQLite files. From
//! all values of a column follows the type that it has in a database with strict types.

use super::table_copy::walk;
use super::values::{as_currency, as_float, cast, has_form};
use bobak_core::{ColumnSchema, Engine, Result, Select, TableSchema, Type, Value, ValueRef};
use std::sync::Arc;

/// What is known about a column's values.
#[derive(Clone, Debug, Default)]
struct ColumnSample {
    /// The type that the user wants, which the values must have.
    given: Option<ColumnSchema>,
    /// Whether it is part of the key or of a foreign key.
    is_key: bool,
    nulls: u64,
    integers: u64,
    floats: u64,
    texts: u64,
    bytes: u64,
    /// The number of values that the column's own type does not have, and the first of them.
    misfits: u64,
    misfit: Option<Value<'static>>,
    /// The most characters of a text.
    longest: usize,
    has_nul: bool,
    has_infinity: bool,
    range: Option<(i64, i64)>,
    inexact_float: bool,
    inexact_currency: bool,
    /// For each of [`FORMS`], whether a text is not of this type.
    not_of_form: [bool; FORMS.len()],
}

/// The types that texts can be of.
const FORMS: [Type; 5] = [Type::Date, Type::DateTime, Type::Timestamp, Type::Uuid, Type::Json];

/// What the target cannot store.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetLimits {
    pub nul_in_text: bool,
    pub finite_floats: bool,
    pub untyped_columns: bool,
}

/// The type that a column gets, and what it loses by that.
#[derive(Debug)]
pub(super) struct Decision {
    pub column: ColumnSchema,
    pub loss: Option<String>,
    /// Whether values are converted although the type stays, without a loss: texts of UUIDs.
    pub is_converted: bool,
}

/// Reads all rows of the table and decides the type of each column, unless it is given. Dates that do not exist are NULL.
///
/// # Errors
/// `Mismatch` for a value that does not have the given type; those of the engine.
pub(super) fn infer(
    engine: &dyn Engine,
    table: &Arc<TableSchema>,
    given: &[Option<Type>],
    limits: TargetLimits,
    has_invalid_dates: bool,
) -> Result<Vec<Decision>> {
    let is_key = |position: usize| {
        let mut keys = table.all_foreign_keys().into_iter().map(|key| key.columns);
        table.key().contains(&position) || keys.any(|columns| columns.contains(&position))
    };
    let sample = |(position, (column, given)): (usize, (&ColumnSchema, &Option<Type>))| {
        let given = given.map(|ty| retyped(column, ty));
        ColumnSample { given, is_key: is_key(position), ..ColumnSample::default() }
    };
    let mut columns: Vec<ColumnSample> =
        table.columns().iter().zip(given).enumerate().map(sample).collect();
    let session = engine.session()?;
    if has_invalid_dates {
        session.read_invalid_dates_as_null()?;
    }
    walk(&*session, &Select::all(table), |row| {
        for (position, (values, column)) in columns.iter_mut().zip(table.columns()).enumerate() {
            match &values.given {
                Some(given) => drop(cast(given, row.get(position))?),
                None => values.observe(column, row.get(position)),
            }
        }
        Ok(())
    })?;
    let decide = |(column, values): (&ColumnSchema, &ColumnSample)| match &values.given {
        Some(given) => Decision { column: given.clone(), loss: None, is_converted: false },
        None => values.decide(column, limits),
    };
    let decide = |(column, values): (&ColumnSchema, &ColumnSample)| {
        let mut decision = decide((column, values));
        if let (Some(default), None) = (&column.default, &decision.column.default) {
            let what = format!("default {} of column {}", show(default), column.name);
            let before = decision.loss.map(|loss| format!("{loss}; "));
            decision.loss = Some(before.unwrap_or_default() + &what);
        }
        decision
    };
    Ok(table.columns().iter().zip(&columns).map(decide).collect())
}

impl ColumnSample {
    fn observe(&mut self, column: &ColumnSchema, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.nulls += 1,
            ValueRef::Int(integer) => {
                self.integers += 1;
                let (low, high) = self.range.unwrap_or((integer, integer));
                self.range = Some((low.min(integer), high.max(integer)));
                self.inexact_float |= as_float(integer).is_none();
                self.inexact_currency |= as_currency(value).is_none();
            }
            ValueRef::Float(float) => {
                self.floats += 1;
                self.has_infinity |= float.is_infinite();
                self.inexact_currency |= as_currency(value).is_none();
            }
            ValueRef::Text(text) => {
                self.texts += 1;
                self.longest = self.longest.max(text.chars().count());
                self.has_nul |= text.contains('\0');
                for (not, ty) in self.not_of_form.iter_mut().zip(FORMS) {
                    *not = *not || !has_form(ty, text);
                }
            }
            ValueRef::Bytes(_) => self.bytes += 1,
        }
        // A limit of characters is checked at the end.
        let fits = match (column.ty, value) {
            (Type::Json, ValueRef::Text(text)) => has_form(Type::Json, text),
            (_, ValueRef::Text(_)) if column.ty == Type::Text => true,
            // SQLite keeps whole floats as integers.
            (Type::F64 | Type::F32, ValueRef::Int(integer)) => as_float(integer).is_some(),
            _ => column.check_stored(value).is_ok(),
        };
        if !fits {
            self.misfits += 1;
            self.misfit.get_or_insert_with(|| value.to_owned());
        }
    }

    fn decide(&self, column: &ColumnSchema, limits: TargetLimits) -> Decision {
        let mut decided = column.clone();
        let mut loss = None;
        let is_mixed = [self.integers + self.floats, self.texts, self.bytes]
            .iter()
            .filter(|count| **count > 0)
            .count()
            > 1;
        if column.ty == Type::Any && limits.untyped_columns {
            // It stays as it is.
        } else if column.ty == Type::Any || self.misfits > 0 {
            let ty = self.natural(column);
            decided = retyped(column, ty);
            // The texts of a UUID column become what they mean.
            let is_same = (ty, column.ty) == (Type::Uuid, Type::Uuid)
                || is_integer(column.ty) && is_integer(ty);
            if column.ty != Type::Any && !is_same {
                loss = Some(self.describe_misfits(column, ty));
            } else if is_mixed {
                loss = Some(format!(
                    "column {}: its values are of several types, they become {}",
                    column.name,
                    ty.name()
                ));
            }
        }
        let longest = u32::try_from(self.longest).unwrap_or(u32::MAX);
        if let Some(max) = decided.max_chars.filter(|max| *max < longest) {
            decided.max_chars = None;
            loss = Some(format!(
                "limit of {max} characters of column {}, which has a text of {longest}",
                column.name
            ));
        }
        if self.has_nul && !limits.nul_in_text {
            decided = retyped(column, Type::Bytes);
            loss = Some(format!("column {}: texts with NUL characters become bytes", column.name));
        }
        if self.has_infinity && limits.finite_floats {
            decided = retyped(column, Type::Text);
            loss = Some(format!("column {}: infinite numbers make it text", column.name));
        }
        let is_converted = self.misfits > 0 && (decided.ty, column.ty) == (Type::Uuid, Type::Uuid);
        Decision { column: decided, loss, is_converted }
    }

    fn describe_misfits(&self, column: &ColumnSchema, ty: Type) -> String {
        let value = self.misfit.as_ref().map_or_else(String::new, show);
        let (count, name) = (self.misfits, &column.name);
        let (noun, verb) = if count == 1 { ("value", "is") } else { ("values", "are") };
        format!(
            "column {name}: {count} {noun} {verb} not {}, such as {value}; it becomes {}",
            column.ty.name(),
            ty.name()
        )
    }

    /// The type that has all values.
    fn natural(&self, column: &ColumnSchema) -> Type {
        let declared = column.declared.as_deref().unwrap_or_default().to_ascii_uppercase();
        let says = |part: &str| declared.contains(part);
        let has_decimals = says("DEC") || says("NUMERIC") || says("MONEY");
        match (self.integers, self.floats, self.texts, self.bytes) {
            (0, 0, 0, 0) => empty(column, &declared),
            (_, 0, 0, 0) if says("BOOL") && self.is_within(0, 1) => Type::Bool,
            // A key of whole numbers is no amount.
            (_, 0, 0, 0) if self.is_key => Type::I64,
            (.., 0, 0) if has_decimals && decimals(&declared) > 0 && !self.inexact_currency => {
                Type::Currency
            }
            (_, 0, 0, 0) => Type::I64,
            (.., 0, 0) if !self.inexact_float => Type::F64,
            (0, 0, _, 0) => {
                let place = |ty: Type| FORMS.iter().position(|form| *form == ty);
                let is = |ty| place(ty).and_then(|at| self.not_of_form.get(at)) == Some(&false);
                let timed = says("DATE") || says("TIME");
                match () {
                    () if timed && is(Type::Date) => Type::Date,
                    () if timed && is(Type::DateTime) => Type::DateTime,
                    () if timed && is(Type::Timestamp) => Type::Timestamp,
                    () if says("JSON") && is(Type::Json) => Type::Json,
                    () if (says("UUID") || column.ty == Type::Uuid) && is(Type::Uuid) => Type::Uuid,
                    () => Type::Text,
                }
            }
            (.., 0) => Type::Text,
            _ => Type::Bytes,
        }
    }

    fn is_within(&self, low: i64, high: i64) -> bool {
        self.range.is_none_or(|(least, most)| low <= least && most <= high)
    }
}

/// The type of a column without a value.
fn empty(column: &ColumnSchema, declared: &str) -> Type {
    let says = |part: &str| declared.contains(part);
    match () {
        () if column.ty != Type::Any => column.ty,
        () if says("BOOL") => Type::Bool,
        () if says("DATETIME") || says("TIMESTAMP") => Type::DateTime,
        () if says("DATE") => Type::Date,
        () if says("JSON") => Type::Json,
        () if (says("DEC") || says("NUMERIC")) && decimals(declared) > 0 => Type::Currency,
        () if says("NUMERIC") || says("DEC") => Type::F64,
        () => Type::Text,
    }
}

/// The decimals of a `DECIMAL(p,s)` that money can have; 0 for others. A type without a size has 4.
fn decimals(declared: &str) -> u32 {
    let Some((_, size)) = declared.split_once('(') else { return 4 };
    let scale = size.trim_end_matches(')').split(',').nth(1).and_then(|s| s.trim().parse().ok());
    scale.filter(|scale| *scale <= 4).unwrap_or(0)
}

/// The column with another type. Rules that were about values of the old one do not fit it.
fn retyped(column: &ColumnSchema, ty: Type) -> ColumnSchema {
    if ty == column.ty {
        return column.clone();
    }
    let mut retyped = ColumnSchema::new(column.name.clone(), ty).nullable(column.nullable);
    retyped.unique = column.unique;
    retyped.collation = column.collation;
    retyped.reference.clone_from(&column.reference);
    retyped.check.clone_from(&column.check);
    retyped.max_chars = column.max_chars.filter(|_| ty == Type::Text);
    retyped.default = column
        .default
        .as_ref()
        .and_then(|value| cast(&retyped, value.as_ref()).ok())
        .map(Value::into_owned);
    retyped
}

fn show(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => format!("'{}'", text.chars().take(40).collect::<String>()),
        Value::Int(integer) => integer.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::Bytes(_) | Value::Null => "bytes".to_owned(),
    }
}

const fn is_integer(ty: Type) -> bool {
    use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(ty, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}
