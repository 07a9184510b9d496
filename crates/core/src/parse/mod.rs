//! Parses conditions: what SQL writes after WHERE, over the columns of one table.
//!
//! The text becomes a [`Condition`], a plain value that never reaches an engine as text. SQL injection
//! is therefore impossible.

mod cursor;
mod literal;

use self::cursor::TokenCursor;
use self::literal::{Literal, to_stored};
use crate::sql_token::{SqlToken, SqlTokenKind};
use crate::{Comparison, Condition, Error, ErrorKind, Result, TableSchema, Value};

/// The deepest nesting of parentheses and NOTs: the parser is recursive.
const MAX_DEPTH: usize = 64;

impl Condition {
    /// Parses a condition. Its values are converted to their columns' stored form.
    ///
    /// * Comparisons `=` `<>` `!=` `<` `<=` `>` `>=` of a column with a literal or a column;
    ///   `between … and …`, `in (…)`, `is null`, `like '%x_'`, `starts with 'x'`. Each of the words
    ///   can follow `not`, and `is not null` works, too.
    /// * `and`, `or`, `not`, parentheses.
    /// * Literals: numbers; `'text'` with `''` for a quote; `x'00ff'`; `true`, `false`; dates, times
    ///   and UUIDs as text, money as a number, infinite floats as `'inf'` and `'-inf'`.
    /// * Columns by name, in `"double quotes"` if the name is not a plain word.
    ///
    /// ```
    /// use bobak_core::{ColumnSchema, Condition, TableSchema};
    /// let table = TableSchema::builder("person")
    ///     .column(ColumnSchema::of::<i64>("id"))
    ///     .column(ColumnSchema::of::<String>("name"))
    ///     .key(["id"])
    ///     .build()?;
    /// let condition = Condition::parse("id > 7 and not name like 'a%'", &table)?;
    /// assert!(Condition::parse("name > 7", &table).is_err());
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Syntax`, with the position; `Schema` for an unknown column; as
    /// [`ColumnSchema::accept`](crate::ColumnSchema::accept) for a value that does not have its column's type.
    pub fn parse(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_with(text, table, &|_| None)
    }

    /// As [`parse`](Self::parse), with `named` to look up the value of each parameter `:name`. A
    /// parameter that is NULL equals nothing.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); `Syntax` for an unknown parameter.
    pub fn parse_with(
        text: &str,
        table: &TableSchema,
        named: &dyn Fn(&str) -> Option<Value<'static>>,
    ) -> Result<Self> {
        let mut parser = Parser { tokens: TokenCursor::new(text), depth: 0, table, named };
        let condition = parser.either()?;
        match parser.tokens.peek() {
            None => Ok(condition),
            Some(_) => Err(parser.tokens.unexpected("and, or, or the end")),
        }
        .map_err(|error| error.in_table(table.name()))
    }
}

struct Parser<'a> {
    tokens: TokenCursor<'a>,
    depth: usize,
    table: &'a TableSchema,
    named: &'a dyn Fn(&str) -> Option<Value<'static>>,
}

/// The right side of a comparison.
enum Compared {
    Column(usize),
    Value(Value<'static>),
}

impl Parser<'_> {
    /// `… or …`
    fn either(&mut self) -> Result<Condition> {
        let mut parts = vec![self.both()?];
        while self.tokens.word("or") {
            parts.push(self.both()?);
        }
        Ok(one_or(parts, Condition::Or))
    }

    /// `… and …`
    fn both(&mut self) -> Result<Condition> {
        let mut parts = vec![self.negation()?];
        while self.tokens.word("and") {
            parts.push(self.negation()?);
        }
        Ok(one_or(parts, Condition::And))
    }

    fn negation(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::new(ErrorKind::Syntax, "the condition is nested too deeply"));
        }
        let condition = if self.tokens.word("not") {
            Condition::Not(Box::new(self.negation()?))
        } else if self.tokens.operator("(") {
            let inner = self.either()?;
            self.tokens.expect(")")?;
            inner
        } else {
            self.predicate()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn predicate(&mut self) -> Result<Condition> {
        let column = self.column()?;
        const OPERATORS: [(&str, Comparison); 8] = [
            ("==", Comparison::Equal),
            ("=", Comparison::Equal),
            ("<>", Comparison::NotEqual),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        for (operator, comparison) in OPERATORS {
            if self.tokens.operator(operator) {
                return self.comparison(column, comparison);
            }
        }
        if self.tokens.word("is") {
            let not = self.tokens.word("not");
            if !self.tokens.word("null") {
                return Err(self.tokens.unexpected("null"));
            }
            return Ok(negated(not, Condition::IsNull { column }));
        }
        let not = self.tokens.word("not");
        let condition = if self.tokens.word("in") {
            self.list(column)?
        } else if self.tokens.word("like") {
            Condition::Like { column, pattern: self.text()? }
        } else if self.tokens.word("starts") && self.tokens.word("with") {
            Condition::StartsWith { column, prefix: self.text()? }
        } else if self.tokens.word("between") {
            let low = self.compared(column, Comparison::GreaterOrEqual)?;
            if !self.tokens.word("and") {
                return Err(self.tokens.unexpected("and"));
            }
            Condition::And(vec![low, self.compared(column, Comparison::LessOrEqual)?])
        } else {
            return Err(self
                .tokens
                .unexpected("a comparison, is, in, like, starts with, or between"));
        };
        Ok(negated(not, condition))
    }

    fn comparison(&mut self, column: usize, comparison: Comparison) -> Result<Condition> {
        match self.operand(column)? {
            Compared::Column(right) => {
                Ok(Condition::CompareColumns { left: column, comparison, right })
            }
            Compared::Value(value) => Ok(compare(column, comparison, value)),
        }
    }

    fn compared(&mut self, column: usize, comparison: Comparison) -> Result<Condition> {
        self.literal(column).map(|value| compare(column, comparison, value))
    }

    fn list(&mut self, column: usize) -> Result<Condition> {
        self.tokens.expect("(")?;
        let mut values = Vec::new();
        if !self.tokens.operator(")") {
            loop {
                values.push(self.literal(column)?);
                if !self.tokens.operator(",") {
                    break;
                }
            }
            self.tokens.expect(")")?;
        }
        // NULL equals nothing.
        values.retain(|value| !value.is_null());
        Ok(Condition::In { column, values })
    }

    fn operand(&mut self, column: usize) -> Result<Compared> {
        let is_name = |token: SqlToken<'_>| {
            let is_literal = ["true", "false", "null"].iter().any(|word| token.is_word(word));
            matches!(token.kind, SqlTokenKind::Word | SqlTokenKind::QuotedName) && !is_literal
        };
        if self.tokens.peek().is_some_and(is_name) {
            return self.column().map(Compared::Column);
        }
        self.literal(column).map(Compared::Value)
    }

    /// A literal as a value of the column.
    fn literal(&mut self, column: usize) -> Result<Value<'static>> {
        let schema = self.table.column_at(column)?;
        let signs = [("-", "-"), ("+", "")];
        let sign = signs.into_iter().find(|(sign, _)| self.tokens.operator(sign));
        let Some(token) = self.tokens.peek() else {
            return Err(self.tokens.unexpected("a value"));
        };
        if let Some((_, sign)) = sign {
            if token.kind != SqlTokenKind::Number {
                return Err(self.tokens.unexpected("a number"));
            }
            self.tokens.advance();
            return to_stored(schema, Literal::Number(format!("{sign}{}", token.text).into()));
        }
        let literal = match token.kind {
            SqlTokenKind::Text => {
                return self.text().and_then(|t| to_stored(schema, Literal::Text(t.into())));
            }
            SqlTokenKind::Number => Literal::Number(token.text.into()),
            SqlTokenKind::Blob => Literal::Bytes(
                token
                    .bytes()
                    .ok_or_else(|| self.tokens.unexpected("pairs of hexadecimal digits"))?,
            ),
            SqlTokenKind::Parameter if token.text.starts_with(':') => {
                self.tokens.advance();
                let value = (self.named)(token.text.get(1..).unwrap_or_default());
                let value = value.ok_or_else(|| {
                    Error::new(ErrorKind::Syntax, format!("unknown parameter '{}'", token.text))
                })?;
                return if value.is_null() { Ok(value) } else { schema.accept(value) };
            }
            SqlTokenKind::Word if token.is_word("null") => {
                let message = "no value equals null: write 'is null' or 'is not null'";
                let error = Error::new(ErrorKind::Syntax, message);
                return Err(error.in_column(schema.name.clone()));
            }
            SqlTokenKind::Word if token.is_word("true") || token.is_word("false") => {
                self.tokens.advance();
                return schema.accept(Value::Int(i64::from(token.is_word("true"))));
            }
            _ => return Err(self.tokens.unexpected("a value")),
        };
        self.tokens.advance();
        to_stored(schema, literal)
    }

    fn text(&mut self) -> Result<String> {
        match self.tokens.peek() {
            Some(token) if token.kind == SqlTokenKind::Text && token.is_terminated => {
                self.tokens.advance();
                Ok(token.unquoted().into_owned())
            }
            _ => Err(self.tokens.unexpected("a string in single quotes")),
        }
    }

    fn column(&mut self) -> Result<usize> {
        let token = self.tokens.peek().filter(|token| token.is_terminated);
        let Some(name) = token.and_then(|token| token.name()) else {
            return Err(self.tokens.unexpected("a column"));
        };
        self.tokens.advance();
        self.table.column(&name)
    }
}

fn compare(column: usize, comparison: Comparison, value: Value<'static>) -> Condition {
    match value {
        // True for no row.
        Value::Null => Condition::Or(Vec::new()),
        value => Condition::Compare { column, comparison, value },
    }
}

fn negated(not: bool, condition: Condition) -> Condition {
    if not { Condition::Not(Box::new(condition)) } else { condition }
}

fn one_or(mut parts: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            many(parts)
        }
    }
}

#[cfg(test)]
mod tests;
