//! Schemas as SQL: whatever a client or an engine holds as one, each text is one statement on its table.

use crate::{Target, seeds};
use bobak_core::sql_token::{SqlToken, SqlTokenKind as Kind, SqlTokenizer};
use bobak_core::{
    ColumnSchema, Engine, OnDelete, SchemaChange, Source, TableSchema, Type, Value, ValueRef,
    change_log,
};
use bobak_sql::{Dialect, TrackReason, add_column, add_index, create_table, index_remark, track};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

/// The separator of the parts of an input.
const SEPARATOR: char = '\x1f';

/// Statements that create and change tables, in each dialect.
pub(crate) const SCHEMA_SQL: Target = Target {
    name: "schema-sql",
    about: "schemas as SQL: one statement on the intended table, in each dialect",
    longest: 4 << 10,
    factor: 8_000,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Some(table) = schema(text) else { return };
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MariaDb, Dialect::MySql] {
            rendered(dialect, &table);
        }
        in_sqlite(&Arc::new(table));
    },
    seeds: || {
        let seeds = [
            "product|price|currency|price >= 0.5 AND price < 10|1|||stock|i32|stock % 2 = 0|7|shop|stock_index",
            "t\"x|a\"b|text|length(\"a\"\"b\") > 2|it's|t\"x|i\"j|c`d|date|\"c`d\" > '2013-01-01'|||k]l",
            "t$bobak$;--|a$bobak$; drop table victim; --|text|1=1); drop table victim; --|');--|victim|i;--",
            "victim2|a\\|text|a <> '\\' or '; drop table victim; --' = a|\\'; drop table victim; --|x\\|i\\",
            "t|a|text|/* /* */ a <> 'x */ 1=1) ); create table pwned(a int); --'|/*!50000 x*/|r|i",
            "t|a|text|glob('x', a) and json_valid(a)|\n|\u{feff}|#|b|bytes|b = x'00ff'|x|y|z",
        ];
        seeds::of(&seeds.map(|seed| seed.replace('|', "\x1f")).each_ref().map(String::as_str))
    },
};

/// The schema of an input: the table's name, then six parts for each column.
fn schema(text: &str) -> Option<TableSchema> {
    let mut parts = text.split(SEPARATOR).map(str::to_owned);
    let mut builder =
        TableSchema::builder(parts.next()?).column(ColumnSchema::new("id", Type::I64)).key(["id"]);
    while let Some(name) = parts.next() {
        let ty = parts.next().and_then(|ty| Type::from_name(&ty)).unwrap_or(Type::Text);
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let mut column = ColumnSchema::new(name.clone(), ty).nullable(true);
        if let Some(check) = part() {
            column = column.check(check);
        }
        if let Some(default) = part() {
            let number = default.parse().map(Value::Int);
            column = column.default(number.unwrap_or_else(|_| Value::from(default)));
        }
        if let Some(table) = part() {
            column = column.references(table, name.clone(), OnDelete::Cascade);
        }
        builder = builder.column(column);
        if let Some(index) = part() {
            builder = builder.index(index, [name]);
        }
    }
    builder.build().ok()
}

/// Checks every text that a dialect has for the schema.
fn rendered(dialect: Dialect, table: &TableSchema) {
    let mut texts = create_table(dialect, table).unwrap_or_default();
    for column in 0..table.columns().len() {
        texts.extend(add_column(dialect, table, column).unwrap_or_default());
    }
    for index in 0..table.indexes().len() {
        texts.extend(add_index(dialect, table, index).ok());
        texts.extend(index_remark(dialect, table, index));
    }
    for text in &texts {
        let tokens = one_statement(dialect, text, 0);
        if let Some(changed) = changed_table(&tokens) {
            assert_eq!(changed, table.name(), "{text}");
        }
    }
    let reason = TrackReason::Track { captured: true, history: true };
    for text in track(dialect, table, None, reason).unwrap_or_default() {
        // The trigger of change capture has two statements.
        let is_trigger = text.starts_with("CREATE TRIGGER") && text.ends_with("; END");
        one_statement(dialect, &text, if is_trigger { 2 } else { 0 });
    }
}

/// The tokens of a text that is one statement, with so many semicolons in it.
fn one_statement(dialect: Dialect, text: &str, semicolons: usize) -> Vec<SqlToken<'_>> {
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
    assert_eq!(found, semicolons, "statements in {text}");
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

/// Creates the table next to another one in SQLite: nothing else may be in the file then.
fn in_sqlite(table: &Arc<TableSchema>) {
    let engine = Sqlite::open_memory().expect("a database in memory");
    let session = engine.session().expect("SQLite gives sessions");
    let run = |sql| session.execute(sql, &[]).expect("the victim can be created");
    run("CREATE TABLE victim(a)");
    if engine.alter(&[SchemaChange::CreateTable(Arc::clone(table))]).is_err() {
        return;
    }
    let track = SchemaChange::Track { table: Arc::clone(table), history: true };
    let _ = engine.alter(&[track]);
    let select = "SELECT type, name, tbl_name FROM sqlite_schema";
    let source = Source::Sql { text: select, parameters: &[] };
    let mut tables = Vec::new();
    let mut read = |row: &dyn bobak_core::Row| {
        let text = |column| match row.get(column) {
            ValueRef::Text(text) => text.to_owned(),
            _ => String::new(),
        };
        let (kind, name, owner) = (text(0), text(1), text(2));
        let is_own = owner == table.name() || owner == "victim" || is_internal(&owner);
        assert!(is_own && kind != "view", "a {kind} {name} on {owner} was created");
        if kind == "table" && !is_internal(&name) {
            tables.push(name);
        }
        Ok(true)
    };
    session.query(&source, &mut read).expect("the schema can be read");
    tables.sort();
    let mut wanted = ["victim".to_owned(), table.name().to_owned()];
    wanted.sort();
    assert_eq!(tables, wanted);
}

/// Whether a table is one of change capture, or SQLite's own.
fn is_internal(name: &str) -> bool {
    change_log::is_change_log_table(name) || name.starts_with("sqlite_")
}
