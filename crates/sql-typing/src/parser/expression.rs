//! Expressions, by the precedence of their operators.

use super::{Parser, unreadable};
use crate::tree::{CaseParts, CastType, ExprKind, PairOperator, ParsedExpr, SignOperator};
use bobak_core::Result;
use bobak_core::sql_token::{SqlToken, SqlTokenKind};

// How tightly operators bind.
const ANY: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const EQUALITY: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 7;
const SUM: u8 = 8;
const PRODUCT: u8 = 9;
const JOIN: u8 = 10;
const COLLATE: u8 = 11;
const SIGN: u8 = 12;

impl<'a> Parser<'a> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<ParsedExpr<'a>> {
        self.operators(ANY)
    }

    pub(super) fn boxed(&mut self) -> Result<Box<ParsedExpr<'a>>> {
        self.expr().map(Box::new)
    }

    /// An expression after a word, if the word is next.
    pub(super) fn expr_after(&mut self, word: &str) -> Result<Option<ParsedExpr<'a>>> {
        if self.take_word(word) { self.expr().map(Some) } else { Ok(None) }
    }

    /// An expression of operators that bind at least as tightly.
    fn operators(&mut self, least: u8) -> Result<ParsedExpr<'a>> {
        self.nested(|parser| {
            let start = parser.start();
            let mut left = parser.operand()?;
            let outer = parser.nesting;
            let mut is_applied = true;
            while is_applied {
                (left, is_applied) = parser.nested(|parser| parser.operator(left, least))?;
                // A chain of operators nests to the left.
                parser.nesting += 1;
                left.span = start..parser.last_end();
            }
            parser.nesting = outer;
            Ok(left)
        })
    }

    /// Applies the next operator to its left operand. Returns whether there was one that binds tightly enough.
    fn operator(&mut self, left: ParsedExpr<'a>, least: u8) -> Result<(ParsedExpr<'a>, bool)> {
        let Some(token) = self.peek() else { return Ok((left, false)) };
        let span = left.span.clone();
        let whole = |kind| (ParsedExpr { span, kind }, true);
        if let Some((operator, binds)) = pair_operator(&token) {
            if binds < least {
                return Ok((left, false));
            }
            self.at += 1;
            let right = self.operators(binds + 1)?;
            return Ok(whole(ExprKind::Binary(Box::new(left), operator, Box::new(right))));
        }
        if token.is_word("collate") && least <= COLLATE {
            self.at += 1;
            self.name()?;
            return Ok(whole(ExprKind::Collate(Box::new(left))));
        }
        if least > EQUALITY || !self.is_test() {
            return Ok((left, false));
        }
        self.test(left).map(whole)
    }

    /// Whether a predicate in words is next, which follows its operand.
    fn is_test(&self) -> bool {
        let is = |ahead, words: &[&str]| words.iter().any(|word| self.word_at(ahead, word));
        let negatable = ["between", "in", "like", "glob", "regexp", "match"];
        is(0, &["is", "isnull", "notnull"])
            || is(0, &negatable)
            || is(0, &["not"]) && (is(1, &negatable) || is(1, &["null"]))
    }

    fn test(&mut self, left: ParsedExpr<'a>) -> Result<ExprKind<'a>> {
        let left = Box::new(left);
        if self.take_any(&["isnull", "notnull"]) || self.take_words(&["not", "null"]) {
            return Ok(ExprKind::NullTest(left));
        }
        if self.take_word("is") {
            self.take_word("not");
            self.take_words(&["distinct", "from"]);
            let right = self.operators(COMPARISON)?;
            return Ok(ExprKind::Binary(left, PairOperator::Compare, Box::new(right)));
        }
        self.take_word("not");
        if self.take_word("between") {
            let low = self.operators(EQUALITY)?;
            self.expect_words(&["and"])?;
            let high = self.operators(COMPARISON)?;
            return Ok(ExprKind::Between(Box::new([*left, low, high])));
        }
        if self.take_word("in") {
            return self.membership(left);
        }
        self.next()?;
        let pattern = self.operators(COMPARISON)?;
        let escape = match self.take_word("escape") {
            true => Some(Box::new(self.operators(BITS)?)),
            false => None,
        };
        Ok(ExprKind::Like(Box::new([*left, pattern]), escape))
    }

    /// What follows IN.
    fn membership(&mut self, left: Box<ParsedExpr<'a>>) -> Result<ExprKind<'a>> {
        if !self.is_operator("(") {
            let table = self.table_name()?;
            let arguments = match self.is_operator("(") {
                true => self.in_parentheses(Self::exprs)?,
                false => Vec::new(),
            };
            return Ok(ExprKind::InTable(left, table, arguments));
        }
        self.in_parentheses(|parser| match parser.is_select() {
            true => Ok(ExprKind::InSelect(left, Box::new(parser.select()?))),
            false => Ok(ExprKind::InList(left, parser.exprs()?)),
        })
    }

    /// Expressions up to a closing parenthesis.
    pub(super) fn exprs(&mut self) -> Result<Vec<ParsedExpr<'a>>> {
        if self.is_operator(")") { Ok(Vec::new()) } else { self.list(Self::expr) }
    }

    /// An operand with the signs before it.
    fn operand(&mut self) -> Result<ParsedExpr<'a>> {
        let start = self.start();
        let token = self.peek().ok_or_else(unreadable)?;
        let kind = match token.kind {
            SqlTokenKind::Operator => self.signed(token)?,
            SqlTokenKind::Word => self.word_operand(token)?,
            SqlTokenKind::Text if !self.operator_at(1, ".") => {
                ExprKind::Text(self.next()?.unquoted().into_owned())
            }
            SqlTokenKind::Number => ExprKind::Number(self.next()?.text),
            SqlTokenKind::Blob => {
                self.next()?;
                ExprKind::Blob
            }
            SqlTokenKind::Parameter => {
                let start = self.next()?.start;
                let number = self.places.get(&start).copied().unwrap_or(0);
                ExprKind::Parameter(number.checked_sub(1).ok_or_else(unreadable)?)
            }
            _ => self.named()?,
        };
        Ok(ParsedExpr { span: start..self.last_end(), kind })
    }

    /// An operand that begins with an operator or a parenthesis.
    fn signed(&mut self, token: SqlToken<'a>) -> Result<ExprKind<'a>> {
        let sign = match token.text {
            "-" => SignOperator::Negative,
            "+" => SignOperator::Positive,
            "~" => SignOperator::Invert,
            _ => {
                return self.in_parentheses(|parser| match parser.is_select() {
                    true => Ok(ExprKind::Subquery(Box::new(parser.select()?))),
                    false => parser.list(Self::expr).map(ExprKind::Row),
                });
            }
        };
        self.at += 1;
        Ok(ExprKind::Unary(sign, Box::new(self.operators(SIGN)?)))
    }

    /// An operand that begins with a word.
    fn word_operand(&mut self, token: SqlToken<'a>) -> Result<ExprKind<'a>> {
        let is = |words: &[&str]| words.iter().any(|word| token.is_word(word));
        let is_call = self.operator_at(1, "(");
        if is(&["not"]) {
            self.at += 1;
            let operand = self.operators(NOT)?;
            return Ok(ExprKind::Unary(SignOperator::Not, Box::new(operand)));
        }
        if is(&["case"]) {
            return self.case();
        }
        if is_call && is(&["exists"]) {
            self.at += 1;
            let select = self.in_parentheses(Self::select)?;
            return Ok(ExprKind::Exists(Box::new(select)));
        }
        if is_call && is(&["cast"]) {
            self.at += 1;
            return self.in_parentheses(Self::cast);
        }
        if is_call && is(&["raise"]) {
            self.at += 1;
            return self.in_parentheses(Self::raise);
        }
        let literal = match () {
            () if is_call || self.operator_at(1, ".") => return self.named(),
            () if is(&["null"]) => ExprKind::Null,
            () if is(&["true", "false"]) => ExprKind::Truth,
            () if is(&["current_date", "current_time", "current_timestamp"]) => ExprKind::Current,
            () if super::is_reserved(token.text) && !is(&super::JOIN_WORDS) => {
                return Err(unreadable());
            }
            () => return self.named(),
        };
        self.at += 1;
        Ok(literal)
    }

    /// A column or a call.
    fn named(&mut self) -> Result<ExprKind<'a>> {
        let first = self.name()?;
        if self.is_operator("(") {
            return self.call(&first.text);
        }
        if !self.take_operator(".") {
            return Ok(ExprKind::Column(None, first));
        }
        let second = self.name()?;
        if !self.take_operator(".") {
            return Ok(ExprKind::Column(Some(first.text), second));
        }
        Ok(ExprKind::Column(Some(second.text), self.name()?))
    }

    fn case(&mut self) -> Result<ExprKind<'a>> {
        self.at += 1;
        let base = if self.is_word("when") { None } else { Some(self.boxed()?) };
        let mut branches = Vec::new();
        while self.take_word("when") {
            let when = self.expr()?;
            self.expect_words(&["then"])?;
            branches.push((when, self.expr()?));
        }
        let otherwise = self.expr_after("else")?.map(Box::new);
        self.expect_words(&["end"])?;
        Ok(ExprKind::Case(CaseParts { base, branches, otherwise }))
    }

    fn cast(&mut self) -> Result<ExprKind<'a>> {
        let value = self.boxed()?;
        self.expect_words(&["as"])?;
        let mut words = Vec::new();
        while !self.is_operator("(") && !self.is_operator(")") {
            words.push(self.name_text()?.to_ascii_uppercase());
        }
        let mut size = None;
        if self.is_operator("(") {
            let sizes = self.in_parentheses(|parser| parser.list(Self::type_size))?;
            let count = sizes.len();
            size = sizes.into_iter().last().map(|last| (count, last));
        }
        Ok(ExprKind::Cast(value, CastType { name: words.join(" "), size }))
    }

    /// A number of a type, with its sign.
    fn type_size(&mut self) -> Result<String> {
        let start = self.start();
        let _ = self.take_operator("-") || self.take_operator("+");
        self.next()?;
        Ok(self.sql.get(start..self.last_end()).unwrap_or_default().to_owned())
    }

    fn raise(&mut self) -> Result<ExprKind<'a>> {
        self.next()?;
        let message = match self.take_operator(",") {
            true => Some(self.boxed()?),
            false => None,
        };
        Ok(ExprKind::Raise(message))
    }
}

/// The operator with two operands that a token is, and how tightly it binds.
fn pair_operator(token: &SqlToken<'_>) -> Option<(PairOperator, u8)> {
    if token.is_word("or") {
        return Some((PairOperator::Or, OR));
    }
    if token.is_word("and") {
        return Some((PairOperator::And, AND));
    }
    if token.kind != SqlTokenKind::Operator {
        return None;
    }
    Some(match token.text {
        "=" | "==" | "<>" | "!=" => (PairOperator::Compare, EQUALITY),
        "<" | "<=" | ">" | ">=" => (PairOperator::Compare, COMPARISON),
        "&" | "|" | "<<" | ">>" => (PairOperator::Bits, BITS),
        "+" => (PairOperator::Add, SUM),
        "-" => (PairOperator::Subtract, SUM),
        "*" => (PairOperator::Multiply, PRODUCT),
        "/" => (PairOperator::Divide, PRODUCT),
        "%" => (PairOperator::Modulo, PRODUCT),
        "||" | "->" | "->>" => (PairOperator::Join, JOIN),
        _ => return None,
    })
}
