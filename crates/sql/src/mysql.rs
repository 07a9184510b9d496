//! Parts of SQL that only MariaDB and MySQL need: texts that compare as Bobak's collations do, and richer types than the
//! stored integers.
//!
//! Every text column compares by its bytes. A column with another collation has an additional generated column with the
//! folded text, which is used for comparing, sorting, grouping and uniqueness: neither server has a collation that folds
//! only A–Z, and those that fold all letters fold some more.
//!
//! Money is DECIMAL, dates and times are the server's own types. Values go to them as text in a CAST,
//! since a bare parameter would be compared as a float.

use crate::Dialect;
use crate::writer::Writer;
use bobak_core::{Collation, ColumnSchema, Currency, TableSchema, Type, Value, ValueRef};
use std::borrow::Cow;

/// How the name of a generated column with a folded text begins; the column's own name follows.
pub const FOLDED: &str = "bobak_folded_";

/// The characters whose lower case the servers do not know, for they came to Unicode after version
/// 14, or have two characters as theirs. The servers know all others as Rust does.
const NOT_FOLDED: &str = "\u{130}\u{1c89}\u{a7cb}\u{a7cc}\u{a7ce}\u{a7d2}\u{a7d4}\u{a7da}\u{a7dc}\
    \u{10d50}\u{10d51}\u{10d52}\u{10d53}\u{10d54}\u{10d55}\u{10d56}\u{10d57}\u{10d58}\u{10d59}\
    \u{10d5a}\u{10d5b}\u{10d5c}\u{10d5d}\u{10d5e}\u{10d5f}\u{10d60}\u{10d61}\u{10d62}\u{10d63}\
    \u{10d64}\u{10d65}\u{16ea0}\u{16ea1}\u{16ea2}\u{16ea3}\u{16ea4}\u{16ea5}\u{16ea6}\u{16ea7}\
    \u{16ea8}\u{16ea9}\u{16eaa}\u{16eab}\u{16eac}\u{16ead}\u{16eae}\u{16eaf}\u{16eb0}\u{16eb1}\
    \u{16eb2}\u{16eb3}\u{16eb4}\u{16eb5}\u{16eb6}\u{16eb7}\u{16eb8}";

/// The expression that folds a text, as [`Collation::fold`] does; `text` is an expression itself.
///
/// ```
/// use bobak_core::Collation;
/// use bobak_sql::{Dialect, folded};
/// let folded = folded(Dialect::MariaDb, Collation::NoCase, "`name`");
/// assert!(folded.starts_with("REPLACE(REPLACE(") && folded.contains("`name`"));
/// ```
#[must_use]
pub fn folded(dialect: Dialect, collation: Collation, text: &str) -> String {
    let replace =
        |inner: String, from: char, to: &str| format!("REPLACE({inner}, '{from}', '{to}')");
    match collation {
        Collation::Binary => text.to_owned(),
        Collation::NoCase => ('A'..='Z').fold(text.to_owned(), |inner, letter| {
            replace(inner, letter, &letter.to_ascii_lowercase().to_string())
        }),
        Collation::UnicodeNoCase => {
            let inner = NOT_FOLDED.chars().fold(text.to_owned(), |inner, letter| {
                replace(inner, letter, &letter.to_lowercase().to_string())
            });
            let (knows, bytes) = match dialect {
                Dialect::MySql => ("utf8mb4_0900_as_cs", "utf8mb4_0900_bin"),
                _ => ("utf8mb4_uca1400_as_cs", "utf8mb4_nopad_bin"),
            };
            format!("LOWER({inner} COLLATE {knows}) COLLATE {bytes}")
        }
    }
}

/// Whether the column has an additional column with its folded text.
pub(crate) fn is_folded(dialect: Dialect, column: &ColumnSchema) -> bool {
    dialect.is_mysql() && column.collation != Collation::Binary
}

impl<'a> Writer<'a> {
    /// The column by which values compare and sort: the one with the folded text, if it exists.
    pub fn sorted(&mut self, table: &TableSchema, place: usize) -> &mut Self {
        match table.columns().get(place) {
            Some(column) if is_folded(self.dialect, column) => {
                let name = format!("{FOLDED}{}", column.name);
                self.column_name(&name)
            }
            _ => self.column(table, place),
        }
    }

    /// `column … value`, as they compare.
    pub fn compared_with(
        &mut self,
        table: &TableSchema,
        place: usize,
        operator: &str,
        value: ValueRef<'a>,
    ) {
        if let (ValueRef::Float(float), true) = (value, self.dialect.is_mysql())
            && float.is_infinite()
        {
            // No stored value equals it, and there is no literal for it.
            let (operator, limit) = beyond(operator, float);
            self.sorted(table, place).raw(operator).literal(ValueRef::Float(limit));
            return;
        }
        match comparable(self.dialect, table, place, value) {
            Some((value, cast)) => {
                self.sorted(table, place).raw(operator).cast(value, cast);
            }
            // Beyond what the server's type can hold: compared as the integer that it stands for.
            None => {
                self.stored(table, place);
                self.raw(operator).value(value);
            }
        }
    }

    /// The value as the column is set to it.
    pub fn assigned(&mut self, table: &TableSchema, place: usize, value: &'a Value<'a>) {
        let column = table.columns().get(place).filter(|_| self.dialect.is_mysql());
        match column.map(|column| (column.ty, value.as_ref())) {
            Some((Type::Currency, ValueRef::Int(scaled))) => {
                self.owned_value(Currency::from_scaled(scaled).to_string().into());
            }
            Some((ty, stored @ ValueRef::Int(_))) if moment(ty, stored).is_some() => {
                self.owned_value(moment(ty, stored).unwrap_or_default().into());
            }
            _ => {
                self.value(value.as_ref());
            }
        }
    }

    /// `column IN (…)`, as they compare.
    pub fn among(
        &mut self,
        table: &TableSchema,
        place: usize,
        values: impl IntoIterator<Item = ValueRef<'a>>,
    ) {
        self.sorted(table, place).raw(" IN (");
        let dialect = self.dialect;
        // What the type can't hold is in no row.
        let values =
            values.into_iter().filter_map(|value| comparable(dialect, table, place, value));
        let mut written = 0;
        self.list(", ", values, |writer, (value, cast)| {
            written += 1;
            writer.cast(value, cast);
        });
        self.raw(if written == 0 { "NULL)" } else { ")" });
    }

    fn cast(&mut self, value: Value<'a>, cast: Option<&str>) {
        match cast {
            Some(ty) => {
                self.raw("CAST(").owned_value(value).raw(" AS ").raw(ty).raw(")");
            }
            None => {
                self.owned_value(value);
            }
        }
    }

    /// The column's value as the integer that Bobak stores, where the server keeps another type.
    pub fn stored(&mut self, table: &TableSchema, place: usize) {
        let column = table.columns().get(place);
        let ty = column.filter(|column| !column.is_kept_as_text()).map(|column| column.ty);
        let (before, after) = match ty.filter(|_| self.dialect.is_mysql()) {
            Some(Type::Currency) => ("(", " * 10000)"),
            Some(Type::Date) => ("DATEDIFF(", ", DATE'1970-01-01')"),
            Some(Type::DateTime | Type::Timestamp) => {
                ("TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', ", ")")
            }
            Some(Type::Time) => (
                "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', \
                 TIMESTAMP('1970-01-01', ",
                "))",
            ),
            _ => ("", ""),
        };
        self.raw(before).sorted(table, place).raw(after);
    }
}

/// A comparison of finite floats with an infinity, as one with the largest or smallest of them.
fn beyond(operator: &str, infinity: f64) -> (&'static str, f64) {
    let below = match operator {
        " < " | " <= " => infinity > 0.0,
        " > " | " >= " => infinity < 0.0,
        " <> " => true,
        _ => false,
    };
    match (infinity > 0.0, below) {
        (true, true) => (" <= ", f64::MAX),
        (true, false) => (" > ", f64::MAX),
        (false, true) => (" >= ", f64::MIN),
        (false, false) => (" < ", f64::MIN),
    }
}

/// The value as it goes into a comparison with the column, and the type that it is cast to; `None`
/// for a date that the server's type can't hold.
fn comparable<'a>(
    dialect: Dialect,
    table: &TableSchema,
    place: usize,
    value: ValueRef<'a>,
) -> Option<(Value<'a>, Option<&'static str>)> {
    let Some(column) = table.columns().get(place).filter(|_| dialect.is_mysql()) else {
        return Some((value.into(), None));
    };
    if matches!(value, ValueRef::Float(float) if float.is_infinite()) {
        return None;
    }
    match (column.ty, value) {
        (Type::Currency, ValueRef::Int(scaled)) => {
            let amount = Currency::from_scaled(scaled).to_string();
            Some((amount.into(), Some("DECIMAL(19,4)")))
        }
        (ty @ (Type::Date | Type::Time | Type::DateTime | Type::Timestamp), ValueRef::Int(_)) => {
            let cast = match ty {
                Type::Date => "DATE",
                Type::Time => "TIME(6)",
                _ => "DATETIME(6)",
            };
            moment(ty, value).map(|text| (text.into(), Some(cast)))
        }
        (_, ValueRef::Text(text)) if column.collation != Collation::Binary => {
            let folded = match column.collation.fold(text) {
                Cow::Borrowed(text) => Value::from(text),
                Cow::Owned(text) => Value::from(text),
            };
            Some((folded, None))
        }
        (_, ValueRef::Bytes(_)) => Some((value.into(), Some("BINARY"))),
        _ => Some((value.into(), None)),
    }
}

/// A date or time as the servers write it; `None` outside the years 1 to 9999, and of other types.
pub(crate) fn moment(ty: Type, value: ValueRef<'_>) -> Option<String> {
    use bobak_core::{Date, DateTime, Field, Time, Timestamp};
    let text = match ty {
        Type::Timestamp => Timestamp::from_value(value).ok()?.to_string(),
        Type::Date => Date::from_value(value).ok()?.to_string(),
        Type::Time => Time::from_value(value).ok()?.to_string(),
        Type::DateTime => DateTime::from_value(value).ok()?.to_string(),
        _ => return None,
    };
    // Years outside four digits have a sign; 0000 is none there.
    let fits = ty == Type::Time || !(text.starts_with(['-', '+']) || text.starts_with("0000"));
    fits.then(|| text.trim_end_matches('Z').replace('T', " "))
}
