//! Function calls and windows.

use crate::analyzer::Analyzer;
use crate::convert::{call, number, take, to_clock, to_number};
use crate::functions::result_kind;
use crate::kind::{ValueKind, is_time, long_decimal, mismatch, noun};
use bobak_core::{Result, Type};
use turso_parser::ast::{
    Expr, FrameBound, FrameMode, FunctionTail, Name, Over, SortedColumn, Window,
};

const AMOUNT: ValueKind = ValueKind::Of(Type::Currency);

impl Analyzer<'_> {
    pub(crate) fn function_call(&mut self, e: &mut Expr) -> Result<ValueKind> {
        let Expr::FunctionCall { name, args, order_by, within_group, filter_over, .. } = e else {
            return Ok(ValueKind::Plain);
        };
        let name = name.as_str().to_ascii_lowercase();
        let kinds = self.exprs(args)?;
        self.sorted(order_by)?;
        self.sorted(within_group)?;
        self.tail(filter_over)?;
        if let Some(kind) = self.shared_call(e, &name, &kinds)? {
            return Ok(kind);
        }
        let Expr::FunctionCall { args, .. } = e else { return Ok(ValueKind::Plain) };
        let has_decimal = kinds.contains(&ValueKind::Of(Type::Decimal));
        if has_decimal && !matches!(name.as_str(), "count" | "typeof" | "group_concat") {
            return Err(long_decimal());
        }
        if let Some(kind) = result_kind(&name) {
            return Ok(kind);
        }
        let first = kinds.first().copied().unwrap_or(ValueKind::Plain);
        match (name.as_str(), first.unit()) {
            ("count", _) => Ok(ValueKind::Of(Type::I64)),
            ("likely" | "unlikely" | "likelihood", _)
            | ("first_value" | "last_value" | "nth_value", _) => Ok(first),
            ("min" | "max" | "coalesce" | "ifnull", _) => {
                self.same_arguments(args, &kinds, |_| true)
            }
            ("lag" | "lead", _) => self.same_arguments(args, &kinds, |place| place != 1),
            ("nullif", _) => self.same_arguments(args, &kinds, |_| true).map(|_| first),
            ("iif" | "if", _) => {
                let count = kinds.len();
                let is_result = |place| place % 2 == 1 || count % 2 == 1 && place + 1 == count;
                self.same_arguments(args, &kinds, is_result)
            }
            ("sum" | "total" | "avg" | "abs" | "round", Some(Type::Currency)) => {
                Ok(self.amount_call(e, &name))
            }
            ("sum" | "total" | "avg" | "abs" | "round", Some(ty)) => {
                Err(mismatch(format!("there is no {name} of {}", noun(ty))))
            }
            _ if self.stored => Ok(ValueKind::Plain),
            (
                "date" | "time" | "datetime" | "julianday" | "unixepoch" | "timediff" | "strftime",
                _,
            ) => {
                let has_units = kinds.iter().any(|kind| kind.unit().is_some());
                self.changed.set(self.changed.get() || has_units);
                if name == "strftime" {
                    exact_seconds(args, &kinds);
                }
                moments(args, &kinds)
            }
            _ => {
                for (e, kind) in args.iter_mut().zip(kinds) {
                    self.to_plain(e, kind, false);
                }
                Ok(ValueKind::Plain)
            }
        }
    }

    /// Gives one kind to the arguments at these places.
    fn same_arguments(
        &self,
        args: &mut [Box<Expr>],
        kinds: &[ValueKind],
        at: impl Fn(usize) -> bool,
    ) -> Result<ValueKind> {
        let places = args.iter_mut().zip(kinds).enumerate().filter(|(place, _)| at(*place));
        let (mut all, mut given) = (Vec::new(), Vec::new());
        for (_, (e, kind)) in places {
            all.push(&mut **e);
            given.push(*kind);
        }
        self.same_kinds(&mut all, &given)
    }

    /// A call whose first argument is an amount.
    fn amount_call(&self, e: &mut Expr, name: &str) -> ValueKind {
        if self.stored {
            let is_amount = matches!(name, "sum" | "abs");
            return if is_amount { AMOUNT } else { ValueKind::Plain };
        }
        self.changed.set(self.changed.get() || matches!(name, "total" | "avg" | "round"));
        match name {
            "total" => {
                *e = to_number(take(e));
                ValueKind::Of(Type::F64)
            }
            "avg" => {
                let (sum, count) = (renamed(e, "sum"), renamed(e, "count"));
                *e = call("bobak_over", vec![sum, count]);
                AMOUNT
            }
            "round" => {
                if let Expr::FunctionCall { args, .. } = e {
                    let mut args: Vec<Expr> = args.iter_mut().map(|e| take(e)).collect();
                    if args.len() < 2 {
                        args.push(number("0"));
                    }
                    *e = call("bobak_round", args);
                }
                AMOUNT
            }
            _ => AMOUNT,
        }
    }

    pub(crate) fn sorted(&mut self, columns: &mut [SortedColumn]) -> Result<Vec<ValueKind>> {
        let kinds: Result<Vec<_>> =
            columns.iter_mut().map(|column| self.expr(&mut column.expr)).collect();
        kinds.and_then(|kinds| match kinds.contains(&ValueKind::Of(Type::Decimal)) {
            true => Err(long_decimal()),
            false => Ok(kinds),
        })
    }

    /// FILTER and OVER.
    pub(crate) fn tail(&mut self, tail: &mut FunctionTail) -> Result<()> {
        self.optional(&mut tail.filter_clause)?;
        match &mut tail.over_clause {
            Some(Over::Window(window)) => self.window(window),
            Some(Over::Name(_)) | None => Ok(()),
        }
    }

    pub(crate) fn window(&mut self, window: &mut Window) -> Result<()> {
        self.exprs(&mut window.partition_by)?;
        let order = self.sorted(&mut window.order_by)?;
        let Some(frame) = &mut window.frame_clause else { return Ok(()) };
        let by = match (frame.mode, order.as_slice()) {
            (FrameMode::Range, [only]) => only.unit(),
            _ => None,
        };
        for bound in std::iter::once(&mut frame.start).chain(&mut frame.end) {
            let (FrameBound::Following(e) | FrameBound::Preceding(e)) = bound else { continue };
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

/// The same aggregate under another name.
fn renamed(e: &Expr, other: &str) -> Expr {
    let mut e = e.clone();
    if let Expr::FunctionCall { name, .. } = &mut e {
        *name = Name::exact(other.to_owned());
    }
    e
}

/// The arguments of a date function.
fn moments(args: &mut [Box<Expr>], kinds: &[ValueKind]) -> Result<ValueKind> {
    for (e, kind) in args.iter_mut().zip(kinds) {
        kind.unit().map_or(Ok(()), |ty| to_clock(e, ty))?;
    }
    Ok(ValueKind::Plain)
}

/// Gives `%f` in the format of `strftime` six decimals.
fn exact_seconds(args: &mut [Box<Expr>], kinds: &[ValueKind]) {
    if let ([format, moment, ..], Some(ty)) = (&mut *args, kinds.get(1).and_then(|k| k.unit()))
        && is_time(ty)
        && ty != Type::Date
        && format.to_string().contains("%f")
    {
        **format = call("bobak_micros", vec![take(format), (**moment).clone()]);
    }
}
