//! SELECT, VALUES, common table expressions and FROM.

use super::{JOIN_WORDS, Parser, unreadable};
use crate::tree::{
    FromTable, FromTables, JoinedSource, NamedSelect, ParsedSelect, ResultTerm, RowSource,
    SelectArm, SelectParts,
};
use bobak_core::Result;

impl<'a> Parser<'a> {
    /// Whether a query is next.
    pub(super) fn is_select(&self) -> bool {
        self.is_word("select")
            || self.is_word("with")
            || self.is_word("values") && self.operator_at(1, "(")
    }

    pub(super) fn select(&mut self) -> Result<ParsedSelect<'a>> {
        let with = self.with()?;
        self.select_after(with)
    }

    /// A query, after its common table expressions.
    pub(super) fn select_after(&mut self, with: Vec<NamedSelect<'a>>) -> Result<ParsedSelect<'a>> {
        self.nested(|parser| {
            let mut arms = vec![parser.arm()?];
            while parser.take_any(&["union", "except", "intersect"]) {
                parser.take_word("all");
                arms.push(parser.arm()?);
            }
            let order = parser.order()?;
            let mut limit = Vec::new();
            if parser.take_word("limit") {
                limit.push(parser.expr()?);
                if parser.take_word("offset") || parser.take_operator(",") {
                    limit.push(parser.expr()?);
                }
            }
            Ok(ParsedSelect { with, arms, order, limit })
        })
    }

    /// WITH, if it is next.
    pub(super) fn with(&mut self) -> Result<Vec<NamedSelect<'a>>> {
        if !self.take_word("with") {
            return Ok(Vec::new());
        }
        if self.is_word("recursive") && !self.word_at(1, "as") && !self.operator_at(1, "(") {
            self.at += 1;
        }
        self.list(|parser| {
            let name = parser.name_text()?;
            let columns = parser.column_names()?;
            parser.expect_words(&["as"])?;
            parser.take_word("not");
            parser.take_word("materialized");
            let select = parser.in_parentheses(Self::select)?;
            Ok(NamedSelect { name, columns, select })
        })
    }

    /// Names in parentheses, if they are next.
    pub(super) fn column_names(&mut self) -> Result<Vec<String>> {
        if !self.is_operator("(") {
            return Ok(Vec::new());
        }
        self.in_parentheses(|parser| parser.list(Self::name_text))
    }

    fn arm(&mut self) -> Result<SelectArm<'a>> {
        if self.take_word("values") {
            let row = |parser: &mut Self| parser.in_parentheses(Self::exprs);
            return self.list(row).map(SelectArm::Values);
        }
        self.expect_words(&["select"])?;
        let _ = self.take_any(&["distinct", "all"]);
        let columns = self.list(Self::result_term)?;
        let from = if self.take_word("from") { Some(self.from()?) } else { None };
        let filter = self.expr_after("where")?;
        let group = match self.take_words(&["group", "by"]) {
            true => self.list(Self::expr)?,
            false => Vec::new(),
        };
        let having = self.expr_after("having")?;
        let mut windows = Vec::new();
        if self.is_window_clause() {
            self.at += 1;
            windows = self.list(|parser| {
                parser.name()?;
                parser.expect_words(&["as"])?;
                parser.window()
            })?;
        }
        let parts = SelectParts { columns, from, filter, group, having, windows };
        Ok(SelectArm::Select(Box::new(parts)))
    }

    /// A result column.
    pub(super) fn result_term(&mut self) -> Result<ResultTerm<'a>> {
        if self.take_operator("*") {
            return Ok(ResultTerm::Star);
        }
        if self.operator_at(1, ".") && self.operator_at(2, "*") {
            let name = self.name_text()?;
            self.at += 2;
            return Ok(ResultTerm::TableStar(name));
        }
        let value = self.expr()?;
        Ok(ResultTerm::Value(value, self.alias()?))
    }

    /// What follows FROM.
    pub(super) fn from(&mut self) -> Result<FromTables<'a>> {
        let first = self.joined_source()?;
        let mut joins = Vec::new();
        while let Some(is_natural) = self.join_operator()? {
            let table = self.joined_source()?;
            let on = self.expr_after("on")?;
            let using = match self.take_word("using") {
                true => self.column_names()?,
                false => Vec::new(),
            };
            joins.push(JoinedSource { is_natural, table, on, using });
        }
        Ok(FromTables { first, joins })
    }

    /// Skips what joins the next table. Returns whether it is NATURAL, or `None` if no table follows.
    fn join_operator(&mut self) -> Result<Option<bool>> {
        if self.take_operator(",") {
            return Ok(Some(false));
        }
        let (mut is_natural, before) = (false, self.at);
        loop {
            is_natural |= self.is_word("natural");
            if !self.take_any(&JOIN_WORDS) {
                break;
            }
        }
        match (self.take_word("join"), self.at == before) {
            (true, _) => Ok(Some(is_natural)),
            (false, true) => Ok(None),
            (false, false) => Err(unreadable()),
        }
    }

    fn joined_source(&mut self) -> Result<FromTable<'a>> {
        let source = match self.is_operator("(") {
            true => self.nested(|parser| {
                parser.in_parentheses(|parser| match parser.is_select() {
                    true => parser.select().map(|select| RowSource::Select(Box::new(select))),
                    false => parser.from().map(|from| RowSource::Joins(Box::new(from))),
                })
            })?,
            false => self.named_source()?,
        };
        let alias = self.alias()?;
        self.skip_index()?;
        Ok(FromTable { source, alias })
    }

    fn named_source(&mut self) -> Result<RowSource<'a>> {
        let table = self.table_name()?;
        if !self.is_operator("(") {
            return Ok(RowSource::Table(table));
        }
        let arguments = self.in_parentheses(Self::exprs)?;
        Ok(RowSource::Call(table.name, arguments))
    }

    /// Skips INDEXED BY and NOT INDEXED.
    pub(super) fn skip_index(&mut self) -> Result<()> {
        if self.take_words(&["indexed", "by"]) {
            return self.name().map(drop);
        }
        self.take_words(&["not", "indexed"]);
        Ok(())
    }
}
