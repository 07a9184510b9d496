//! The plan by which a table is read: chosen while a statement is prepared, kept by SQLite as a
//! text, and parsed when the statement runs.
//!
//! The text is `terms/order/columns/flags`, such as `e3i5/2+0-/0,1,2/x`.

use bobak_core::{Order, TableSchema};

/// How to read a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanPlan {
    /// The conditions, in the order of their arguments.
    pub terms: Vec<Term>,
    /// The order of the rows; empty for any order.
    pub order: Vec<Order>,
    /// The positions of the columns that are read, ascending.
    pub columns: Vec<usize>,
    /// Whether an argument limits the number of rows.
    pub limit: bool,
    /// Whether an argument is the number of rows to skip, and who skips them.
    pub offset: Offset,
}

/// A condition on a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The column's position.
    pub column: usize,
    /// How the column is compared with the argument.
    pub operator: Operator,
}

/// How a column is compared with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `=`, one value at a time.
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `IN`, the whole list at once.
    In,
    Is,
    IsNot,
    IsNull,
    NotNull,
    Like,
    Glob,
}

/// Who skips the rows of an `OFFSET`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Offset {
    /// There is no offset.
    #[default]
    None,
    /// SQLite: the argument only tells how many more rows to fetch.
    Sqlite,
    /// The engine.
    Engine,
}

const OPERATORS: &[(Operator, char, &str)] = &[
    (Operator::Equal, 'e', "="),
    (Operator::NotEqual, 'n', "<>"),
    (Operator::Less, 'l', "<"),
    (Operator::LessOrEqual, 'L', "<="),
    (Operator::Greater, 'g', ">"),
    (Operator::GreaterOrEqual, 'G', ">="),
    (Operator::In, 'i', "in (…)"),
    (Operator::Is, 's', "is"),
    (Operator::IsNot, 'S', "is not"),
    (Operator::IsNull, 'z', "is null"),
    (Operator::NotNull, 'Z', "is not null"),
    (Operator::Like, 'k', "like"),
    (Operator::Glob, 'b', "glob"),
];

impl Operator {
    fn letter(self) -> char {
        OPERATORS
            .iter()
            .find(|(operator, ..)| *operator == self)
            .map_or('?', |(_, letter, _)| *letter)
    }

    fn of(letter: char) -> Option<Self> {
        OPERATORS.iter().find(|(_, other, _)| *other == letter).map(|(operator, ..)| *operator)
    }

    fn words(self) -> &'static str {
        OPERATORS.iter().find(|(operator, ..)| *operator == self).map_or("", |(.., words)| words)
    }

    /// Whether its text is complete without a value.
    const fn is_complete(self) -> bool {
        matches!(self, Self::In | Self::IsNull | Self::NotNull)
    }
}

impl ScanPlan {
    /// The plan as a text.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for term in &self.terms {
            text.push(term.operator.letter());
            text.push_str(&term.column.to_string());
        }
        text.push('/');
        for step in &self.order {
            text.push_str(&step.column.to_string());
            text.push(if step.descending { '-' } else { '+' });
        }
        text.push('/');
        let columns: Vec<_> = self.columns.iter().map(usize::to_string).collect();
        text.push_str(&columns.join(","));
        text.push('/');
        text.push_str(if self.limit { "x" } else { "" });
        text.push_str(match self.offset {
            Offset::None => "",
            Offset::Sqlite => "h",
            Offset::Engine => "o",
        });
        text
    }

    /// Parses a text of [`to_text`](Self::to_text); `None` for any other.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (terms, order) = (parts.next()?, parts.next()?);
        let (columns, flags) = (parts.next()?, parts.next()?);
        let mut plan = Self::default();
        let mut rest = terms;
        while let Some(letter) = rest.chars().next() {
            let operator = Operator::of(letter)?;
            let (column, after) = leading_number(rest.get(letter.len_utf8()..)?)?;
            plan.terms.push(Term { column, operator });
            rest = after;
        }
        rest = order;
        while !rest.is_empty() {
            let (column, after) = leading_number(rest)?;
            let descending = after.starts_with('-');
            plan.order.push(Order { column, descending });
            rest = after.get(1..)?;
        }
        for column in columns.split(',').filter(|column| !column.is_empty()) {
            plan.columns.push(column.parse().ok()?);
        }
        plan.limit = flags.contains('x');
        plan.offset = match flags {
            _ if flags.contains('h') => Offset::Sqlite,
            _ if flags.contains('o') => Offset::Engine,
            _ => Offset::None,
        };
        Some(plan)
    }

    /// The index of a table's column in the rows of the plan.
    #[inline]
    pub(crate) fn column_index(&self, column: usize) -> Option<usize> {
        self.columns.binary_search(&column).ok()
    }

    /// The number of its arguments.
    pub(crate) fn arguments(&self) -> usize {
        self.terms.len() + usize::from(self.limit) + usize::from(self.offset != Offset::None)
    }

    /// The plan in words, for `EXPLAIN`.
    pub(crate) fn words(&self, table: &TableSchema) -> String {
        let name = |position: usize| table.columns().get(position).map_or("?", |c| c.name.as_ref());
        self.words_with(&name, table.columns().len())
    }

    fn words_with<'n>(&self, name: &dyn Fn(usize) -> &'n str, count: usize) -> String {
        let mut parts = Vec::new();
        let terms: Vec<_> = self
            .terms
            .iter()
            .map(|term| {
                let value = if term.operator.is_complete() { "" } else { " ?" };
                format!("{} {}{value}", name(term.column), term.operator.words())
            })
            .collect();
        if !terms.is_empty() {
            parts.push(format!("where {}", terms.join(" and ")));
        }
        let order: Vec<_> = self
            .order
            .iter()
            .map(|step| {
                format!("{}{}", name(step.column), if step.descending { " desc" } else { "" })
            })
            .collect();
        if !order.is_empty() {
            parts.push(format!("order by {}", order.join(", ")));
        }
        if self.limit {
            parts.push("limit".to_owned());
        }
        if self.offset == Offset::Engine {
            parts.push("offset".to_owned());
        }
        let columns: Vec<_> = self.columns.iter().map(|&position| name(position)).collect();
        let all = columns.len() == count;
        parts.push(format!("columns {}", if all { "*".into() } else { columns.join(", ") }));
        parts.join(", ")
    }
}

fn leading_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_round_trips_through_its_text() {
        let term = |column, operator| Term { column, operator };
        let plan = ScanPlan {
            terms: vec![
                term(3, Operator::Equal),
                term(12, Operator::In),
                term(0, Operator::NotNull),
            ],
            order: vec![
                Order { column: 10, descending: true },
                Order { column: 2, descending: false },
            ],
            columns: vec![0, 1, 12],
            limit: true,
            offset: Offset::Engine,
        };
        assert_eq!(plan.to_text(), "e3i12Z0/10-2+/0,1,12/xo");
        assert_eq!(ScanPlan::parse(&plan.to_text()), Some(plan));
        assert_eq!(ScanPlan::parse("///"), Some(ScanPlan::default()));
        for wrong in ["", "e/", "q1///", "/1/0/", "///", "//a/"] {
            assert!(ScanPlan::parse(wrong).is_none() || wrong == "///", "{wrong}");
        }
    }
}
