//! Expressions.

use crate::analyzer::Analyzer;
use crate::convert;
use crate::kind::{ValueKind, is_time, long_decimal, mismatch, noun, unsupported};
use crate::tree::{
    CaseParts, CastType, ExprKind, PairOperator, ParsedExpr, SignOperator, SqlName, TableName,
};
use bobak_core::{Error, Result, Type};

const AMOUNT: ValueKind = ValueKind::Of(Type::Currency);

impl Analyzer<'_> {
    /// Rewrites an expression. Returns what is known about its values.
    pub(crate) fn expr(&mut self, e: &ParsedExpr<'_>) -> Result<ValueKind> {
        match &e.kind {
            ExprKind::Parameter(place) => {
                // A decimal parameter is a number in any unit; only columns of such are limited.
                let known = self.parameters.get(*place).copied().flatten();
                let known = known.filter(|ty| *ty != Type::Decimal);
                Ok(known.map_or(ValueKind::Plain, ValueKind::Of))
            }
            ExprKind::Column(None, name) => Ok(self.name(name)),
            ExprKind::Column(source, name) => {
                let kind = self.resolve(source.as_deref(), &name.text);
                Ok(kind.unwrap_or(ValueKind::Plain))
            }
            ExprKind::Row(inner) => match inner.as_slice() {
                [only] => self.expr(only),
                all => self.exprs(all).map(|_| ValueKind::Plain),
            },
            ExprKind::Unary(operator, inner) => {
                let kind = self.expr(inner)?;
                unary(*operator, kind)
            }
            ExprKind::Collate(inner) => self.expr(inner),
            ExprKind::Binary(left, operator, right) => self.binary(e, (left, *operator, right)),
            ExprKind::Case(case) => self.case(case),
            ExprKind::Cast(inner, target) => self.cast(e, inner, target),
            ExprKind::Call(call) => self.function_call(e, call),
            ExprKind::Subquery(select) => {
                let columns = self.select(select, None)?;
                Ok(columns.list.first().map_or(ValueKind::Plain, |column| column.kind))
            }
            kind => match literal_kind(kind) {
                Some(kind) => Ok(kind),
                None => self.condition(e).map(|()| ValueKind::Plain),
            },
        }
    }

    pub(crate) fn exprs<'e, 's: 'e>(
        &mut self,
        all: impl IntoIterator<Item = &'e ParsedExpr<'s>>,
    ) -> Result<Vec<ValueKind>> {
        all.into_iter().map(|e| self.expr(e)).collect()
    }

    pub(crate) fn optional(&mut self, e: Option<&ParsedExpr<'_>>) -> Result<()> {
        e.map_or(Ok(()), |e| self.expr(e).map(drop))
    }

    fn name(&self, name: &SqlName) -> ValueKind {
        // What is no name in double quotes is text to SQLite.
        let unknown =
            if name.is_double_quoted { ValueKind::Of(Type::Text) } else { ValueKind::Plain };
        self.resolve(None, &name.text).unwrap_or(unknown)
    }

    /// The predicates that are not binary operators.
    fn condition(&mut self, e: &ParsedExpr<'_>) -> Result<()> {
        match &e.kind {
            ExprKind::Between(parts) => self.compare(&parts.each_ref()),
            ExprKind::InList(left, list) => {
                let mut all: Vec<&ParsedExpr<'_>> = vec![left];
                all.extend(list);
                self.compare(&all)
            }
            ExprKind::InSelect(left, select) => {
                let kinds = self.operands(left)?;
                let others = self.select(select, None)?.kinds();
                for (place, (&from, &other)) in kinds.iter().zip(&others).enumerate() {
                    let to = from.unify(other)?;
                    self.convert_operand(left, (place, kinds.len()), from, to)?;
                    self.convert_column(select, place, other, to)?;
                }
                Ok(())
            }
            ExprKind::InTable(left, table, arguments) => self.in_table(left, table, arguments),
            ExprKind::Like(parts, escape) => {
                for part in parts.iter() {
                    let kind = self.expr(part)?;
                    self.write_plain(part, kind, true);
                }
                self.optional(escape.as_deref())
            }
            ExprKind::NullTest(inner) => self.operands(inner).map(drop),
            ExprKind::Exists(select) => self.select(select, None).map(drop),
            ExprKind::Raise(message) => self.optional(message.as_deref()),
            _ => Err(unsupported("an expression of this form next to amounts, dates or times")),
        }
    }

    fn in_table(
        &mut self,
        left: &ParsedExpr<'_>,
        table: &TableName,
        arguments: &[ParsedExpr<'_>],
    ) -> Result<()> {
        let left = self.operands(left)?;
        self.exprs(arguments)?;
        let right = self.relation(table.schema.as_deref(), &table.name)?.kinds();
        let same = |(left, right): (&ValueKind, &ValueKind)| left.unit() == right.unit();
        if left.iter().zip(&right).all(same) {
            return Ok(());
        }
        Err(unsupported("IN with a table's name and other types: write IN (SELECT …)"))
    }

    /// The kinds of an operand: several for a row value.
    pub(crate) fn operands(&mut self, e: &ParsedExpr<'_>) -> Result<Vec<ValueKind>> {
        match &e.kind {
            ExprKind::Row(row) if row.len() > 1 => self.exprs(row),
            ExprKind::Subquery(select) => self.select(select, None).map(|columns| columns.kinds()),
            _ => self.expr(e).map(|kind| vec![kind]),
        }
    }

    /// Converts one column of an operand with this many columns.
    pub(crate) fn convert_operand(
        &mut self,
        e: &ParsedExpr<'_>,
        (place, count): (usize, usize),
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        match &e.kind {
            ExprKind::Row(row) if row.len() > 1 => match row.get(place) {
                Some(e) => self.convert(e, from, to),
                None => Ok(()),
            },
            ExprKind::Subquery(select) if count > 1 => self.convert_column(select, place, from, to),
            _ => self.convert(e, from, to),
        }
    }

    /// Operands that are compared with each other.
    fn compare(&mut self, all: &[&ParsedExpr<'_>]) -> Result<()> {
        let kinds = all.iter().map(|e| self.operands(e)).collect::<Result<Vec<_>>>()?;
        let count = kinds.first().map_or(0, Vec::len);
        for place in 0..count {
            let mut column = kinds.iter().filter_map(|kinds| kinds.get(place)).copied();
            let to = column.try_fold(ValueKind::Null, ValueKind::unify)?;
            for (e, kinds) in all.iter().zip(&kinds) {
                let from = kinds.get(place).copied().unwrap_or(ValueKind::Null);
                self.convert_operand(e, (place, count), from, to)?;
            }
        }
        Ok(())
    }

    fn case(&mut self, case: &CaseParts<'_>) -> Result<ValueKind> {
        if let Some(base) = &case.base {
            let mut compared: Vec<&ParsedExpr<'_>> = vec![base];
            compared.extend(case.branches.iter().map(|(when, _)| when));
            self.compare(&compared)?;
        } else {
            self.exprs(case.branches.iter().map(|(when, _)| when))?;
        }
        let mut results: Vec<_> = case.branches.iter().map(|(_, then)| then).collect();
        results.extend(case.otherwise.as_deref());
        let kinds = self.exprs(results.iter().copied())?;
        self.same_kinds(&results, &kinds)
    }

    /// Values of which one is the result: all get one kind.
    pub(crate) fn same_kinds(
        &mut self,
        all: &[&ParsedExpr<'_>],
        kinds: &[ValueKind],
    ) -> Result<ValueKind> {
        let to = kinds.iter().copied().try_fold(ValueKind::Null, ValueKind::unify)?;
        for (e, &from) in all.iter().zip(kinds) {
            self.convert(e, from, to)?;
        }
        Ok(to)
    }

    fn cast(
        &mut self,
        e: &ParsedExpr<'_>,
        inner: &ParsedExpr<'_>,
        target: &CastType,
    ) -> Result<ValueKind> {
        let from = self.expr(inner)?;
        if self.stored {
            return Ok(ValueKind::Plain);
        }
        let Some(kind) = convert::cast(&mut self.rewrite, inner, from, target)? else {
            return Ok(ValueKind::Plain);
        };
        let value = self.rewrite.text(inner);
        self.rewrite.replace(e, format!("({value})"));
        Ok(kind)
    }

    fn binary(
        &mut self,
        e: &ParsedExpr<'_>,
        (left, operator, right): (&ParsedExpr<'_>, PairOperator, &ParsedExpr<'_>),
    ) -> Result<ValueKind> {
        if operator == PairOperator::Compare {
            return self.compare(&[left, right]).map(|()| ValueKind::Plain);
        }
        let kinds = (self.expr(left)?, self.expr(right)?);
        let units = [kinds.0.unit(), kinds.1.unit()];
        let Some(unit) = units.into_iter().flatten().next() else { return Ok(ValueKind::Plain) };
        match operator {
            PairOperator::And | PairOperator::Or => Ok(ValueKind::Plain),
            PairOperator::Join => {
                self.write_plain(left, kinds.0, true);
                self.write_plain(right, kinds.1, true);
                Ok(ValueKind::Plain)
            }
            PairOperator::Bits => Err(no_arithmetic(unit, units)),
            _ if unit == Type::Currency && units.iter().flatten().all(|ty| *ty == unit) => {
                self.arithmetic(e, (left, operator, right), kinds)
            }
            _ => Err(no_arithmetic(unit, units)),
        }
    }

    /// Arithmetic of amounts. At least one operand is an amount.
    fn arithmetic(
        &mut self,
        e: &ParsedExpr<'_>,
        (left, operator, right): (&ParsedExpr<'_>, PairOperator, &ParsedExpr<'_>),
        kinds: (ValueKind, ValueKind),
    ) -> Result<ValueKind> {
        let is_sum =
            matches!(operator, PairOperator::Add | PairOperator::Subtract | PairOperator::Modulo);
        if is_sum {
            self.convert(left, kinds.0, AMOUNT)?;
            self.convert(right, kinds.1, AMOUNT)?;
            return Ok(AMOUNT);
        }
        if self.stored {
            return Ok(ValueKind::Plain);
        }
        for kind in [kinds.0, kinds.1].into_iter().filter(|kind| *kind != AMOUNT) {
            // Rejects what is not a number.
            convert::check_unit(kind, Type::Currency)?;
        }
        let are_amounts = (kinds.0 == AMOUNT, kinds.1 == AMOUNT);
        let number = ValueKind::Of(Type::F64);
        if operator == PairOperator::Divide && are_amounts.1 {
            if are_amounts.0 {
                convert::to_number(&mut self.rewrite, left);
            }
            convert::to_number(&mut self.rewrite, right);
            let (left, right) = (self.rewrite.text(left), self.rewrite.text(right));
            self.rewrite.replace(e, format!("({left} / {right})"));
            return Ok(number);
        }
        let texts = (self.rewrite.text(left), self.rewrite.text(right));
        let (function, first, second) = match (operator, are_amounts) {
            (PairOperator::Divide, _) => ("bobak_over", texts.0, texts.1),
            (_, (true, true)) => ("bobak_product", texts.0, texts.1),
            (_, (true, false)) => ("bobak_times", texts.0, texts.1),
            _ => ("bobak_times", texts.1, texts.0),
        };
        self.rewrite.replace(e, format!("{function}({first}, {second})"));
        Ok(AMOUNT)
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

fn unary(operator: SignOperator, kind: ValueKind) -> Result<ValueKind> {
    match (operator, kind.unit()) {
        (SignOperator::Not, _) => Ok(ValueKind::Plain),
        (SignOperator::Positive, _) => Ok(kind),
        (SignOperator::Negative, None | Some(Type::Currency)) => Ok(kind),
        (SignOperator::Invert, None) => Ok(ValueKind::Plain),
        (_, Some(ty)) => Err(mismatch(format!("there is no arithmetic of {}", noun(ty)))),
    }
}

fn literal_kind(kind: &ExprKind<'_>) -> Option<ValueKind> {
    Some(match kind {
        ExprKind::Number(text) if text.contains(['.', 'e', 'E']) && !text.contains(['x', 'X']) => {
            ValueKind::Of(Type::F64)
        }
        ExprKind::Number(_) => ValueKind::Of(Type::I64),
        ExprKind::Blob => ValueKind::Of(Type::Bytes),
        ExprKind::Null => ValueKind::Null,
        ExprKind::Truth => ValueKind::Of(Type::Bool),
        ExprKind::Text(_) | ExprKind::Current => ValueKind::Of(Type::Text),
        _ => return None,
    })
}
