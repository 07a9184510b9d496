//! Schemas as SQL: whatever a client or an engine holds as one, each text is one statement on its table; so is each
//! change of one schema into another.

use super::other_statements;
use crate::{Target, seeds};
use bobak_core::sql_token::{SqlToken, SqlTokenKind as Kind, SqlTokenizer};
use bobak_core::{
    ColumnSchema, Engine, ForeignKey, OnDelete, SchemaChange, Session, Source, TableAlteration,
    TableSchema, Type, Value, ValueRef, change_log,
};
use bobak_sql::{
    ConstraintNames, Dialect, TrackReason, add_column, add_foreign_key, add_index, add_reference,
    alter_table, create_table, find_violations, index_remark, track, untrack,
};
use bobak_sqlite::Sqlite;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The separator of the parts of an input.
const SEPARATOR: char = '\x1f';
/// Separates a schema from the one that it is changed into.
const INTO: char = '\x1e';
const DIALECTS: [Dialect; 4] =
    [Dialect::Sqlite, Dialect::Postgres, Dialect::MariaDb, Dialect::MySql];

/// Statements that create and change tables, in each dialect.
pub(crate) const SCHEMA_SQL: Target = Target {
    name: "schema-sql",
    about: "schemas as SQL: one statement on the intended table, in each dialect",
    longest: 4 << 10,
    factor: 8_000,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let (before, after) = text.split_once(INTO).unwrap_or((text, ""));
        let Some(table) = schema(before, true).map(Arc::new) else { return };
        let alteration = schema(after, true).and_then(|after| alteration(&table, after));
        for dialect in DIALECTS {
            rendered(dialect, &table);
            if let Some(alteration) = &alteration {
                altered(dialect, alteration);
            }
        }
        other_statements::rendered(&table);
        in_sqlite(&table, alteration.as_ref());
    },
    seeds: || {
        let seeds = [
            "product|price|currency|price >= 0.5 AND price < 10|1|||stock|i32|stock % 2 = 0|7|shop|stock_index",
            "t\"x|a\"b|text|length(\"a\"\"b\") > 2|it's|t\"x|i\"j|c`d|date|\"c`d\" > '2013-01-01'|||k]l",
            "t$bobak$;--|a$bobak$; drop table victim; --|text|1=1); drop table victim; --|');--|victim|i;--",
            "victim2|a\\|text|a <> '\\' or '; drop table victim; --' = a|\\'; drop table victim; --|x\\|i\\",
            "t|a|text|/* /* */ a <> 'x */ 1=1) ); create table pwned(a int); --'|/*!50000 x*/|r|i",
            "t|a|text|glob('x', a) and json_valid(a)|\n|\u{feff}|#|b|bytes|b = x'00ff'|x|y|z",
            "line|+shop|i64|||order||number|i64|||order|line_order|fax|text|fax <> ''|||\
             ^lines|+shop|i64|||order||number|i64|number > 0|1|order|line_order|tax|text|tax > '1'|0||",
            "a\"b|c`d|i32|\"c`d\" > 1|1|a\"b|i'1^a`b|c\"d|i64|\"c\"\"d\" > 2|2|x;--|i'2|e|text||||",
            "t|a|text||||i^t|a|text|a <> ''');drop table victim;--'|');drop table victim;--|victim|j;--",
        ];
        let bytes = |seed: &str| seed.replace('|', "\x1f").replace('^', "\x1e");
        seeds::of(&seeds.map(bytes).each_ref().map(String::as_str))
    },
};

/// The schemas of an input without foreign keys, whose tables a server would not have: a table, and what it is changed
/// into.
#[must_use]
pub fn independent_schemas(input: &[u8]) -> Option<(Arc<TableSchema>, Option<TableAlteration>)> {
    let text = std::str::from_utf8(input).ok()?;
    let (before, after) = text.split_once(INTO).unwrap_or((text, ""));
    let table = Arc::new(schema(before, false)?);
    let alteration = schema(after, false).and_then(|after| alteration(&table, after));
    Some((table, alteration))
}

/// The schema of an input: the table's name, then six parts for each column. A column whose name begins with a plus
/// belongs to the key. Two columns that reference one table are one foreign key.
fn schema(text: &str, references: bool) -> Option<TableSchema> {
    let mut parts = text.split(SEPARATOR).map(str::to_owned);
    let mut builder = TableSchema::builder(parts.next().filter(|name| !name.is_empty())?)
        .column(ColumnSchema::new("id", Type::I64));
    let mut key = vec!["id".to_owned()];
    let mut last: Option<(String, String)> = None;
    while let Some(name) = parts.next() {
        let ty = parts.next().and_then(|ty| Type::from_name(&ty)).unwrap_or(Type::Text);
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let own = name.strip_prefix('+').map(str::to_owned);
        key.extend(own.clone());
        let mut column = ColumnSchema::new(name.clone(), ty).nullable(own.is_none());
        column.name = own.map_or(column.name, Into::into);
        if let Some(check) = part() {
            column = column.check(check);
        }
        if let Some(default) = part() {
            let number = default.parse().map(Value::Int);
            column = column.default(number.unwrap_or_else(|_| Value::from(default)));
        }
        let name = column.name.to_string();
        if let Some(table) = part().filter(|_| references) {
            if let Some((other, referenced)) = last.take_if(|(_, referenced)| *referenced == table)
            {
                let columns = [other, name.clone()];
                let foreign = ForeignKey::new(referenced, columns.clone(), OnDelete::Cascade);
                builder = builder.foreign_key(columns, foreign);
            } else {
                column = column.references(table.clone(), name.clone(), OnDelete::Cascade);
                last = Some((name.clone(), table));
            }
        }
        builder = builder.column(column);
        if let Some(index) = part() {
            builder = builder.index(index, [name]);
        }
    }
    builder.key(key).build().ok()
}

/// The change of a table into another form: columns at the same place are the same column, others are dropped.
fn alteration(from: &Arc<TableSchema>, to: TableSchema) -> Option<TableAlteration> {
    let names = |table: &TableSchema| -> Vec<String> {
        table.columns().iter().map(|column| column.name.to_string()).collect()
    };
    let (old, new) = (names(from), names(&to));
    let renamed: Vec<(&str, &str)> =
        old.iter().map(String::as_str).zip(new.iter().map(String::as_str)).collect();
    let dropped: Vec<&str> = old.iter().skip(new.len()).map(String::as_str).collect();
    TableAlteration::new(Arc::clone(from), Arc::new(to), &renamed, &dropped).ok()
}

/// Checks every text of an alteration. It may name either form.
fn altered(dialect: Dialect, alteration: &TableAlteration) {
    let (from, to) = (alteration.from(), alteration.to());
    let names = ConstraintNames::expected(from);
    let mut texts = alter_table(dialect, alteration, &names).unwrap_or_default();
    texts.extend(find_violations(dialect, alteration).into_iter().map(|(text, _)| text));
    for text in &texts {
        if let Some(changed) = changed_table(&one_statement(dialect, text)) {
            assert!([from.name(), to.name()].contains(&&*changed), "{changed} in {text}");
        }
    }
}

/// Checks every text that a dialect has for the schema.
fn rendered(dialect: Dialect, table: &TableSchema) {
    let mut texts = create_table(dialect, table).unwrap_or_default();
    for column in 0..table.columns().len() {
        texts.extend(add_column(dialect, table, column).unwrap_or_default());
        texts.extend(add_reference(dialect, table, column).unwrap_or_default());
    }
    for number in 0..table.foreign_keys().len() {
        texts.extend(add_foreign_key(dialect, table, number, &[]).unwrap_or_default());
    }
    for index in 0..table.indexes().len() {
        texts.extend(add_index(dialect, table, index).ok());
        texts.extend(index_remark(dialect, table, index));
    }
    for text in &texts {
        let tokens = one_statement(dialect, text);
        if let Some(changed) = changed_table(&tokens) {
            assert_eq!(changed, table.name(), "{text}");
        }
    }
    let reason = TrackReason::Track { captured: true, history: true };
    for text in track(dialect, table, None, reason).unwrap_or_default() {
        // The trigger of change capture has several statements, and a comment that says its version.
        let begins = ["CREATE TRIGGER", "CREATE OR REPLACE TRIGGER"];
        let is_trigger = begins.iter().any(|begin| text.starts_with(begin));
        let is_trigger = is_trigger && text.ends_with("; END");
        let text = text.replacen("/* bobak: log 2 */", "", usize::from(is_trigger));
        statements(dialect, &text, if is_trigger { 2..=4 } else { 0..=0 });
    }
    for text in untrack(dialect, table).unwrap_or_default() {
        one_statement(dialect, &text);
    }
}

/// The tokens of a text that is one statement.
fn one_statement(dialect: Dialect, text: &str) -> Vec<SqlToken<'_>> {
    statements(dialect, text, 0..=0)
}

/// The tokens of a text with so many semicolons.
fn statements(
    dialect: Dialect,
    text: &str,
    semicolons: RangeInclusive<usize>,
) -> Vec<SqlToken<'_>> {
    let tokens: Vec<_> = SqlTokenizer::new(dialect.syntax(), text).collect();
    let mut depth = 0_usize;
    for token in &tokens {
        assert!(token.is_terminated, "not closed: {token:?} in {text}");
        assert!(!matches!(token.kind, Kind::Comment | Kind::Parameter), "{token:?} in {text}");
        if token.is_operator("(") {
            depth += 1;
        } else if token.is_operator(")") {
            depth = depth.checked_sub(1).expect("parentheses are balanced");
        }
    }
    assert_eq!(depth, 0, "parentheses in {text}");
    let found = tokens.iter().filter(|token| token.is_operator(";")).count();
    assert!(semicolons.contains(&found), "{found} statements in {text}");
    tokens.into_iter().filter(|token| !token.is_trivia()).collect()
}

/// The table that a statement names after TABLE, ON or ON COLUMN.
fn changed_table(tokens: &[SqlToken<'_>]) -> Option<String> {
    let is_before = |token: &&SqlToken<'_>| !token.is_word("table") && !token.is_word("on");
    let rest = tokens.iter().skip_while(is_before).skip(1);
    let mut names = rest.skip_while(|token| token.is_word("column"));
    // A comment on an index names no table.
    let name = names.next().filter(|token| token.kind == Kind::QuotedName)?;
    Some(name.unquoted().into_owned())
}

/// Creates the table next to another one in SQLite, alters, tracks and drops it: nothing else may be in the file then.
fn in_sqlite(table: &Arc<TableSchema>, alteration: Option<&TableAlteration>) {
    let engine = Sqlite::open_memory().expect("a database in memory");
    let session = engine.session().expect("SQLite gives sessions");
    session.execute("CREATE TABLE victim(a)", &[]).expect("the victim can be created");
    if engine.alter(&[SchemaChange::CreateTable(Arc::clone(table))]).is_err() {
        return;
    }
    only(&*session, &["victim", table.name()]);
    let mut table = table;
    if let Some(alteration) = alteration {
        let change = SchemaChange::AlterTable(Arc::new(alteration.clone()));
        if engine.alter(&[change]).is_ok() {
            table = alteration.to();
        }
        only(&*session, &["victim", table.name()]);
    }
    let track = SchemaChange::Track { table: Arc::clone(table), history: true };
    let untrack = SchemaChange::Untrack(Arc::clone(table));
    let _ = engine.alter(&[track]);
    only(&*session, &["victim", table.name()]);
    if engine.alter(&[untrack, SchemaChange::DropTable(Arc::clone(table))]).is_ok() {
        only(&*session, &["victim"]);
    }
}

/// Checks that the file has these tables, what belongs to them, and what is internal.
fn only(session: &dyn Session, wanted: &[&str]) {
    let select = "SELECT type, name, tbl_name FROM sqlite_schema";
    let source = Source::Sql { text: select, parameters: &[] };
    let mut tables = Vec::new();
    let mut read = |row: &dyn bobak_core::Row| {
        let text = |column| match row.get(column) {
            ValueRef::Text(text) => text.to_owned(),
            _ => String::new(),
        };
        let (kind, name, owner) = (text(0), text(1), text(2));
        let is_own = wanted.contains(&&*owner) || is_internal(&owner);
        assert!(is_own && kind != "view", "a {kind} {name} on {owner} was created");
        if kind == "table" && !is_internal(&name) {
            tables.push(name);
        }
        Ok(true)
    };
    session.query(&source, &mut read).expect("the schema can be read");
    tables.sort();
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    assert_eq!(tables, wanted);
}

/// Whether a table is one of change capture, or SQLite's own.
fn is_internal(name: &str) -> bool {
    change_log::is_change_log_table(name) || name.starts_with("sqlite_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_render_to_single_statements() {
        (SCHEMA_SQL.seeds)().iter().for_each(|seed| (SCHEMA_SQL.run)(seed));
    }

    #[test]
    fn seeds_with_two_forms_are_alterations() {
        let mut altered = 0;
        for seed in (SCHEMA_SQL.seeds)() {
            let text = String::from_utf8(seed).unwrap();
            let Some((before, after)) = text.split_once(INTO) else { continue };
            let from = Arc::new(schema(before, true).unwrap());
            let alteration = alteration(&from, schema(after, true).unwrap());
            let alteration = alteration.unwrap_or_else(|| panic!("{before} into {after}"));
            let names = ConstraintNames::expected(&from);
            assert_ne!(alter_table(Dialect::Postgres, &alteration, &names).unwrap(), [""; 0]);
            // MariaDB would keep the old table of a name with other characters.
            let rejected = alter_table(Dialect::MariaDb, &alteration, &names).is_err();
            assert_eq!(rejected, from.name() == "a\"b");
            altered += 1;
        }
        assert_eq!(altered, 3);
    }
}
