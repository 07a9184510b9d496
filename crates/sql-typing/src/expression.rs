//! Expressions.

use crate::analyzer::Analyzer;
use crate::convert::{self, call, cast, parenthesized, take, to_number};
use crate::kind::{ValueKind, is_time, long_decimal, mismatch, noun, unsupported};
use bobak_core::{Error, Result, Type};
use turso_parser::ast::{Expr, Literal, Name, Operator, UnaryOperator};

const AMOUNT: ValueKind = ValueKind::Of(Type::Currency);

impl Analyzer<'_> {
    /// Rewrites an expression. Returns what is known about its values.
    pub(crate) fn expr(&mut self, e: &mut Expr) -> Result<ValueKind> {
        match e {
            Expr::Literal(literal) => Ok(literal_kind(literal)),
            Expr::Variable(variable) => {
                let place = variable.index.get() as usize - 1;
                // A decimal parameter is a number in any unit; only columns of such are limited.
                let known = self.parameters.get(place).copied().flatten();
                let known = known.filter(|ty| *ty != Type::Decimal);
                Ok(known.map_or(ValueKind::Plain, ValueKind::Of))
            }
            Expr::Id(name) | Expr::Name(name) => Ok(self.name(name)),
            Expr::Qualified(table, name) | Expr::DoublyQualified(_, table, name) => {
                let kind = self.resolve(Some(table.as_str()), name.as_str());
                Ok(kind.unwrap_or(ValueKind::Plain))
            }
            Expr::Parenthesized(inner) => match inner.as_mut_slice() {
                [only] => self.expr(only),
                all => self.exprs(all).map(|_| ValueKind::Plain),
            },
            Expr::Unary(operator, inner) => {
                let kind = self.expr(inner)?;
                unary(*operator, kind)
            }
            Expr::Collate(inner, _) => self.expr(inner),
            Expr::Binary(..) => self.binary(e),
            Expr::Case { .. } => self.case(e),
            Expr::Cast { .. } => self.cast(e),
            Expr::FunctionCall { .. } => self.function_call(e),
            Expr::FunctionCallStar { filter_over, .. } => {
                self.tail(filter_over)?;
                Ok(ValueKind::Plain)
            }
            Expr::Subquery(select) => {
                let columns = self.select(select, None)?;
                Ok(columns.list.first().map_or(ValueKind::Plain, |column| column.kind))
            }
            _ => self.condition(e).map(|()| ValueKind::Plain),
        }
    }

    pub(crate) fn exprs(&mut self, all: &mut [Box<Expr>]) -> Result<Vec<ValueKind>> {
        all.iter_mut().map(|e| self.expr(e)).collect()
    }

    pub(crate) fn optional(&mut self, e: &mut Option<Box<Expr>>) -> Result<()> {
        e.as_mut().map_or(Ok(()), |e| self.expr(e).map(drop))
    }

    fn name(&self, name: &Name) -> ValueKind {
        // What is no name in double quotes is text to SQLite.
        let unknown =
            if name.quoted_with('"') { ValueKind::Of(Type::Text) } else { ValueKind::Plain };
        self.resolve(None, name.as_str()).unwrap_or(unknown)
    }

    /// The predicates that are not binary operators.
    fn condition(&mut self, e: &mut Expr) -> Result<()> {
        match e {
            Expr::Between { lhs, start, end, .. } => self.compare(&mut [lhs, start, end]),
            Expr::InList { lhs, rhs, .. } => {
                let mut all: Vec<&mut Expr> = vec![lhs];
                all.extend(rhs.iter_mut().map(|e| &mut **e));
                self.compare(&mut all)
            }
            Expr::InSelect { lhs, rhs, .. } => {
                let left = self.operands(lhs)?;
                let right = self.select(rhs, None)?.kinds();
                for (place, (&from, &other)) in left.iter().zip(&right).enumerate() {
                    let to = from.unify(other)?;
                    self.convert_operand(lhs, (place, left.len()), from, to)?;
                    self.convert_column(rhs, place, other, to)?;
                }
                Ok(())
            }
            Expr::InTable { lhs, rhs, args, .. } => {
                let left = self.operands(lhs)?;
                self.exprs(args)?;
                let schema = rhs.db_name.as_ref().map(Name::as_str);
                let right = self.relation(schema, rhs.name.as_str())?.kinds();
                let same = |(left, right): (&ValueKind, &ValueKind)| left.unit() == right.unit();
                if left.iter().zip(&right).all(same) {
                    return Ok(());
                }
                Err(unsupported("IN with a table's name and other types: write IN (SELECT …)"))
            }
            Expr::Like { lhs, rhs, escape, .. } => {
                self.as_text(lhs)?;
                self.as_text(rhs)?;
                self.optional(escape)
            }
            Expr::IsNull(inner) | Expr::NotNull(inner) => self.operands(inner).map(drop),
            Expr::Exists(select) => self.select(select, None).map(drop),
            Expr::Raise(_, message) => self.optional(message),
            _ => Err(unsupported("an expression of this form next to amounts, dates or times")),
        }
    }

    fn as_text(&mut self, e: &mut Expr) -> Result<()> {
        let kind = self.expr(e)?;
        self.to_plain(e, kind, true);
        Ok(())
    }

    /// The kinds of an operand: several for a row value.
    pub(crate) fn operands(&mut self, e: &mut Expr) -> Result<Vec<ValueKind>> {
        match e {
            Expr::Parenthesized(row) if row.len() > 1 => self.exprs(row),
            Expr::Subquery(select) => self.select(select, None).map(|columns| columns.kinds()),
            _ => self.expr(e).map(|kind| vec![kind]),
        }
    }

    /// Converts one column of an operand with this many columns.
    pub(crate) fn convert_operand(
        &self,
        e: &mut Expr,
        (place, count): (usize, usize),
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        match e {
            Expr::Parenthesized(row) if row.len() > 1 => match row.get_mut(place) {
                Some(e) => self.convert(e, from, to),
                None => Ok(()),
            },
            Expr::Subquery(select) if count > 1 => self.convert_column(select, place, from, to),
            _ => self.convert(e, from, to),
        }
    }

    /// Operands that are compared with each other.
    fn compare(&mut self, all: &mut [&mut Expr]) -> Result<()> {
        let kinds = all.iter_mut().map(|e| self.operands(e)).collect::<Result<Vec<_>>>()?;
        let count = kinds.first().map_or(0, Vec::len);
        for place in 0..count {
            let mut column = kinds.iter().filter_map(|kinds| kinds.get(place)).copied();
            let to = column.try_fold(ValueKind::Null, ValueKind::unify)?;
            for (e, kinds) in all.iter_mut().zip(&kinds) {
                let from = kinds.get(place).copied().unwrap_or(ValueKind::Null);
                self.convert_operand(e, (place, count), from, to)?;
            }
        }
        Ok(())
    }

    fn case(&mut self, e: &mut Expr) -> Result<ValueKind> {
        let Expr::Case { base, when_then_pairs, else_expr } = e else {
            return Ok(ValueKind::Plain);
        };
        if let Some(base) = base {
            let mut compared: Vec<&mut Expr> = vec![base];
            compared.extend(when_then_pairs.iter_mut().map(|(when, _)| &mut **when));
            self.compare(&mut compared)?;
        } else {
            for (when, _) in when_then_pairs.iter_mut() {
                self.expr(when)?;
            }
        }
        let results = when_then_pairs.iter_mut().map(|(_, then)| &mut **then);
        let mut results: Vec<&mut Expr> = results.collect();
        results.extend(else_expr.as_deref_mut());
        self.same(&mut results)
    }

    /// Values of which one is the result: all get one kind.
    pub(crate) fn same(&mut self, all: &mut [&mut Expr]) -> Result<ValueKind> {
        let kinds = all.iter_mut().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
        self.same_kinds(all, &kinds)
    }

    pub(crate) fn same_kinds(
        &self,
        all: &mut [&mut Expr],
        kinds: &[ValueKind],
    ) -> Result<ValueKind> {
        let to = kinds.iter().copied().try_fold(ValueKind::Null, ValueKind::unify)?;
        for (e, &from) in all.iter_mut().zip(kinds) {
            self.convert(e, from, to)?;
        }
        Ok(to)
    }

    fn cast(&mut self, e: &mut Expr) -> Result<ValueKind> {
        let Expr::Cast { expr, type_name } = e else { return Ok(ValueKind::Plain) };
        let from = self.expr(expr)?;
        let target = type_name.as_ref().filter(|_| !self.stored);
        self.changed.set(self.changed.get() || from.unit().is_some());
        match target.map_or(Ok(None), |target| cast(expr, from, target))? {
            Some(kind) => {
                self.changed.set(true);
                *e = parenthesized(take(expr));
                Ok(kind)
            }
            None => Ok(ValueKind::Plain),
        }
    }

    fn binary(&mut self, e: &mut Expr) -> Result<ValueKind> {
        let Expr::Binary(left, operator, right) = e else { return Ok(ValueKind::Plain) };
        if operator.is_comparison() {
            return self.compare(&mut [left, right]).map(|()| ValueKind::Plain);
        }
        let kinds = (self.expr(left)?, self.expr(right)?);
        let units = [kinds.0.unit(), kinds.1.unit()];
        let Some(unit) = units.into_iter().flatten().next() else { return Ok(ValueKind::Plain) };
        match operator {
            Operator::And | Operator::Or => Ok(ValueKind::Plain),
            Operator::Concat | Operator::ArrowRight | Operator::ArrowRightShift => {
                self.to_plain(left, kinds.0, true);
                self.to_plain(right, kinds.1, true);
                Ok(ValueKind::Plain)
            }
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Modulus
                if unit == Type::Currency && units.iter().flatten().all(|ty| *ty == unit) =>
            {
                self.arithmetic(e, kinds)
            }
            _ => Err(no_arithmetic(unit, units)),
        }
    }

    /// Arithmetic of amounts. At least one operand is an amount.
    fn arithmetic(&self, e: &mut Expr, kinds: (ValueKind, ValueKind)) -> Result<ValueKind> {
        let Expr::Binary(left, operator, right) = e else { return Ok(ValueKind::Plain) };
        let operator = *operator;
        if matches!(operator, Operator::Add | Operator::Subtract | Operator::Modulus) {
            self.convert(left, kinds.0, AMOUNT)?;
            self.convert(right, kinds.1, AMOUNT)?;
            return Ok(AMOUNT);
        }
        if self.stored {
            return Ok(ValueKind::Plain);
        }
        for kind in [kinds.0, kinds.1] {
            // Rejects what is not a number.
            convert::convert(&mut Expr::Name(Name::empty()), kind, AMOUNT)?;
        }
        let (left, right) = (take(left), take(right));
        let (rewritten, kind) = match (operator, kinds.0 == AMOUNT, kinds.1 == AMOUNT) {
            (Operator::Multiply, true, true) => (call("bobak_product", vec![left, right]), AMOUNT),
            (Operator::Multiply, true, false) => (call("bobak_times", vec![left, right]), AMOUNT),
            (Operator::Multiply, ..) => (call("bobak_times", vec![right, left]), AMOUNT),
            (_, true, false) => (call("bobak_over", vec![left, right]), AMOUNT),
            (_, true, true) => {
                let ratio = Expr::binary(to_number(left), Operator::Divide, to_number(right));
                (parenthesized(ratio), ValueKind::Of(Type::F64))
            }
            _ => {
                let quotient = Expr::binary(left, Operator::Divide, to_number(right));
                (parenthesized(quotient), ValueKind::Of(Type::F64))
            }
        };
        *e = rewritten;
        self.changed.set(true);
        Ok(kind)
    }
}

/// The error of an operator between values of these units.
#[cold]
fn no_arithmetic(unit: Type, units: [Option<Type>; 2]) -> Error {
    if units.contains(&Some(Type::Decimal)) {
        return long_decimal();
    }
    let help = if is_time(unit) { ": use date functions with modifiers" } else { "" };
    mismatch(format!("there is no arithmetic of {}{help}", noun(unit)))
}

fn unary(operator: UnaryOperator, kind: ValueKind) -> Result<ValueKind> {
    match (operator, kind.unit()) {
        (UnaryOperator::Not, _) => Ok(ValueKind::Plain),
        (UnaryOperator::Positive, _) => Ok(kind),
        (UnaryOperator::Negative, None | Some(Type::Currency)) => Ok(kind),
        (UnaryOperator::BitwiseNot, None) => Ok(ValueKind::Plain),
        (_, Some(ty)) => Err(mismatch(format!("there is no arithmetic of {}", noun(ty)))),
    }
}

fn literal_kind(literal: &Literal) -> ValueKind {
    match literal {
        Literal::Numeric(text) if text.contains(['.', 'e', 'E']) && !text.contains(['x', 'X']) => {
            ValueKind::Of(Type::F64)
        }
        Literal::Numeric(_) => ValueKind::Of(Type::I64),
        Literal::Blob(_) => ValueKind::Of(Type::Bytes),
        Literal::Null => ValueKind::Null,
        Literal::True | Literal::False => ValueKind::Of(Type::Bool),
        Literal::String(_)
        | Literal::CurrentDate
        | Literal::CurrentTime
        | Literal::CurrentTimestamp => ValueKind::Of(Type::Text),
        Literal::Keyword(_) => ValueKind::Plain,
    }
}
