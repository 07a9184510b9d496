//! The triggers of change capture: what engines have in common, and those of MariaDB and MySQL, where no trigger may change
//! other rows of its table.

use crate::Dialect;
use crate::LONG_DECIMAL;
use crate::dialect::quote;
use bobak_core::change_log::{COUNTER_TABLE, LOG_PREFIX};
use bobak_core::{ColumnSchema, TableSchema};

/// The advisory lock of PostgreSQL that numbers are given out under: the letters of "bobakfed".
pub(crate) const LOCK: &str = "7093288047853922660";

/// The name of PostgreSQL's trigger that writes a log: before those that begin with a letter or a digit.
pub(crate) const CAPTURE_TRIGGER: &str = "!bobak_log";

/// Begins the bodies of triggers on MariaDB and MySQL. Those of earlier versions lack it, see
/// [`list_triggers`](crate::list_triggers).
const MYSQL_MARK: &str = "/* bobak: log 2 */";

/// The verbs of triggers, with their numbers in a log.
pub(crate) const VERBS: [(&str, u8); 3] = [("INSERT", 1), ("UPDATE", 2), ("DELETE", 3)];

fn trigger_name(dialect: Dialect, table: &TableSchema, verb: &str) -> String {
    quote(dialect, &format!("{LOG_PREFIX}{}_{}", verb.to_ascii_lowercase(), table.name()))
}

fn drop_trigger(dialect: Dialect, table: &TableSchema, verb: &str) -> String {
    format!("DROP TRIGGER IF EXISTS {}", trigger_name(dialect, table, verb))
}

/// What drops the trigger of a verb if there is one, and what creates it.
pub(crate) fn create_trigger(
    dialect: Dialect,
    table: &TableSchema,
    verb: &str,
    body: &str,
) -> Vec<String> {
    let row = if dialect.is_mysql() { " FOR EACH ROW" } else { "" };
    // MariaDB replaces a trigger without a moment in which there is none.
    let is_replaced = dialect == Dialect::MariaDb;
    let create = if is_replaced { "CREATE OR REPLACE" } else { "CREATE" };
    let create = format!(
        "{create} TRIGGER {trigger} AFTER {verb} ON {table}{row} BEGIN {body} END",
        trigger = trigger_name(dialect, table, verb),
        table = quote(dialect, table.name()),
    );
    let drop = (!is_replaced).then(|| drop_trigger(dialect, table, verb));
    drop.into_iter().chain([create]).collect()
}

/// The statement that takes the next number.
pub(crate) fn take_number(dialect: Dialect) -> String {
    let name = |name: &str| quote(dialect, name);
    let (feed, seq, at) = (name(COUNTER_TABLE), name("seq"), name("at"));
    let latest = match dialect {
        Dialect::Sqlite => {
            format!("max({at}, CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER))")
        }
        _ => format!("GREATEST({at}, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))"),
    };
    format!("UPDATE {feed} SET {seq} = {seq} + 1, {at} = {latest};")
}

/// The statement that writes to a log; `verb` is an expression.
pub(crate) fn insert_change(
    dialect: Dialect,
    log: &TableSchema,
    verb: &str,
    (columns, values): (String, String),
    from: &str,
) -> String {
    let name = |name: &str| quote(dialect, name);
    let feed = name(COUNTER_TABLE);
    let [seq, at, actor] = ["seq", "at", "who"].map(name);
    format!(
        "INSERT INTO {log} ({seq}, {at}, {actor}, {kind}, {columns}) \
         SELECT {feed}.{seq}, {feed}.{at}, {feed}.{actor}, {verb}, {values} FROM {feed}{from};",
        log = name(log.name()),
        kind = name("verb"),
    )
}

/// What creates the triggers on MariaDB and MySQL.
pub(crate) fn mysql_triggers(
    dialect: Dialect,
    table: &TableSchema,
    log: &TableSchema,
) -> Vec<String> {
    let trigger = |(verb, number): (&str, u8)| {
        let images = images(dialect, table, log, sides(number));
        let insert = insert_change(dialect, log, &number.to_string(), images, "");
        let body = format!("{MYSQL_MARK} {} {insert}", take_number(dialect));
        create_trigger(dialect, table, verb, &body)
    };
    VERBS.into_iter().flat_map(trigger).collect()
}

/// The rows that triggers have for a verb.
pub(crate) const fn sides(verb: u8) -> [Option<&'static str>; 2] {
    match verb {
        1 => [None, Some("NEW")],
        2 => [Some("OLD"), Some("NEW")],
        _ => [Some("OLD"), None],
    }
}

/// The log's columns of the values before and after that come from these rows, and what fills them.
pub(crate) fn images(
    dialect: Dialect,
    table: &TableSchema,
    log: &TableSchema,
    [old, new]: [Option<&str>; 2],
) -> (String, String) {
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for (place, column) in table.columns().iter().enumerate() {
        let sides = [
            (old, bobak_core::change_log::old_column(place)),
            (new, bobak_core::change_log::new_column(place)),
        ];
        for (side, place) in sides {
            let Some(side) = side else { continue };
            let logged = log.columns().get(place).map_or("", |column| column.name.as_ref());
            columns.push(quote(dialect, logged));
            values.push(image(dialect, column, side));
        }
    }
    (columns.join(", "), values.join(", "))
}

/// A column's value in a row. MariaDB and MySQL keep zeros at the end of a decimal number, which are not read as parts of it.
fn image(dialect: Dialect, column: &ColumnSchema, side: &str) -> String {
    let value = format!("{side}.{}", quote(dialect, &column.name));
    if !dialect.is_mysql() || column.declared.as_deref() != Some(LONG_DECIMAL) {
        return value;
    }
    format!(
        "IF(LOCATE('.', {value}) > 0, \
         TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {value})), {value})"
    )
}

/// Comparisons of the key's columns, which get their quoted names.
pub(crate) fn of_key(
    dialect: Dialect,
    table: &TableSchema,
    join: &str,
    compare: impl Fn(String) -> String,
) -> String {
    let columns = table.key().iter().filter_map(|place| table.columns().get(*place));
    let parts: Vec<_> = columns.map(|column| compare(quote(dialect, &column.name))).collect();
    parts.join(join)
}

/// What drops the triggers on SQLite, MariaDB and MySQL.
pub(crate) fn drop_verb_triggers(dialect: Dialect, table: &TableSchema) -> Vec<String> {
    VERBS.iter().map(|(verb, _)| drop_trigger(dialect, table, verb)).collect()
}
