//! How a table is read: chosen while a statement is prepared, kept by SQLite as a text, taken up
//! again when the statement runs.
//!
//! The text is `terms/order/columns/flags`: `e3i5/2+0-/0,1,2/x`.

use bobak_core::{Order, TableSchema};

/// A way to read a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The conditions, in the order of their arguments.
    pub terms: Vec<Term>,
    /// The order that rows come in; any where it is empty.
    pub order: Vec<Order>,
    /// The columns that are read, ascending.
    pub columns: Vec<usize>,
    /// Whether an argument says how many rows are wanted.
    pub limit: bool,
    /// Whether one says how many are passed over, and who does so.
    pub offset: Offset,
}

/// A condition on a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The column's place.
    pub column: usize,
    /// What it says.
    pub test: Test,
}

/// What is asked of a column and an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Is,
    IsNot,
    IsNull,
    NotNull,
    Like,
    Glob,
}

/// Who passes over the first rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Offset {
    /// There is none.
    #[default]
    None,
    /// SQLite: the argument says only how many more rows are needed.
    Host,
    /// The engine.
    Engine,
}

const LETTERS: &[(Test, char, &str)] = &[
    (Test::Equal, 'e', "="),
    (Test::NotEqual, 'n', "<>"),
    (Test::Less, 'l', "<"),
    (Test::LessOrEqual, 'L', "<="),
    (Test::Greater, 'g', ">"),
    (Test::GreaterOrEqual, 'G', ">="),
    (Test::In, 'i', "in (…)"),
    (Test::Is, 's', "is"),
    (Test::IsNot, 'S', "is not"),
    (Test::IsNull, 'z', "is null"),
    (Test::NotNull, 'Z', "is not null"),
    (Test::Like, 'k', "like"),
    (Test::Glob, 'b', "glob"),
];

impl Test {
    fn letter(self) -> char {
        LETTERS.iter().find(|(test, ..)| *test == self).map_or('?', |(_, letter, _)| *letter)
    }

    fn of(letter: char) -> Option<Self> {
        LETTERS.iter().find(|(_, other, _)| *other == letter).map(|(test, ..)| *test)
    }

    fn words(self) -> &'static str {
        LETTERS.iter().find(|(test, ..)| *test == self).map_or("", |(.., words)| words)
    }

    /// Whether its words say all, without a value.
    const fn is_complete(self) -> bool {
        matches!(self, Self::In | Self::IsNull | Self::NotNull)
    }
}

impl Plan {
    /// The plan as SQLite keeps it.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for term in &self.terms {
            text.push(term.test.letter());
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
            Offset::Host => "h",
            Offset::Engine => "o",
        });
        text
    }

    /// Reads [`to_text`](Self::to_text)'s text; `None` for another.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (terms, order) = (parts.next()?, parts.next()?);
        let (columns, flags) = (parts.next()?, parts.next()?);
        let mut plan = Self::default();
        let mut rest = terms;
        while let Some(letter) = rest.chars().next() {
            let test = Test::of(letter)?;
            let (column, after) = leading_number(rest.get(letter.len_utf8()..)?)?;
            plan.terms.push(Term { column, test });
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
            _ if flags.contains('h') => Offset::Host,
            _ if flags.contains('o') => Offset::Engine,
            _ => Offset::None,
        };
        Some(plan)
    }

    /// How many arguments it takes.
    pub(crate) fn arguments(&self) -> usize {
        self.terms.len() + usize::from(self.limit) + usize::from(self.offset != Offset::None)
    }

    /// What the engine is asked for, in words.
    pub(crate) fn words(&self, table: &TableSchema) -> String {
        let name = |place: usize| table.columns().get(place).map_or("?", |c| c.name.as_ref());
        self.words_with(&name, table.columns().len())
    }

    fn words_with<'n>(&self, name: &dyn Fn(usize) -> &'n str, count: usize) -> String {
        let mut parts = Vec::new();
        let terms: Vec<_> = self
            .terms
            .iter()
            .map(|term| {
                let value = if term.test.is_complete() { "" } else { " ?" };
                format!("{} {}{value}", name(term.column), term.test.words())
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
        let columns: Vec<_> = self.columns.iter().map(|&place| name(place)).collect();
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
    fn a_plan_comes_back_from_its_text() {
        let term = |column, test| Term { column, test };
        let plan = Plan {
            terms: vec![term(3, Test::Equal), term(12, Test::In), term(0, Test::NotNull)],
            order: vec![
                Order { column: 10, descending: true },
                Order { column: 2, descending: false },
            ],
            columns: vec![0, 1, 12],
            limit: true,
            offset: Offset::Engine,
        };
        assert_eq!(plan.to_text(), "e3i12Z0/10-2+/0,1,12/xo");
        assert_eq!(Plan::parse(&plan.to_text()), Some(plan));
        assert_eq!(Plan::parse("///"), Some(Plan::default()));
        for wrong in ["", "e/", "q1///", "/1/0/", "///", "//a/"] {
            assert!(Plan::parse(wrong).is_none() || wrong == "///", "{wrong}");
        }
    }
}
