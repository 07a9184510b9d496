//! Calculations, CASE, and functions that give numbers.

use super::JoinWriter;
use crate::Dialect;
use crate::vocabulary::{part_words, unit_start};
use bobak_core::join::{CalculationOperator, JoinCondition, JoinExpr, JoinFunction};
use bobak_core::{Currency, DatePart, DateUnit, Storage, Type, ValueRef};

/// The microseconds of a day.
const DAY: &str = "86400000000";

impl<'a> JoinWriter<'a> {
    pub(super) fn push_calculation(
        &mut self,
        expr: &'a JoinExpr,
        operator: CalculationOperator,
        parts: &'a (JoinExpr, JoinExpr),
    ) {
        let dialect = self.dialect();
        let is_exact = self.storage(expr) == Some(Storage::Int);
        let is_money = expr.ty(self.join) == Type::Currency;
        let quotient = operator == CalculationOperator::Divide;
        if is_exact && is_money && quotient {
            return self.push_money_quotient(parts);
        }
        // A server has an error for an infinite result, and NaN; a quotient of integers is neither.
        let is_finite = quotient && self.is_whole(&parts.0) && self.is_whole(&parts.1);
        self.require(is_exact || is_finite || dialect == Dialect::Sqlite);
        self.raw("(");
        self.push_part(&parts.0, operator);
        self.raw(match operator {
            CalculationOperator::Plus => " + ",
            CalculationOperator::Minus => " - ",
            CalculationOperator::Times => " * ",
            CalculationOperator::Divide if is_exact && dialect.is_mysql() => " DIV ",
            CalculationOperator::Divide => " / ",
            CalculationOperator::Remainder => " % ",
        });
        let divides =
            matches!(operator, CalculationOperator::Divide | CalculationOperator::Remainder);
        if divides && dialect == Dialect::Postgres {
            self.raw("NULLIF(");
            self.push_part(&parts.1, operator);
            self.raw(", 0)");
        } else {
            self.push_second_part(parts, operator);
        }
        self.raw(")");
    }

    /// The second part of a calculation. Next to a column in 64 bits PostgreSQL takes a narrower integer as it is, and
    /// calculates in 64 bits.
    fn push_second_part(&mut self, parts: &'a (JoinExpr, JoinExpr), operator: CalculationOperator) {
        use CalculationOperator::{Minus, Plus, Times};
        let is_exact = self.storage(&parts.0) == Some(Storage::Int);
        match parts {
            (JoinExpr::Column(_), JoinExpr::Column(second))
                if is_exact
                    && self.dialect() == Dialect::Postgres
                    && matches!(operator, Plus | Minus | Times)
                    && self.is_integer_column(*second) =>
            {
                self.push_column(*second);
            }
            (_, second) => self.push_part(second, operator),
        }
    }

    /// A part of a calculation. Of money and money, `/` is of floats; `%` of a float that SQLite made of a large integer
    /// would be another integer.
    fn push_part(&mut self, part: &'a JoinExpr, operator: CalculationOperator) {
        let is_money = part.ty(self.join) == Type::Currency;
        match operator {
            CalculationOperator::Divide if is_money => self.push_float(part, false),
            CalculationOperator::Remainder => self.push_checked(part),
            _ => self.push_number(part),
        }
    }

    /// Money divided by an integer: a function of Bobak's own in SQLite.
    fn push_money_quotient(&mut self, parts: &'a (JoinExpr, JoinExpr)) {
        self.require(self.dialect() == Dialect::Sqlite);
        self.raw("bobak_over(");
        self.push_checked(&parts.0);
        self.raw(", ");
        self.push_checked(&parts.1);
        self.raw(")");
    }

    /// A number as a float.
    fn push_float(&mut self, expr: &'a JoinExpr, in_units: bool) {
        let (before, after) = match self.dialect() {
            Dialect::Sqlite => ("CAST(", " AS REAL)"),
            Dialect::Postgres => ("(", ")::float8"),
            Dialect::MariaDb | Dialect::MySql => ("(", " + 0e0)"),
        };
        let divides = in_units && expr.ty(self.join) == Type::Currency;
        self.raw(if divides { "(" } else { "" });
        self.raw(before);
        self.push_checked(expr);
        self.raw(after);
        if divides {
            self.writer.raw(" / ").literal(ValueRef::Float(Currency::SCALE as f64)).raw(")");
        }
    }

    /// A number as an integer. Servers round floats otherwise.
    fn push_integer(&mut self, expr: &'a JoinExpr) {
        match self.storage(expr) {
            None => self.raw("NULL"),
            Some(Storage::Int) if expr.ty(self.join) == Type::Currency => {
                self.raw("(");
                self.push_checked(expr);
                self.raw(if self.dialect().is_mysql() { " DIV " } else { " / " });
                self.writer.literal(ValueRef::Int(Currency::SCALE)).raw(")");
            }
            Some(Storage::Int) => {
                // To SQLite, a plain number in an order or a group is the place of a column.
                let is_sqlite = self.dialect() == Dialect::Sqlite;
                self.raw(if is_sqlite { "CAST(" } else { "" });
                self.push_checked(expr);
                self.raw(if is_sqlite { " AS INTEGER)" } else { "" });
            }
            _ => self.require(false),
        }
    }

    pub(super) fn push_number_function(
        &mut self,
        function: JoinFunction,
        arguments: &'a [JoinExpr],
    ) {
        let Some(first) = arguments.first() else { return self.require(false) };
        match function {
            JoinFunction::Length => {
                self.raw(match self.dialect() {
                    // SQLite's own stops at a zero.
                    Dialect::Sqlite => "bobak_length(",
                    Dialect::Postgres => "char_length(",
                    Dialect::MariaDb | Dialect::MySql => "CHAR_LENGTH(",
                });
                self.push_text_argument(first);
                self.raw(if self.dialect() == Dialect::Postgres { ")::int8" } else { ")" });
            }
            JoinFunction::Coalesce => self.push_coalesce(arguments),
            JoinFunction::ToFloat if self.storage(first).is_none() => self.raw("NULL"),
            JoinFunction::ToFloat => self.push_float(first, true),
            JoinFunction::ToInteger => self.push_integer(first),
            JoinFunction::Part(part) => self.push_part_of(part, first),
            JoinFunction::StartOf(unit) => self.push_start_of(unit, first),
            JoinFunction::Distance => {
                self.require(self.dialect() == Dialect::Sqlite);
                self.raw("bobak_distance(");
                self.list(", ", arguments, Self::push_number);
                self.raw(")");
            }
            json => self.push_json(json, arguments),
        }
    }

    pub(super) fn push_coalesce(&mut self, arguments: &'a [JoinExpr]) {
        let storage = arguments.iter().find_map(|argument| self.storage(argument));
        self.raw("COALESCE(");
        self.list(", ", arguments, |writer, argument| writer.push_alternative(argument, storage));
        self.raw(")");
    }

    pub(super) fn push_case(
        &mut self,
        branches: &'a [(JoinCondition, JoinExpr)],
        otherwise: &'a JoinExpr,
    ) {
        let values = branches.iter().map(|(_, value)| value).chain([otherwise]);
        let storage = values.into_iter().find_map(|value| self.storage(value));
        let is_this = |expr: &JoinExpr| match expr {
            JoinExpr::Case(own, last) => own == branches && **last == *otherwise,
            _ => false,
        };
        let is_common = self.join.group.iter().any(is_this);
        self.of_rows(is_common, |writer| writer.push_branches(branches, otherwise, storage));
    }

    fn push_branches(
        &mut self,
        branches: &'a [(JoinCondition, JoinExpr)],
        otherwise: &'a JoinExpr,
        storage: Option<Storage>,
    ) {
        self.raw("CASE");
        for (condition, value) in branches {
            self.raw(" WHEN ");
            self.push_condition(condition);
            self.raw(" THEN ");
            self.push_alternative(value, storage);
        }
        self.raw(" ELSE ");
        self.push_alternative(otherwise, storage);
        self.raw(" END");
    }

    /// One of several values of which one counts.
    fn push_alternative(&mut self, expr: &'a JoinExpr, storage: Option<Storage>) {
        match self.storage(expr) {
            None => self.raw("NULL"),
            own if own != storage => self.require(false),
            Some(Storage::Text) => self.push_text_argument(expr),
            Some(Storage::Int | Storage::Float) => self.push_checked(expr),
            _ => self.require(false),
        }
    }

    /// A part of a date or time. Servers have functions for those that they keep, and not for those that are calculated.
    fn push_part_of(&mut self, part: DatePart, moment: &'a JoinExpr) {
        let name = part.name();
        match (self.dialect(), moment) {
            (_, moment) if self.storage(moment).is_none() => self.raw("NULL"),
            (Dialect::Sqlite, _) => {
                self.raw("bobak_part('");
                self.raw(name);
                self.raw("', ");
                self.push_micros(moment);
                self.raw(")");
            }
            (dialect, JoinExpr::Column(column)) => {
                self.require(!self.is_of_rows(*column));
                self.comparable(*column);
                let (before, after) = part_words(dialect, name);
                self.raw(&before);
                self.push_column(*column);
                self.raw(after);
            }
            _ => self.require(false),
        }
    }

    /// Where a unit of time begins, in the form that is stored.
    fn push_start_of(&mut self, unit: DateUnit, moment: &'a JoinExpr) {
        let is_date = moment.ty(self.join) == Type::Date;
        let (dialect, name) = (self.dialect(), unit.name());
        match (dialect, moment) {
            (Dialect::Sqlite, _) => {
                self.raw(if is_date { "(bobak_start('" } else { "bobak_start('" });
                self.raw(name);
                self.raw("', ");
                self.push_micros(moment);
                self.raw(")");
                if is_date {
                    self.writer.raw(" / ").raw(DAY).raw(")");
                }
            }
            (_, JoinExpr::Column(column)) => {
                self.require(!self.is_of_rows(*column));
                self.comparable(*column);
                let schema = self.join.column(*column);
                let quoted = self.writer.quoted_column_of(
                    column.table,
                    schema.map_or("", |column| column.name.as_ref()),
                );
                let start = unit_start(dialect, name, &quoted, moment.ty(self.join));
                self.raw(&start);
            }
            _ => self.require(false),
        }
    }

    /// A date or time in microseconds.
    fn push_micros(&mut self, moment: &'a JoinExpr) {
        let is_date = moment.ty(self.join) == Type::Date;
        self.raw(if is_date { "(" } else { "" });
        self.push_checked(moment);
        if is_date {
            self.writer.raw(" * ").raw(DAY).raw(")");
        }
    }

    /// Whether it is an integer, or money, or a float made of such.
    fn is_whole(&self, expr: &JoinExpr) -> bool {
        let whole = match expr {
            JoinExpr::Function(JoinFunction::ToFloat, arguments) => arguments.first(),
            other => Some(other),
        };
        whole.is_some_and(|whole| self.storage(whole) == Some(Storage::Int))
    }
}
