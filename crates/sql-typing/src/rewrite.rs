//! The text of a statement with other expressions.

use crate::tree::{ExprKind, ParsedExpr};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where an expression is. Outer ones come before those inside them.
type ExprPlace = (usize, Reverse<usize>);

/// What is written for expressions of a statement. All else stays as it is in the text.
#[derive(Clone)]
pub(crate) struct Rewrite<'a> {
    source: &'a str,
    /// Parameters without a name or number, which get one: an expression can move, or be written twice.
    parameters: &'a [(usize, usize)],
    written: BTreeMap<ExprPlace, WrittenExpr>,
}

/// What is written for one expression.
#[derive(Clone, Default)]
struct WrittenExpr {
    before: String,
    /// `None` for its text, with what is written for expressions inside.
    body: Option<String>,
    after: String,
    /// Whether its text names a result column.
    names_column: bool,
}

impl WrittenExpr {
    const fn is_change(&self) -> bool {
        self.body.is_some() || !self.before.is_empty() || !self.after.is_empty()
    }
}

impl<'a> Rewrite<'a> {
    pub(crate) const fn new(source: &'a str, parameters: &'a [(usize, usize)]) -> Self {
        Self { source, parameters, written: BTreeMap::new() }
    }

    /// The text of a range, as it was.
    pub(crate) fn source(&self, span: Range<usize>) -> &'a str {
        self.source.get(span).unwrap_or_default()
    }

    fn at(&mut self, span: &Range<usize>) -> &mut WrittenExpr {
        self.written.entry(place(span)).or_default()
    }

    /// Writes texts before and after what is written for an expression.
    pub(crate) fn wrap(&mut self, e: &ParsedExpr<'_>, before: &str, after: &str) {
        let written = self.at(&e.span);
        written.before.insert_str(0, before);
        written.after.push_str(after);
    }

    /// Writes a call with an expression as its only argument.
    pub(crate) fn call(&mut self, function: &str, e: &ParsedExpr<'_>) {
        self.wrap(e, &format!("{function}("), ")");
    }

    /// Writes another text instead of an expression.
    pub(crate) fn replace(&mut self, e: &ParsedExpr<'_>, text: String) {
        let written = self.at(&e.span);
        let names_column = written.names_column;
        *written = WrittenExpr { body: Some(text), names_column, ..WrittenExpr::default() };
    }

    /// Writes a text between two tokens.
    pub(crate) fn insert(&mut self, at: usize, text: &str) {
        self.at(&(at..at)).body = Some(text.to_owned());
    }

    /// Keeps the name of a result column without an alias, which is the text of its expression.
    pub(crate) fn keep_name(&mut self, e: &ParsedExpr<'_>) {
        self.at(&e.span).names_column = true;
    }

    /// Whether what is written for an expression can be the operand of any operator.
    fn is_operand(&self, e: &ParsedExpr<'_>) -> bool {
        let is_written = self.written.get(&place(&e.span)).is_some_and(WrittenExpr::is_change);
        is_written
            || matches!(
                e.kind,
                ExprKind::Column(..)
                    | ExprKind::Parameter(_)
                    | ExprKind::Call(_)
                    | ExprKind::Row(_)
            )
    }

    /// Writes an operator and a number after an expression, and parentheses around both.
    pub(crate) fn apply(&mut self, e: &ParsedExpr<'_>, operator_and_number: &str) {
        match self.is_operand(e) {
            true => self.wrap(e, "(", &format!(" {operator_and_number})")),
            false => self.wrap(e, "((", &format!(") {operator_and_number})")),
        }
    }

    /// What is written for an expression so far.
    pub(crate) fn text(&self, e: &ParsedExpr<'_>) -> String {
        match self.written.get_key_value(&place(&e.span)) {
            Some((place, written)) => self.written_text(*place, written),
            None => self.range(e.span.clone(), None),
        }
    }

    /// What is written for a part of an expression.
    pub(crate) fn part(&self, span: Range<usize>) -> String {
        self.range(span, None)
    }

    /// The statement up to its end. `None` if it is as it was.
    pub(crate) fn finish(&self, end: usize) -> Option<String> {
        if !self.written.values().any(WrittenExpr::is_change) {
            return None;
        }
        let mut text = self.range(0..end, None);
        if let Some(last) = self.written.get(&place(&(end..end))) {
            text.extend(last.body.as_deref());
        }
        Some(text)
    }

    fn written_text(&self, place: ExprPlace, written: &WrittenExpr) -> String {
        let span = place.0..place.1.0;
        let body = match &written.body {
            Some(body) => body.clone(),
            None => self.range(span.clone(), Some(place)),
        };
        let mut text = [written.before.as_str(), &body, &written.after].concat();
        let source = self.source(span);
        if written.names_column && text != source {
            text += &format!(" AS \"{}\"", source.replace('"', "\"\""));
        }
        text
    }

    /// The text of a range, with what is written for the expressions inside, but for the one of this place.
    fn range(&self, range: Range<usize>, own: Option<ExprPlace>) -> String {
        let (mut text, mut at) = (String::new(), range.start);
        let inside = self.written.range((range.start, Reverse(usize::MAX))..);
        for (place, written) in inside.take_while(|(place, _)| place.0 < range.end) {
            let (start, Reverse(end)) = *place;
            if start >= at && end <= range.end && Some(*place) != own {
                self.copy(at..start, &mut text);
                text += &self.written_text(*place, written);
                at = end;
            }
        }
        self.copy(at..range.end, &mut text);
        text
    }

    /// Copies a part of the text, and numbers its parameters.
    fn copy(&self, range: Range<usize>, text: &mut String) {
        let mut at = range.start;
        for (place, number) in self.parameters.iter().filter(|(place, _)| range.contains(place)) {
            *text += self.source(at..*place);
            *text += &format!("?{number}");
            at = place + 1;
        }
        *text += self.source(at..range.end);
    }
}

const fn place(span: &Range<usize>) -> ExprPlace {
    (span.start, Reverse(span.end))
}
