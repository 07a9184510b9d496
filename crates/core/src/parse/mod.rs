//! Conditions from text: what SQL writes behind WHERE, over the columns of one table.
//!
//! The text becomes a [`Condition`], a plain value: it never reaches an engine as text, so nothing
//! can be smuggled in.

mod lexer;
mod literal;

use self::lexer::{Lexer, is_name};
use self::literal::{Literal, hex, stored};
use crate::{Comparison, Condition, Error, ErrorKind, Result, TableSchema, Value};

/// How deep parentheses and NOTs may go.
const DEEPEST: usize = 64;

impl Condition {
    /// Reads a condition, its values in their columns' stored form.
    ///
    /// * comparisons `=` `<>` `!=` `<` `<=` `>` `>=` of a column with a literal or a column,
    ///   `between … and …`, `in (…)`, `is null`, `like '%x_'`, `starts with 'x'`; each of the
    ///   words with `not` before it, `is not null`;
    /// * `and`, `or`, `not`, parentheses;
    /// * literals: numbers, `'texts'` with `''` for a quote, `x'00ff'`, `true`, `false`; dates, times
    ///   and UUIDs as texts, money as a number, infinite floats as `'inf'` and `'-inf'`;
    /// * columns by their names, in `"double quotes"` where they are not plain words.
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
    /// `Syntax`, with the place; `Schema` for a column that the table has not; as
    /// [`ColumnSchema::accept`](crate::ColumnSchema::accept) for a value that is not of its column's type.
    pub fn parse(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_with(text, table, &|_| None)
    }

    /// As [`parse`](Self::parse), where `:name` stands for a value that `named` knows. One that it
    /// gives as NULL equals nothing.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); `Syntax` for a name that is not known.
    pub fn parse_with(
        text: &str,
        table: &TableSchema,
        named: &dyn Fn(&str) -> Option<Value<'static>>,
    ) -> Result<Self> {
        let mut parser = Parser { lexer: Lexer::new(text), depth: 0, table, named };
        let condition = parser.either()?;
        match parser.lexer.rest().trim_start() {
            "" => Ok(condition),
            _ => Err(parser.lexer.wrong("and, or, or the end")),
        }
        .map_err(|error| error.in_table(table.name()))
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    depth: usize,
    table: &'a TableSchema,
    named: &'a dyn Fn(&str) -> Option<Value<'static>>,
}

/// What a column is compared with.
enum Operand {
    Column(usize),
    Value(Value<'static>),
}

impl Parser<'_> {
    fn either(&mut self) -> Result<Condition> {
        let mut parts = vec![self.both()?];
        while self.lexer.word("or") {
            parts.push(self.both()?);
        }
        Ok(one_or(parts, Condition::Or))
    }

    fn both(&mut self) -> Result<Condition> {
        let mut parts = vec![self.negation()?];
        while self.lexer.word("and") {
            parts.push(self.negation()?);
        }
        Ok(one_or(parts, Condition::And))
    }

    fn negation(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::new(ErrorKind::Syntax, "the condition is nested too deep"));
        }
        let condition = if self.lexer.word("not") {
            Condition::Not(Box::new(self.negation()?))
        } else if self.lexer.sign("(") {
            let inner = self.either()?;
            self.lexer.expect(")")?;
            inner
        } else {
            self.predicate()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn predicate(&mut self) -> Result<Condition> {
        let column = self.column()?;
        const SIGNS: [(&str, Comparison); 8] = [
            ("==", Comparison::Equal),
            ("=", Comparison::Equal),
            ("<>", Comparison::NotEqual),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        for (sign, comparison) in SIGNS {
            if self.lexer.sign(sign) {
                return self.comparison(column, comparison);
            }
        }
        if self.lexer.word("is") {
            let not = self.lexer.word("not");
            if !self.lexer.word("null") {
                return Err(self.lexer.wrong("null"));
            }
            return Ok(negated(not, Condition::IsNull { column }));
        }
        let not = self.lexer.word("not");
        let condition = if self.lexer.word("in") {
            self.list(column)?
        } else if self.lexer.word("like") {
            Condition::Like { column, pattern: self.text()? }
        } else if self.lexer.word("starts") && self.lexer.word("with") {
            Condition::StartsWith { column, prefix: self.text()? }
        } else if self.lexer.word("between") {
            let low = self.compared(column, Comparison::GreaterOrEqual)?;
            if !self.lexer.word("and") {
                return Err(self.lexer.wrong("and"));
            }
            Condition::And(vec![low, self.compared(column, Comparison::LessOrEqual)?])
        } else {
            return Err(self.lexer.wrong("a comparison, is, in, like, starts with, or between"));
        };
        Ok(negated(not, condition))
    }

    fn comparison(&mut self, column: usize, comparison: Comparison) -> Result<Condition> {
        match self.operand(column)? {
            Operand::Column(right) => {
                Ok(Condition::CompareColumns { left: column, comparison, right })
            }
            Operand::Value(value) => Ok(compare(column, comparison, value)),
        }
    }

    fn compared(&mut self, column: usize, comparison: Comparison) -> Result<Condition> {
        self.literal(column).map(|value| compare(column, comparison, value))
    }

    fn list(&mut self, column: usize) -> Result<Condition> {
        self.lexer.expect("(")?;
        let mut values = Vec::new();
        if !self.lexer.sign(")") {
            loop {
                values.push(self.literal(column)?);
                if !self.lexer.sign(",") {
                    break;
                }
            }
            self.lexer.expect(")")?;
        }
        // NULL equals nothing.
        values.retain(|value| !value.is_null());
        Ok(Condition::In { column, values })
    }

    fn operand(&mut self, column: usize) -> Result<Operand> {
        self.lexer.skip_space();
        let before = self.lexer.place();
        match self.literal(column) {
            Err(error) if error.kind() == ErrorKind::Syntax && self.lexer.place() == before => {
                let names = self.lexer.rest().starts_with(|c: char| c == '"' || is_name(c));
                if names { self.column().map(Operand::Column) } else { Err(error) }
            }
            literal => literal.map(Operand::Value),
        }
    }

    /// A literal as a value of the column; nothing is passed over where there is none.
    fn literal(&mut self, column: usize) -> Result<Value<'static>> {
        let schema = self.table.column_at(column)?;
        self.lexer.skip_space();
        let before = self.lexer.place();
        if self.lexer.rest().starts_with('\'') {
            let text = self.lexer.quoted('\'')?;
            return stored(schema, Literal::Text(text));
        }
        if self.lexer.rest().starts_with(['x', 'X']) && self.lexer.rest()[1..].starts_with('\'') {
            self.lexer.sign("x");
            self.lexer.sign("X");
            let digits = self.lexer.quoted('\'')?;
            let bytes =
                hex(&digits).ok_or_else(|| self.lexer.wrong("pairs of hexadecimal digits"))?;
            return stored(schema, Literal::Bytes(bytes));
        }
        if self.lexer.sign(":") {
            let name = self.lexer.name();
            let value = (self.named)(name);
            let value = value.ok_or_else(|| {
                Error::new(ErrorKind::Syntax, format!("nothing is known as ':{name}'"))
            })?;
            return if value.is_null() { Ok(value) } else { schema.accept(value) };
        }
        for (word, integer) in [("true", 1), ("false", 0)] {
            if self.lexer.word(word) {
                return schema.accept(Value::Int(integer));
            }
        }
        if self.lexer.word("null") {
            let message = "a comparison with null is true for no row: write is null, is not null";
            return Err(Error::new(ErrorKind::Syntax, message).in_column(schema.name.clone()));
        }
        let number = self.lexer.number();
        if number.is_empty() {
            let wrong = self.lexer.wrong("a value");
            self.lexer.go_back(before);
            return Err(wrong);
        }
        stored(schema, Literal::Number(number))
    }

    fn text(&mut self) -> Result<String> {
        self.lexer.skip_space();
        if self.lexer.rest().starts_with('\'') {
            self.lexer.quoted('\'')
        } else {
            Err(self.lexer.wrong("a text"))
        }
    }

    fn column(&mut self) -> Result<usize> {
        self.lexer.skip_space();
        if self.lexer.rest().starts_with('"') {
            let name = self.lexer.quoted('"')?;
            return self.table.column(&name);
        }
        match self.lexer.name() {
            "" => Err(self.lexer.wrong("a column")),
            name => self.table.column(name),
        }
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
