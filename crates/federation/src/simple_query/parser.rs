//! Parses simple queries: one table, columns and aggregates of it, conditions between its columns
//! and values, an order, a limit. A text with anything else is not a simple query.

use super::lexer::Token;
use super::{Bound, Operand, ParsedQuery, Predicate};
use bobak_core::{Comparison, Expr, Order, TableSchema, Value};

/// A recursive descent parser.
pub(super) struct Parser<'t> {
    tokens: &'t [Token],
    table: &'t TableSchema,
    /// The name that may qualify a column.
    alias: Option<String>,
    parameters: usize,
}

const COMPARISONS: [(&str, Comparison); 8] = [
    ("=", Comparison::Equal),
    ("==", Comparison::Equal),
    ("<>", Comparison::NotEqual),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    ("<=", Comparison::LessOrEqual),
    (">", Comparison::Greater),
    (">=", Comparison::GreaterOrEqual),
];

/// The maximum nesting depth of conditions.
const MAX_DEPTH: usize = 50;

/// Keywords that can follow a table name, and so are not its alias.
const KEYWORDS: [&str; 20] = [
    "where",
    "order",
    "group",
    "limit",
    "join",
    "left",
    "inner",
    "cross",
    "natural",
    "full",
    "right",
    "union",
    "except",
    "intersect",
    "having",
    "window",
    "indexed",
    "not",
    "on",
    "using",
];

impl<'t> Parser<'t> {
    pub(super) const fn new(tokens: &'t [Token], table: &'t TableSchema) -> Self {
        Self { tokens, table, alias: None, parameters: 0 }
    }

    /// Parses the query; `None` if tokens are left over.
    pub(super) fn query(mut self) -> Option<ParsedQuery> {
        self.word("select")?;
        let items = self.tokens;
        // The selected columns can be resolved only after the table's alias is known.
        self.skip_to_from()?;
        self.table_name()?;
        let after = std::mem::replace(&mut self.tokens, items);
        let (columns, aliases) = self.items()?;
        self.tokens = after;
        let mut parsed = ParsedQuery { columns, ..ParsedQuery::default() };
        if self.word("where").is_some() {
            parsed.condition = Some(self.either(0)?);
        }
        if self.word("group").is_some() {
            self.word("by")?;
            parsed.group = self.list(Self::column)?;
        }
        if self.word("order").is_some() {
            self.word("by")?;
            parsed.order = self.list(|parser| parser.order_step(&parsed.columns, &aliases))?;
        }
        if self.word("limit").is_some() {
            parsed.limit = Some(self.bound()?);
            if self.word("offset").is_some() {
                parsed.offset = Some(self.bound()?);
            }
        }
        parsed.parameters = self.parameters;
        self.tokens.is_empty().then_some(parsed)
    }

    fn skip_to_from(&mut self) -> Option<()> {
        while self.word("from").is_none() {
            // A parameter among the columns would not be counted.
            if self.next()? == &Token::Parameter {
                return None;
            }
        }
        Some(())
    }

    fn table_name(&mut self) -> Option<()> {
        let mut name = self.name()?;
        if self.sign(".").is_some() {
            name = self.name()?;
        }
        if !name.eq_ignore_ascii_case(self.table.name()) {
            return None;
        }
        let has_as = self.word("as").is_some();
        let is_alias = match self.tokens.first() {
            Some(Token::Name(_)) => true,
            Some(Token::Word(word)) => {
                has_as || !KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
            }
            _ => false,
        };
        self.alias = Some(if is_alias { self.name()? } else { name });
        Some(())
    }

    /// The selected expressions with their aliases.
    fn items(&mut self) -> Option<(Vec<Expr>, Vec<Option<String>>)> {
        if self.sign("*").is_some() {
            self.word("from")?;
            let all = (0..self.table.columns().len()).map(Expr::Column);
            return Some((all.collect(), Vec::new()));
        }
        let items = self.list(|parser| {
            let expr = parser.expr()?;
            let has_as = parser.word("as").is_some();
            let is_end =
                matches!(parser.tokens.first(), Some(Token::Sign(","))) || parser.is_word("from");
            let alias = if has_as || !is_end { Some(parser.name()?) } else { None };
            Some((expr, alias))
        })?;
        self.word("from")?;
        Some(items.into_iter().unzip())
    }

    fn expr(&mut self) -> Option<Expr> {
        if let [Token::Word(function), Token::Sign("("), ..] = self.tokens {
            let function = function.to_ascii_lowercase();
            self.tokens = self.tokens.get(2..)?;
            let expr = if function == "count" && self.sign("*").is_some() {
                Expr::Count
            } else {
                let column = self.column()?;
                match function.as_str() {
                    "count" => Expr::CountOf(column),
                    "sum" => Expr::Sum(column),
                    "min" => Expr::Min(column),
                    "max" => Expr::Max(column),
                    "avg" => Expr::Avg(column),
                    _ => return None,
                }
            };
            self.sign(")")?;
            return Some(expr);
        }
        self.column().map(Expr::Column)
    }

    fn order_step(&mut self, columns: &[Expr], aliases: &[Option<String>]) -> Option<Order> {
        let is_alias = |name: &str| {
            aliases.iter().position(|a| a.as_ref().is_some_and(|a| a.eq_ignore_ascii_case(name)))
        };
        let named = match self.tokens {
            [Token::Word(name) | Token::Name(name), rest @ ..]
                if !matches!(rest.first(), Some(Token::Sign("." | "("))) =>
            {
                is_alias(name)
            }
            [Token::Value(Value::Int(position)), ..] => {
                Some(usize::try_from(*position).ok()?.checked_sub(1)?)
            }
            _ => None,
        };
        let column = match named {
            Some(position) => {
                self.next()?;
                match columns.get(position)? {
                    Expr::Column(column) => *column,
                    _ => return None,
                }
            }
            None => self.column()?,
        };
        let descending = self.word("desc").is_some();
        if !descending {
            self.word("asc");
        }
        Some(Order { column, descending })
    }

    fn bound(&mut self) -> Option<Bound> {
        self.operand()
    }

    /// `… OR …`
    fn either(&mut self, depth: usize) -> Option<Predicate> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut parts = vec![self.both(depth)?];
        while self.word("or").is_some() {
            parts.push(self.both(depth)?);
        }
        Some(if parts.len() == 1 { parts.pop()? } else { Predicate::Or(parts) })
    }

    fn both(&mut self, depth: usize) -> Option<Predicate> {
        let mut parts = vec![self.negation(depth)?];
        while self.word("and").is_some() {
            parts.push(self.negation(depth)?);
        }
        Some(if parts.len() == 1 { parts.pop()? } else { Predicate::And(parts) })
    }

    fn negation(&mut self, depth: usize) -> Option<Predicate> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.word("not").is_some() {
            return Some(Predicate::Not(Box::new(self.negation(depth + 1)?)));
        }
        if self.sign("(").is_some() {
            let inner = self.either(depth + 1)?;
            self.sign(")")?;
            return Some(inner);
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Option<Predicate> {
        if matches!(
            self.tokens.first(),
            Some(Token::Value(_) | Token::Parameter | Token::Sign("-"))
        ) {
            let value = self.operand()?;
            let comparison = mirrored(self.comparison()?);
            let column = self.column()?;
            return self.end_of_predicate(Predicate::Compare(column, comparison, value));
        }
        let column = self.column()?;
        if let Some(comparison) = self.comparison() {
            let value = self.operand()?;
            return self.end_of_predicate(Predicate::Compare(column, comparison, value));
        }
        if self.word("isnull").is_some() {
            return Some(Predicate::IsNull(column));
        }
        if self.word("notnull").is_some() {
            return Some(Predicate::Not(Box::new(Predicate::IsNull(column))));
        }
        if self.word("is").is_some() {
            let not = self.word("not").is_some();
            self.word("null")?;
            return Some(negated(Predicate::IsNull(column), not));
        }
        let not = self.word("not").is_some();
        let node = if self.word("between").is_some() {
            let low = self.operand()?;
            self.word("and")?;
            let high = self.operand()?;
            let part = |comparison, value| Predicate::Compare(column, comparison, value);
            Predicate::And(vec![
                part(Comparison::GreaterOrEqual, low),
                part(Comparison::LessOrEqual, high),
            ])
        } else if self.word("in").is_some() {
            self.sign("(")?;
            let values = self.list(Self::operand)?;
            self.sign(")")?;
            Predicate::In(column, values)
        } else if self.word("like").is_some() {
            Predicate::Like(column, self.operand()?)
        } else {
            return None;
        };
        self.end_of_predicate(negated(node, not))
    }

    /// Rejects a predicate that continues as an expression: `a = 1 + 2`, `a = 1 COLLATE x`.
    fn end_of_predicate(&self, node: Predicate) -> Option<Predicate> {
        const AFTER: [&str; 5] = ["and", "or", "group", "order", "limit"];
        let ends = match self.tokens.first() {
            None | Some(Token::Sign(")")) => true,
            Some(Token::Word(word)) => AFTER.iter().any(|after| word.eq_ignore_ascii_case(after)),
            Some(_) => false,
        };
        ends.then_some(node)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let Some(Token::Sign(sign)) = self.tokens.first() else {
            return None;
        };
        let (_, comparison) = COMPARISONS.iter().find(|(text, _)| text == sign)?;
        self.next()?;
        Some(*comparison)
    }

    fn operand(&mut self) -> Option<Operand> {
        let minus = self.sign("-").is_some();
        match (self.next()?, minus) {
            (Token::Value(Value::Int(integer)), true) => {
                Some(Operand::Value(Value::Int(integer.checked_neg()?)))
            }
            (Token::Value(Value::Float(float)), true) => Some(Operand::Value(Value::Float(-float))),
            (Token::Value(value), false) => Some(Operand::Value(value.clone())),
            (Token::Parameter, false) => {
                self.parameters += 1;
                Some(Operand::Parameter(self.parameters - 1))
            }
            _ => None,
        }
    }

    fn column(&mut self) -> Option<usize> {
        let mut name = self.name()?;
        if self.sign(".").is_some() {
            if !self.alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(&name)) {
                return None;
            }
            name = self.name()?;
        }
        self.table.column(&name).ok()
    }

    fn list<R>(&mut self, mut each: impl FnMut(&mut Self) -> Option<R>) -> Option<Vec<R>> {
        let mut all = vec![each(self)?];
        while self.sign(",").is_some() {
            all.push(each(self)?);
        }
        Some(all)
    }

    fn next(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn name(&mut self) -> Option<String> {
        match self.next()? {
            Token::Word(name) | Token::Name(name) => Some(name.clone()),
            _ => None,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.tokens.first(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn word(&mut self, word: &str) -> Option<()> {
        if self.is_word(word) { self.next().map(|_| ()) } else { None }
    }

    fn sign(&mut self, sign: &str) -> Option<()> {
        match self.tokens.first() {
            Some(Token::Sign(found)) if *found == sign => self.next().map(|_| ()),
            _ => None,
        }
    }
}

fn negated(node: Predicate, not: bool) -> Predicate {
    if not { Predicate::Not(Box::new(node)) } else { node }
}

/// The comparison with its sides swapped.
const fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}
