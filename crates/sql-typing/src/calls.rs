//! Function calls and windows.

use crate::analyzer::Analyzer;
use crate::convert::{to_clock, to_number};
use crate::functions::result_kind;
use crate::kind::{ValueKind, is_time, long_decimal, mismatch, noun};
use crate::tree::{CallParts, ParsedExpr, WindowParts};
use bobak_core::{Result, Type};

const AMOUNT: ValueKind = ValueKind::Of(Type::Currency);

impl Analyzer<'_> {
    pub(crate) fn function_call(
        &mut self,
        e: &ParsedExpr<'_>,
        call: &CallParts<'_>,
    ) -> Result<ValueKind> {
        let kinds = self.exprs(&call.arguments)?;
        self.sorted(&call.order)?;
        self.optional(call.filter.as_deref())?;
        call.over.as_deref().map_or(Ok(()), |window| self.window(window))?;
        if call.is_star {
            return Ok(ValueKind::Plain);
        }
        if let Some(kind) = self.shared_call(e, call, &kinds)? {
            return Ok(kind);
        }
        let has_decimal = kinds.contains(&ValueKind::Of(Type::Decimal));
        if has_decimal && !matches!(call.name.as_str(), "count" | "typeof" | "group_concat") {
            return Err(long_decimal());
        }
        match result_kind(&call.name) {
            Some(kind) => Ok(kind),
            None => self.own_call(e, call, &kinds),
        }
    }

    /// A call of one of SQLite's functions, or of an unknown one.
    fn own_call(
        &mut self,
        e: &ParsedExpr<'_>,
        call: &CallParts<'_>,
        kinds: &[ValueKind],
    ) -> Result<ValueKind> {
        let first = kinds.first().copied().unwrap_or(ValueKind::Plain);
        let count = kinds.len();
        match (call.name.as_str(), first.unit()) {
            ("count", _) => Ok(ValueKind::Of(Type::I64)),
            ("likely" | "unlikely" | "likelihood", _)
            | ("first_value" | "last_value" | "nth_value", _) => Ok(first),
            ("min" | "max" | "coalesce" | "ifnull", _) => {
                self.same_arguments(call, kinds, |_| true)
            }
            ("lag" | "lead", _) => self.same_arguments(call, kinds, |place| place != 1),
            ("nullif", _) => self.same_arguments(call, kinds, |_| true).map(|_| first),
            ("iif" | "if", _) => {
                let is_result = |place| place % 2 == 1 || count % 2 == 1 && place + 1 == count;
                self.same_arguments(call, kinds, is_result)
            }
            ("sum" | "total" | "avg" | "abs" | "round", Some(Type::Currency)) => {
                Ok(self.amount_call(e, call))
            }
            ("sum" | "total" | "avg" | "abs" | "round", Some(ty)) => {
                Err(mismatch(format!("there is no {} of {}", call.name, noun(ty))))
            }
            _ if self.stored => Ok(ValueKind::Plain),
            (
                "date" | "time" | "datetime" | "julianday" | "unixepoch" | "timediff" | "strftime",
                _,
            ) => self.clock_call(call, kinds),
            _ => {
                for (e, kind) in call.arguments.iter().zip(kinds) {
                    self.write_plain(e, *kind, false);
                }
                Ok(ValueKind::Plain)
            }
        }
    }

    /// A call of a date function.
    fn clock_call(&mut self, call: &CallParts<'_>, kinds: &[ValueKind]) -> Result<ValueKind> {
        if call.name == "strftime" {
            self.exact_seconds(&call.arguments, kinds);
        }
        for (e, kind) in call.arguments.iter().zip(kinds) {
            kind.unit().map_or(Ok(()), |ty| to_clock(&mut self.rewrite, e, ty))?;
        }
        Ok(ValueKind::Plain)
    }

    /// Gives `%f` in the format of `strftime` six decimals.
    fn exact_seconds(&mut self, arguments: &[ParsedExpr<'_>], kinds: &[ValueKind]) {
        if let ([format, moment, ..], Some(ty)) = (arguments, kinds.get(1).and_then(|k| k.unit()))
            && is_time(ty)
            && ty != Type::Date
            && self.rewrite.source(format.span.clone()).contains("%f")
        {
            let texts = (self.rewrite.text(format), self.rewrite.text(moment));
            self.rewrite.replace(format, format!("bobak_micros({}, {})", texts.0, texts.1));
        }
    }

    /// Gives one kind to the arguments at these places.
    fn same_arguments(
        &mut self,
        call: &CallParts<'_>,
        kinds: &[ValueKind],
        at: impl Fn(usize) -> bool,
    ) -> Result<ValueKind> {
        let places = call.arguments.iter().zip(kinds).enumerate().filter(|(place, _)| at(*place));
        let (all, given): (Vec<_>, Vec<_>) = places.map(|(_, (e, kind))| (e, *kind)).unzip();
        self.same_kinds(&all, &given)
    }

    /// A call whose first argument is an amount.
    fn amount_call(&mut self, e: &ParsedExpr<'_>, call: &CallParts<'_>) -> ValueKind {
        if self.stored {
            let is_amount = matches!(call.name.as_str(), "sum" | "abs");
            return if is_amount { AMOUNT } else { ValueKind::Plain };
        }
        match call.name.as_str() {
            "total" => {
                to_number(&mut self.rewrite, e);
                return ValueKind::Of(Type::F64);
            }
            "avg" => {
                let rest = self.rewrite.part(call.name_end..e.span.end);
                self.rewrite.replace(e, format!("bobak_over(sum{rest}, count{rest})"));
            }
            "round" => {
                let mut arguments: Vec<_> =
                    call.arguments.iter().map(|e| self.rewrite.text(e)).collect();
                if arguments.len() < 2 {
                    arguments.push("0".to_owned());
                }
                self.rewrite.replace(e, format!("bobak_round({})", arguments.join(", ")));
            }
            _ => {}
        }
        AMOUNT
    }

    pub(crate) fn sorted(&mut self, columns: &[ParsedExpr<'_>]) -> Result<Vec<ValueKind>> {
        let kinds = self.exprs(columns)?;
        match kinds.contains(&ValueKind::Of(Type::Decimal)) {
            true => Err(long_decimal()),
            false => Ok(kinds),
        }
    }

    pub(crate) fn window(&mut self, window: &WindowParts<'_>) -> Result<()> {
        self.exprs(&window.partition)?;
        let order = self.sorted(&window.order)?;
        let by = match (window.is_range, order.as_slice()) {
            (true, [only]) => only.unit(),
            _ => None,
        };
        for e in &window.offsets {
            let kind = self.expr(e)?;
            match by {
                Some(Type::Currency) => self.convert(e, kind, AMOUNT)?,
                Some(ty) => {
                    return Err(mismatch(format!("a RANGE of {}s has no offsets", noun(ty))));
                }
                None => {}
            }
        }
        Ok(())
    }
}
