//! Which columns an SQL text compares, as far as its words show: the advice is about what they may mean.

use super::advice::same;
use super::uses::{TableUse, order_of_columns};
use crate::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use crate::{Order, TableSchema};

/// The words before conditions, and those after them.
const BEGIN: [&str; 4] = ["where", "on", "having", "and"];
const END: [&str; 8] = ["select", "from", "group", "order", "limit", "set", "values", "window"];

/// What follows a column that equals something, and one that is compared in another way.
const EQUAL: [&str; 4] = ["=", "==", "in", "is"];
const RANGES: [&str; 5] = ["<", ">", "<=", ">=", "between"];

/// The tables of a statement, with their other names, and the columns of them that it compares.
pub(super) fn of_text(sql: &str, tables: &[TableSchema]) -> Vec<TableUse> {
    let tokens: Vec<SqlToken<'_>> =
        SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant().collect();
    let mut text = SqlWords { tokens: &tokens, tables, uses: Vec::new() };
    text.find_tables();
    text.find_comparisons();
    text.find_order();
    text.uses
}

struct SqlWords<'a> {
    tokens: &'a [SqlToken<'a>],
    tables: &'a [TableSchema],
    uses: Vec<TableUse>,
}

impl<'a> SqlWords<'a> {
    /// The name at a place, without quotes; `None` if it is none.
    fn name(&self, at: usize) -> Option<&'a str> {
        let token = self.tokens.get(at)?;
        match token.kind {
            SqlTokenKind::Word => Some(token.text),
            SqlTokenKind::QuotedName => token.text.get(1..token.text.len().checked_sub(1)?),
            _ => None,
        }
    }

    fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| words.iter().any(|word| same(token.text, word)))
    }

    fn find_tables(&mut self) {
        for at in 0..self.tokens.len() {
            let follows = at.checked_sub(1).is_some_and(|before| {
                self.is_one_of(before, &["from", "join", "update", "into", ",", "."])
            });
            let Some(table) = self.name(at).filter(|_| follows).and_then(|name| self.table(name))
            else {
                continue;
            };
            let after = if self.is_one_of(at + 1, &["as"]) { at + 2 } else { at + 1 };
            const NO_ALIAS: [&str; 14] = [
                "where", "join", "on", "left", "inner", "cross", "group", "order", "limit", "set",
                "natural", "union", "having", "using",
            ];
            let alias = self.name(after).filter(|_| !self.is_one_of(after, &NO_ALIAS));
            let found = TableUse::new(alias.unwrap_or(table), table);
            if !self.uses.contains(&found) {
                self.uses.push(found);
            }
        }
    }

    fn table(&self, name: &str) -> Option<&'a str> {
        self.tables.iter().find(|table| same(table.name(), name)).map(TableSchema::name)
    }

    fn find_comparisons(&mut self) {
        let mut in_condition = false;
        for at in 0..self.tokens.len() {
            if self.is_one_of(at, &BEGIN) {
                in_condition = true;
            } else if self.is_one_of(at, &END) {
                in_condition = false;
            }
            let is_equal = self.is_one_of(at + 1, &EQUAL);
            if !in_condition || !(is_equal || self.is_one_of(at + 1, &RANGES)) {
                continue;
            }
            let Some((own, column)) = self.column(at) else { continue };
            let dotted = if self.is_one_of(at + 3, &["."]) { at + 4 } else { at + 2 };
            match self.column(dotted) {
                Some((other, theirs)) if other != own && is_equal => {
                    self.link(own, &column, other);
                    self.link(other, &theirs, own);
                }
                _ => {
                    if let Some(found) = self.uses.get_mut(own) {
                        found.add_column(&column, is_equal);
                    }
                }
            }
        }
    }

    /// The columns of the last order, if a limit follows it, and the statement is of one table without groups.
    fn find_order(&mut self) {
        let places = 0..self.tokens.len();
        let by = |at: &usize| self.is_one_of(*at, &["order"]) && self.is_one_of(at + 1, &["by"]);
        let Some(mut at) = places.clone().rfind(by).map(|at| at + 2) else { return };
        let mut others = places.filter(|at| self.is_one_of(*at, &["group", "distinct", "union"]));
        let [found] = &*self.uses else { return };
        let Some(table) = self.tables.iter().find(|table| table.name() == found.table) else {
            return;
        };
        let mut steps = Vec::new();
        while others.next().is_none() {
            at += if self.is_one_of(at + 1, &["."]) { 2 } else { 0 };
            let column = self.column(at).and_then(|(_, name)| table.column(&name).ok());
            let Some(column) = column else { return };
            let descending = self.is_one_of(at + 1, &["desc"]);
            at += if descending || self.is_one_of(at + 1, &["asc"]) { 2 } else { 1 };
            steps.push(Order { column, descending });
            match self.tokens.get(at) {
                Some(token) if same(token.text, ",") => at += 1,
                Some(token) if same(token.text, "limit") => break,
                _ => return,
            }
        }
        let order = order_of_columns(table, &steps);
        self.uses.iter_mut().for_each(|found| found.order.clone_from(&order));
    }

    fn link(&mut self, own: usize, column: &str, other: usize) {
        let alias = self.uses.get(other).map(|other| other.alias.clone());
        if let (Some(found), Some(alias)) = (self.uses.get_mut(own), alias) {
            found.links.push((column.to_owned(), alias));
        }
    }

    /// The column that ends at a place: the number of its table's use, and its name.
    fn column(&self, at: usize) -> Option<(usize, String)> {
        let name = self.name(at)?;
        let before = at.checked_sub(1);
        let alias = match before {
            Some(dot) if self.is_one_of(dot, &["."]) => Some(self.name(dot.checked_sub(1)?)?),
            _ => None,
        };
        self.uses.iter().enumerate().find_map(|(number, found)| {
            let is_meant = alias.is_none_or(|alias| same(alias, &found.alias));
            let table = self.tables.iter().find(|table| table.name() == found.table)?;
            let mut columns = table.columns().iter().filter(|column| same(&column.name, name));
            let column = columns.next().filter(|_| is_meant)?;
            Some((number, column.name.to_string()))
        })
    }
}
