//! Expressions of SQLite's own that a schema may have.

use bobak_core::sql_token::{SqlSyntax, SqlTokenKind, SqlTokenizer};
use bobak_core::{Storage, TableSchema, Type};

/// Whether SQLite reads the text as part of one expression in parentheses: it closes none that it has
/// not opened, ends no statement, has no comment, and leaves nothing open. It may name no column of
/// money, dates or times either, whose stored values the text would compute with.
pub(crate) fn is_confined(text: &str, table: &TableSchema) -> bool {
    let mut depth = 0_usize;
    for token in SqlTokenizer::new(SqlSyntax::Sqlite, text) {
        let is_allowed = token.is_terminated
            && !matches!(token.kind, SqlTokenKind::Comment | SqlTokenKind::Parameter)
            && !token.is_operator(";")
            && !token.is_word("select")
            && !token.name().is_some_and(|name| is_converted(table, &name));
        if !is_allowed || text.contains('\0') {
            return false;
        }
        if token.is_operator("(") {
            depth += 1;
        } else if token.is_operator(")") {
            match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return false,
            }
        }
    }
    depth == 0 && !text.trim().is_empty()
}

/// Whether there is a column of this name whose stored values differ from the record's.
fn is_converted(table: &TableSchema, name: &str) -> bool {
    let column = table.column(name).ok().and_then(|position| table.columns().get(position));
    column.is_some_and(|column| {
        column.storage == Storage::Int && (column.ty == Type::Currency || column.ty.has_text_form())
    })
}
