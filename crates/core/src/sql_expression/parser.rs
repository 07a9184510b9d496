//! A recursive descent parser with SQLite's precedence of operators.

use super::{Arithmetic, SqlExpression, SqlLiteral, SqlOperator};
use crate::Comparison;
use crate::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use std::borrow::Cow;

/// The deepest nesting of parentheses and calls: the parser is recursive.
const MAX_DEPTH: usize = 64;
/// The most operators other than AND, OR and single comparisons. A chain of them becomes a tree as deep
/// as the chain is long.
const MAX_OPERATORS: usize = 500;

type Operators = &'static [(&'static str, SqlOperator)];

const EQUALITIES: Operators = &[
    ("=", SqlOperator::Compare(Comparison::Equal)),
    ("==", SqlOperator::Compare(Comparison::Equal)),
    ("<>", SqlOperator::Compare(Comparison::NotEqual)),
    ("!=", SqlOperator::Compare(Comparison::NotEqual)),
];
const RELATIONS: Operators = &[
    ("<", SqlOperator::Compare(Comparison::Less)),
    ("<=", SqlOperator::Compare(Comparison::LessOrEqual)),
    (">", SqlOperator::Compare(Comparison::Greater)),
    (">=", SqlOperator::Compare(Comparison::GreaterOrEqual)),
];
const SUMS: Operators = &[
    ("+", SqlOperator::Arithmetic(Arithmetic::Add)),
    ("-", SqlOperator::Arithmetic(Arithmetic::Subtract)),
];
const PRODUCTS: Operators = &[
    ("*", SqlOperator::Arithmetic(Arithmetic::Multiply)),
    ("/", SqlOperator::Arithmetic(Arithmetic::Divide)),
    ("%", SqlOperator::Arithmetic(Arithmetic::Remainder)),
];
const CONCATENATION: Operators = &[("||", SqlOperator::Concat)];

/// An expression, or what is wrong with the text.
type ParseResult<'a> = Result<SqlExpression<'a>, String>;

/// A position in the tokens of an SQL text.
///
/// ```
/// use bobak_core::sql_expression::{SqlExpression, SqlParser};
/// let mut parser = SqlParser::new("a = 1 and b like 'x%' order by a");
/// assert!(matches!(parser.expression(), Ok(SqlExpression::And(parts)) if parts.len() == 2));
/// assert!(parser.word("order") && parser.word("by"));
/// assert_eq!(parser.name().as_deref(), Some("a"));
/// assert!(parser.is_at_end());
/// ```
#[derive(Debug)]
pub struct SqlParser<'a> {
    /// The tokens that have not been read, the last one first.
    tokens: Vec<SqlToken<'a>>,
    depth: usize,
    operators: usize,
    parameters: usize,
}

impl<'a> SqlParser<'a> {
    /// A parser at the start of a text. No expression contains a comment.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let tokens = SqlTokenizer::new(SqlSyntax::Sqlite, text);
        Self::of(tokens.filter(|token| token.kind != SqlTokenKind::Whitespace))
    }

    /// A parser at the start of a text whose comments are skipped.
    #[must_use]
    pub fn without_comments(text: &'a str) -> Self {
        Self::of(SqlTokenizer::new(SqlSyntax::Sqlite, text).significant())
    }

    fn of(tokens: impl Iterator<Item = SqlToken<'a>>) -> Self {
        let mut tokens: Vec<_> = tokens.collect();
        tokens.reverse();
        Self { tokens, depth: 0, operators: 0, parameters: 0 }
    }

    /// The number of tokens that have not been read.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.tokens.len()
    }

    /// Whether all tokens have been read.
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The number of parameters that have been read.
    #[must_use]
    pub const fn parameters(&self) -> usize {
        self.parameters
    }

    /// Whether this keyword is next.
    #[must_use]
    pub fn is_word(&self, word: &str) -> bool {
        self.tokens.last().is_some_and(|token| token.is_word(word))
    }

    /// Reads a keyword, if it is next.
    pub fn word(&mut self, word: &str) -> bool {
        self.skip_if(self.is_word(word))
    }

    /// Whether this operator is next.
    #[must_use]
    pub fn is_operator(&self, operator: &str) -> bool {
        self.tokens.last().is_some_and(|token| token.is_operator(operator))
    }

    /// Reads an operator, if it is next.
    pub fn operator(&mut self, operator: &str) -> bool {
        self.skip_if(self.is_operator(operator))
    }

    /// Reads a name, if one is next. Keywords are names, too.
    pub fn name(&mut self) -> Option<Cow<'a, str>> {
        let name = self.tokens.last().filter(|token| token.is_terminated)?.name()?;
        self.tokens.pop();
        Some(name)
    }

    /// Reads the expression that the whole text is.
    ///
    /// # Errors
    /// A message that says what was expected.
    pub fn whole(mut self) -> ParseResult<'a> {
        let expression = self.expression()?;
        if self.is_at_end() { Ok(expression) } else { Err(self.expected("an operator or the end")) }
    }

    /// Reads an expression.
    ///
    /// # Errors
    /// A message that says what was expected.
    pub fn expression(&mut self) -> ParseResult<'a> {
        // Every nesting passes through here.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("too much nesting".to_owned());
        }
        let expression = self.logical("or", Self::conjunction, SqlExpression::Or)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn conjunction(&mut self) -> ParseResult<'a> {
        self.logical("and", Self::negation, SqlExpression::And)
    }

    fn logical(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> ParseResult<'a>,
        all: fn(Vec<SqlExpression<'a>>) -> SqlExpression<'a>,
    ) -> ParseResult<'a> {
        let first = operand(self)?;
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.word(word) {
            parts.push(operand(self)?);
        }
        Ok(all(parts))
    }

    fn negation(&mut self) -> ParseResult<'a> {
        let mut count = 0_usize;
        while self.word("not") {
            count += 1;
        }
        let expression = self.equality()?;
        // NOT NOT is still a truth value: 0 or 1.
        let negations = if count > 1 { 2 - count % 2 } else { count };
        Ok((0..negations).fold(expression, |inner, _| negated(true, inner)))
    }

    /// `= == <> != IS IN LIKE BETWEEN`, from the left.
    fn equality(&mut self) -> ParseResult<'a> {
        let mut left = self.relation()?;
        let mut count = 0_usize;
        loop {
            left = match self.either(EQUALITIES) {
                Some(operator) => binary(operator, left, self.relation()?),
                None => match self.predicate(left)? {
                    (predicate, true) => predicate,
                    (expression, false) => return Ok(expression),
                },
            };
            count += 1;
            if count > 1 {
                self.count_operator()?;
            }
        }
    }

    /// A predicate in words after an expression; the expression itself and `false` if there is none.
    fn predicate(&mut self, left: SqlExpression<'a>) -> Result<(SqlExpression<'a>, bool), String> {
        let null = SqlExpression::Literal(SqlLiteral::Null);
        if self.word("isnull") {
            return Ok((binary(SqlOperator::Is, left, null), true));
        }
        if self.word("notnull") {
            return Ok((negated(true, binary(SqlOperator::Is, left, null)), true));
        }
        if self.word("is") {
            let not = self.word("not");
            return Ok((negated(not, binary(SqlOperator::Is, left, self.relation()?)), true));
        }
        let not = self.word("not");
        let predicate = if self.word("between") {
            let low = self.relation()?;
            self.expect_word("and")?;
            SqlExpression::Between(Box::new([left, low, self.relation()?]))
        } else if self.word("in") {
            self.expect("(")?;
            SqlExpression::In(Box::new(left), self.list()?)
        } else if self.word("like") {
            let pattern = self.relation()?;
            let operator = if self.word("escape") { self.escape()? } else { SqlOperator::Like };
            binary(operator, left, pattern)
        } else if self.word("contains") {
            binary(SqlOperator::Contains, left, self.relation()?)
        } else if self.word("starts") {
            self.expect_word("with")?;
            binary(SqlOperator::StartsWith, left, self.relation()?)
        } else if self.word("ends") {
            self.expect_word("with")?;
            binary(SqlOperator::EndsWith, left, self.relation()?)
        } else if not {
            return Err(self.expected("between, in, like, contains, starts with or ends with"));
        } else {
            return Ok((left, false));
        };
        Ok((negated(not, predicate), true))
    }

    /// The character after ESCAPE.
    fn escape(&mut self) -> Result<SqlOperator, String> {
        if let SqlExpression::Literal(SqlLiteral::Text(text)) = self.relation()? {
            let mut characters = text.chars();
            if let (Some(escape), None) = (characters.next(), characters.next())
                && crate::check_escape(escape).is_ok()
            {
                return Ok(SqlOperator::LikeEscape(escape));
            }
        }
        Err("expected one character other than % and _ in single quotes after escape".to_owned())
    }

    fn relation(&mut self) -> ParseResult<'a> {
        self.chain(RELATIONS, Self::sum)
    }

    fn sum(&mut self) -> ParseResult<'a> {
        self.chain(SUMS, Self::product)
    }

    fn product(&mut self) -> ParseResult<'a> {
        self.chain(PRODUCTS, Self::concatenation)
    }

    fn concatenation(&mut self) -> ParseResult<'a> {
        self.chain(CONCATENATION, Self::signed)
    }

    fn chain(
        &mut self,
        operators: Operators,
        operand: fn(&mut Self) -> ParseResult<'a>,
    ) -> ParseResult<'a> {
        let mut left = operand(self)?;
        let mut is_first = matches!(operators.first(), Some((_, SqlOperator::Compare(_))));
        while let Some(operator) = self.either(operators) {
            if !std::mem::take(&mut is_first) {
                self.count_operator()?;
            }
            left = binary(operator, left, operand(self)?);
        }
        Ok(left)
    }

    fn count_operator(&mut self) -> Result<(), String> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS { Err("too many operators".to_owned()) } else { Ok(()) }
    }

    fn signed(&mut self) -> ParseResult<'a> {
        let (mut is_negative, mut is_signed) = (false, false);
        while let Some(operator) = self.either(SUMS) {
            is_signed = true;
            is_negative ^= operator == SqlOperator::Arithmetic(Arithmetic::Subtract);
        }
        let operand = self.primary()?;
        if !is_signed {
            return Ok(operand);
        }
        Ok(SqlExpression::Signed(is_negative, Box::new(operand)))
    }

    fn primary(&mut self) -> ParseResult<'a> {
        let Some(token) = self.tokens.last().copied() else {
            return Err(self.expected("a column or a value"));
        };
        if !token.is_terminated {
            return Err(format!("{} is not closed", show(&token)));
        }
        let literal = match token.kind {
            SqlTokenKind::Number => SqlLiteral::Number(token.text),
            SqlTokenKind::Text => SqlLiteral::Text(token.unquoted()),
            SqlTokenKind::Blob => match token.bytes() {
                Some(bytes) => SqlLiteral::Bytes(bytes),
                None => return Err(self.expected("pairs of hexadecimal digits")),
            },
            SqlTokenKind::Parameter => {
                self.tokens.pop();
                self.parameters += 1;
                return Ok(SqlExpression::Parameter(token.text, self.parameters - 1));
            }
            SqlTokenKind::Word | SqlTokenKind::QuotedName => return self.named(),
            SqlTokenKind::Operator if token.text == "(" => {
                self.tokens.pop();
                let inner = self.expression()?;
                return self.expect(")").map(|()| inner);
            }
            _ => return Err(self.expected("a column or a value")),
        };
        self.tokens.pop();
        Ok(SqlExpression::Literal(literal))
    }

    /// A literal that is a word, a call, or a name.
    fn named(&mut self) -> ParseResult<'a> {
        let Some(token) = self.tokens.pop() else { return Err(self.expected("a name")) };
        let is_word = token.kind == SqlTokenKind::Word;
        if is_word && self.operator("(") {
            if token.is_word("cast") {
                return self.cast();
            }
            if self.operator("*") {
                return self.expect(")").map(|()| SqlExpression::CallAll(token.text));
            }
            return self.list().map(|arguments| SqlExpression::Call(token.text, arguments));
        }
        let mut name = token.unquoted();
        let mut qualifier: Option<Cow<'a, str>> = None;
        while self.operator(".") {
            let Some(column) = self.name() else { return Err(self.expected("a name")) };
            let before = std::mem::replace(&mut name, column);
            qualifier = Some(match qualifier {
                Some(qualifier) => format!("{qualifier}.{before}").into(),
                None => before,
            });
        }
        if qualifier.is_some() {
            return Ok(SqlExpression::Name { qualifier, name });
        }
        Ok(match () {
            () if token.is_word("null") => SqlExpression::Literal(SqlLiteral::Null),
            () if token.is_word("true") => SqlExpression::Literal(SqlLiteral::Bool(true)),
            () if token.is_word("false") => SqlExpression::Literal(SqlLiteral::Bool(false)),
            () => SqlExpression::Name { qualifier: None, name },
        })
    }

    /// `value AS type)`
    fn cast(&mut self) -> ParseResult<'a> {
        let value = self.expression()?;
        self.expect_word("as")?;
        let is_word = |token: &&SqlToken<'a>| token.kind == SqlTokenKind::Word;
        let Some(ty) = self.tokens.last().filter(is_word).map(|token| token.text) else {
            return Err(self.expected("a type of one word"));
        };
        self.tokens.pop();
        self.expect(")").map(|()| SqlExpression::Cast(Box::new(value), ty))
    }

    /// The expressions up to the closing parenthesis; the opening one has been read.
    fn list(&mut self) -> Result<Vec<SqlExpression<'a>>, String> {
        let mut list = Vec::new();
        if self.operator(")") {
            return Ok(list);
        }
        loop {
            list.push(self.expression()?);
            if !self.operator(",") {
                return self.expect(")").map(|()| list);
            }
        }
    }

    fn either(&mut self, operators: Operators) -> Option<SqlOperator> {
        let token = self.tokens.last().filter(|token| token.kind == SqlTokenKind::Operator)?;
        let (_, operator) = operators.iter().find(|(text, _)| token.text == *text)?;
        self.tokens.pop();
        Some(*operator)
    }

    fn expect(&mut self, operator: &str) -> Result<(), String> {
        if self.operator(operator) { Ok(()) } else { Err(self.expected(operator)) }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), String> {
        if self.word(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    fn skip_if(&mut self, is_wanted: bool) -> bool {
        if is_wanted {
            self.tokens.pop();
        }
        is_wanted
    }

    /// The message for something else than `what` at this position.
    #[cold]
    fn expected(&self, what: &str) -> String {
        let found = self.tokens.last().map_or_else(|| "the end".to_owned(), show);
        format!("expected {what}, found {found}")
    }
}

fn binary<'a>(
    operator: SqlOperator,
    left: SqlExpression<'a>,
    right: SqlExpression<'a>,
) -> SqlExpression<'a> {
    SqlExpression::Binary(operator, Box::new(left), Box::new(right))
}

fn negated(not: bool, inner: SqlExpression<'_>) -> SqlExpression<'_> {
    if not { SqlExpression::Not(Box::new(inner)) } else { inner }
}

/// The token for a message: at most 40 characters.
fn show(token: &SqlToken<'_>) -> String {
    let text: String = token.text.chars().take(40).collect();
    format!("'{text}'")
}
