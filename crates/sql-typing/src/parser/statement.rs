//! Statements.

use super::{Parser, unreadable};
use crate::tree::{
    DeleteParts, InsertParts, NamedSelect, ParsedExpr, ParsedStatement, ResultTerm, RowStatement,
    SetClause, TargetTable, TriggerParts, UpdateParts, UpsertPart,
};
use bobak_core::Result;

impl<'a> Parser<'a> {
    pub(super) fn statement(&mut self) -> Result<ParsedStatement<'a>> {
        if self.take_word("explain") {
            self.take_words(&["query", "plan"]);
        }
        if self.take_word("create") {
            return self.create();
        }
        let starts = ["with", "select", "values", "insert", "replace", "update", "delete"];
        if !starts.iter().any(|word| self.is_word(word)) {
            return self.other();
        }
        self.row_statement().map(ParsedStatement::Rows)
    }

    /// A statement without expressions over rows.
    fn other(&self) -> Result<ParsedStatement<'a>> {
        const WORDS: [&str; 14] = [
            "alter",
            "analyze",
            "attach",
            "begin",
            "commit",
            "detach",
            "drop",
            "end",
            "pragma",
            "reindex",
            "release",
            "rollback",
            "savepoint",
            "vacuum",
        ];
        match WORDS.iter().any(|word| self.is_word(word)) {
            true => Ok(ParsedStatement::Other),
            false => Err(unreadable()),
        }
    }

    /// A statement that reads or writes rows.
    fn row_statement(&mut self) -> Result<RowStatement<'a>> {
        let with = self.with()?;
        if self.take_any(&["insert", "replace"]) {
            return self.insert(with).map(RowStatement::Insert);
        }
        if self.take_word("update") {
            return self.update(with).map(RowStatement::Update);
        }
        if self.take_words(&["delete", "from"]) {
            return self.delete(with).map(RowStatement::Delete);
        }
        self.select_after(with).map(RowStatement::Select)
    }

    /// Skips OR REPLACE and the like.
    fn skip_conflict(&mut self) -> Result<()> {
        if self.take_word("or") { self.next().map(drop) } else { Ok(()) }
    }

    fn target(&mut self) -> Result<TargetTable> {
        let table = self.table_name()?;
        let alias = if self.take_word("as") { Some(self.name_text()?) } else { None };
        Ok(TargetTable { table, alias })
    }

    fn returning(&mut self) -> Result<Vec<ResultTerm<'a>>> {
        if self.take_word("returning") { self.list(Self::result_term) } else { Ok(Vec::new()) }
    }

    fn insert(&mut self, with: Vec<NamedSelect<'a>>) -> Result<InsertParts<'a>> {
        self.skip_conflict()?;
        self.expect_words(&["into"])?;
        let target = self.target()?;
        let columns = self.column_names()?;
        let (mut select, mut upserts) = (None, Vec::new());
        if !self.take_words(&["default", "values"]) {
            select = Some(self.select()?);
            while self.take_words(&["on", "conflict"]) {
                upserts.push(self.upsert()?);
            }
        }
        let returning = self.returning()?;
        Ok(InsertParts { with, target, columns, select, upserts, returning })
    }

    /// What follows ON CONFLICT.
    fn upsert(&mut self) -> Result<UpsertPart<'a>> {
        let mut part =
            UpsertPart { targets: Vec::new(), target_filter: None, sets: Vec::new(), filter: None };
        if self.is_operator("(") {
            part.targets = self.in_parentheses(|parser| parser.list(Self::sorted))?;
            part.target_filter = self.expr_after("where")?;
        }
        self.expect_words(&["do"])?;
        if self.take_word("nothing") {
            return Ok(part);
        }
        self.expect_words(&["update", "set"])?;
        part.sets = self.list(Self::set)?;
        part.filter = self.expr_after("where")?;
        Ok(part)
    }

    fn set(&mut self) -> Result<SetClause<'a>> {
        let columns = match self.is_operator("(") {
            true => self.column_names()?,
            false => vec![self.name_text()?],
        };
        self.expect("=")?;
        Ok(SetClause { columns, value: self.expr()? })
    }

    fn update(&mut self, with: Vec<NamedSelect<'a>>) -> Result<UpdateParts<'a>> {
        self.skip_conflict()?;
        let target = self.target()?;
        self.skip_index()?;
        self.expect_words(&["set"])?;
        let sets = self.list(Self::set)?;
        let from_place = self.last_end();
        let from = if self.take_word("from") { Some(self.from()?) } else { None };
        let filter = self.expr_after("where")?;
        let returning = self.returning()?;
        Ok(UpdateParts { with, target, sets, from_place, from, filter, returning })
    }

    fn delete(&mut self, with: Vec<NamedSelect<'a>>) -> Result<DeleteParts<'a>> {
        let target = self.target()?;
        self.skip_index()?;
        let filter = self.expr_after("where")?;
        Ok(DeleteParts { with, target, filter, returning: self.returning()? })
    }

    /// What follows CREATE.
    fn create(&mut self) -> Result<ParsedStatement<'a>> {
        let _ = self.take_any(&["temp", "temporary", "unique"]);
        let kinds = ["view", "table", "index", "trigger"];
        let kind = kinds.into_iter().find(|word| self.is_word(word));
        let Some(kind) = kind else { return Ok(ParsedStatement::Other) };
        self.at += 1;
        self.take_words(&["if", "not", "exists"]);
        self.table_name()?;
        match kind {
            "index" => self.index(),
            "trigger" => self.trigger().map(ParsedStatement::CreateTrigger),
            "table" if !self.take_word("as") => Ok(ParsedStatement::Other),
            "table" => self.select().map(ParsedStatement::CreateTableAs),
            _ => {
                self.column_names()?;
                self.expect_words(&["as"])?;
                self.select().map(ParsedStatement::CreateView)
            }
        }
    }

    fn index(&mut self) -> Result<ParsedStatement<'a>> {
        self.expect_words(&["on"])?;
        let table = self.name_text()?;
        let columns = self.in_parentheses(|parser| parser.list(Self::sorted))?;
        let filter: Option<ParsedExpr<'a>> = self.expr_after("where")?;
        Ok(ParsedStatement::CreateIndex(table, columns, filter))
    }

    fn trigger(&mut self) -> Result<TriggerParts<'a>> {
        let _ = self.take_any(&["before", "after"]) || self.take_words(&["instead", "of"]);
        let (is_insert, is_delete) = (self.is_word("insert"), self.is_word("delete"));
        if !self.take_any(&["insert", "delete", "update"]) {
            return Err(unreadable());
        }
        if self.take_word("of") {
            self.list(Self::name_text)?;
        }
        self.expect_words(&["on"])?;
        let table = self.table_name()?;
        self.take_words(&["for", "each", "row"]);
        let when = self.expr_after("when")?;
        self.expect_words(&["begin"])?;
        let mut steps = Vec::new();
        while !self.take_word("end") {
            steps.push(self.row_statement()?);
            self.expect(";")?;
        }
        Ok(TriggerParts { table, has_old: !is_insert, has_new: !is_delete, when, steps })
    }
}
