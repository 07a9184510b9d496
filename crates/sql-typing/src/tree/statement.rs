//! Statements.

use super::{FromTables, NamedSelect, ParsedExpr, ParsedSelect, ResultTerm, TableName};

/// A statement. Those in which expressions have no types are `Other`.
#[derive(Debug)]
pub(crate) enum ParsedStatement<'a> {
    Rows(RowStatement<'a>),
    CreateView(ParsedSelect<'a>),
    /// CREATE TABLE … AS.
    CreateTableAs(ParsedSelect<'a>),
    /// The table, the columns and the condition.
    CreateIndex(String, Vec<ParsedExpr<'a>>, Option<ParsedExpr<'a>>),
    CreateTrigger(TriggerParts<'a>),
    Other,
}

/// A statement that reads or writes rows: triggers have such.
#[derive(Debug)]
pub(crate) enum RowStatement<'a> {
    Select(ParsedSelect<'a>),
    Insert(InsertParts<'a>),
    Update(UpdateParts<'a>),
    Delete(DeleteParts<'a>),
}

/// The table that a statement changes.
#[derive(Debug)]
pub(crate) struct TargetTable {
    pub table: TableName,
    pub alias: Option<String>,
}

impl TargetTable {
    /// The name before its columns.
    pub(crate) fn shown(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.table.name)
    }
}

/// INSERT.
#[derive(Debug)]
pub(crate) struct InsertParts<'a> {
    pub with: Vec<NamedSelect<'a>>,
    pub target: TargetTable,
    pub columns: Vec<String>,
    /// `None` for DEFAULT VALUES.
    pub select: Option<ParsedSelect<'a>>,
    pub upserts: Vec<UpsertPart<'a>>,
    pub returning: Vec<ResultTerm<'a>>,
}

/// ON CONFLICT.
#[derive(Debug)]
pub(crate) struct UpsertPart<'a> {
    pub targets: Vec<ParsedExpr<'a>>,
    pub target_filter: Option<ParsedExpr<'a>>,
    pub sets: Vec<SetClause<'a>>,
    pub filter: Option<ParsedExpr<'a>>,
}

/// Columns, and what they become.
#[derive(Debug)]
pub(crate) struct SetClause<'a> {
    pub columns: Vec<String>,
    pub value: ParsedExpr<'a>,
}

/// UPDATE.
#[derive(Debug)]
pub(crate) struct UpdateParts<'a> {
    pub with: Vec<NamedSelect<'a>>,
    pub target: TargetTable,
    pub sets: Vec<SetClause<'a>>,
    /// Where a FROM clause would begin.
    pub from_place: usize,
    pub from: Option<FromTables<'a>>,
    pub filter: Option<ParsedExpr<'a>>,
    pub returning: Vec<ResultTerm<'a>>,
}

/// DELETE.
#[derive(Debug)]
pub(crate) struct DeleteParts<'a> {
    pub with: Vec<NamedSelect<'a>>,
    pub target: TargetTable,
    pub filter: Option<ParsedExpr<'a>>,
    pub returning: Vec<ResultTerm<'a>>,
}

/// CREATE TRIGGER.
#[derive(Debug)]
pub(crate) struct TriggerParts<'a> {
    pub table: TableName,
    /// Whether rows have values before, and after.
    pub has_old: bool,
    pub has_new: bool,
    pub when: Option<ParsedExpr<'a>>,
    pub steps: Vec<RowStatement<'a>>,
}
