//! Calls of functions, and windows.

use super::Parser;
use crate::tree::{CallParts, ExprKind, ParsedExpr, WindowParts};
use bobak_core::Result;

impl<'a> Parser<'a> {
    /// A call, after the function's name.
    pub(super) fn call(&mut self, name: &str) -> Result<ExprKind<'a>> {
        let mut call = CallParts {
            name: name.to_ascii_lowercase(),
            name_end: self.last_end(),
            is_star: false,
            arguments: Vec::new(),
            order: Vec::new(),
            filter: None,
            over: None,
        };
        self.in_parentheses(|parser| {
            call.is_star = parser.take_operator("*");
            let _ = parser.take_any(&["distinct", "all"]);
            if !call.is_star && !parser.is_word("order") {
                call.arguments = parser.exprs()?;
            }
            call.order = parser.order()?;
            Ok(())
        })?;
        if self.take_words(&["within", "group"]) {
            call.order.extend(self.in_parentheses(Self::order)?);
        }
        if self.is_word("filter") && self.operator_at(1, "(") {
            self.at += 1;
            call.filter = self.in_parentheses(|parser| parser.expr_after("where"))?.map(Box::new);
        }
        if self.take_word("over") {
            call.over = match self.is_operator("(") {
                true => Some(Box::new(self.window()?)),
                false => self.name().map(|_| None)?,
            };
        }
        Ok(ExprKind::Call(call))
    }

    /// ORDER BY, if it is next.
    pub(super) fn order(&mut self) -> Result<Vec<ParsedExpr<'a>>> {
        if !self.take_words(&["order", "by"]) {
            return Ok(Vec::new());
        }
        self.list(Self::sorted)
    }

    /// An expression, and how rows are sorted by it.
    pub(super) fn sorted(&mut self) -> Result<ParsedExpr<'a>> {
        let found = self.expr()?;
        let _ = self.take_any(&["asc", "desc"]);
        let _ = self.take_words(&["nulls", "first"]) || self.take_words(&["nulls", "last"]);
        Ok(found)
    }

    /// The definition of a window, in parentheses.
    pub(super) fn window(&mut self) -> Result<WindowParts<'a>> {
        self.in_parentheses(|parser| {
            let clauses = ["partition", "order", "range", "rows", "groups"];
            let is_clause = clauses.iter().any(|word| parser.is_word(word));
            if !is_clause && !parser.is_operator(")") {
                parser.name()?;
            }
            let partition = match parser.take_words(&["partition", "by"]) {
                true => parser.list(Self::expr)?,
                false => Vec::new(),
            };
            let order = parser.order()?;
            let is_range = parser.is_word("range");
            let offsets = match parser.take_any(&["range", "rows", "groups"]) {
                true => parser.frame()?,
                false => Vec::new(),
            };
            Ok(WindowParts { partition, order, is_range, offsets })
        })
    }

    /// The ends of a frame, and what it excludes. Returns their offsets.
    fn frame(&mut self) -> Result<Vec<ParsedExpr<'a>>> {
        let mut offsets = Vec::new();
        if self.take_word("between") {
            offsets.extend(self.bound()?);
            self.expect_words(&["and"])?;
        }
        offsets.extend(self.bound()?);
        if self.take_word("exclude") {
            while !self.is_operator(")") {
                self.next()?;
            }
        }
        Ok(offsets)
    }

    fn bound(&mut self) -> Result<Option<ParsedExpr<'a>>> {
        if self.take_words(&["current", "row"]) {
            return Ok(None);
        }
        let is_unbounded = self.is_word("unbounded")
            && (self.word_at(1, "preceding") || self.word_at(1, "following"));
        let offset = match is_unbounded {
            true => self.next().map(|_| None)?,
            false => Some(self.expr()?),
        };
        match self.take_any(&["preceding", "following"]) {
            true => Ok(offset),
            false => Err(super::unreadable()),
        }
    }
}
