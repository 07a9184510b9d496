//! Parses an expression, with SQLite's precedence of operators.

use super::typing::ExpressionType;
use super::{Arithmetic, CheckFunction, CheckNode};
use crate::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use crate::{Comparison, ErrorKind, TableSchema, Value};

/// The kind and the message of an error.
pub(super) type Problem = (ErrorKind, String);

pub(super) type Parsed = Result<CheckNode, Problem>;

/// The deepest nesting: the parser is recursive.
const MAX_DEPTH: usize = 100;
/// The most tokens: a chain of operators becomes a tree as deep as the chain is long.
const MAX_TOKENS: usize = 1000;

/// What the literals of the text are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The record's own values: `1.50` beside money, `'2026-01-31'` beside a date.
    Record,
    /// Stored values: `15000` beside money, `20484` beside a date.
    Stored,
}

/// Parses a whole constraint.
///
/// # Errors
/// `Unsupported` or `Schema`.
pub(super) fn parse(text: &str, table: &TableSchema, form: Form) -> Parsed {
    let tokens: Vec<_> = SqlTokenizer::new(SqlSyntax::Sqlite, text).significant().collect();
    if tokens.len() > MAX_TOKENS {
        return Err(unsupported(format!("more than {MAX_TOKENS} tokens")));
    }
    let mut parser = Parser { table, form, tokens: &tokens, depth: 0 };
    let node = parser.or()?;
    match parser.tokens.first() {
        Some(token) => Err(unknown(token)),
        None => parser.truth(node),
    }
}

pub(super) struct Parser<'a> {
    pub(super) table: &'a TableSchema,
    pub(super) form: Form,
    tokens: &'a [SqlToken<'a>],
    depth: usize,
}

impl Parser<'_> {
    fn or(&mut self) -> Parsed {
        // Every nesting passes through here.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(unsupported("too much nesting".to_owned()));
        }
        let mut left = self.and()?;
        while self.keyword("or") {
            let right = self.and()?;
            left = CheckNode::Or(Box::new(self.truth(left)?), Box::new(self.truth(right)?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.not()?;
        while self.keyword("and") {
            let right = self.not()?;
            left = CheckNode::And(Box::new(self.truth(left)?), Box::new(self.truth(right)?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed {
        let mut count = 0_usize;
        while self.keyword("not") {
            count += 1;
        }
        let node = self.equality()?;
        if count == 0 {
            return Ok(node);
        }
        // NOT NOT is still a truth value: 0 or 1.
        let node = negate(self.truth(node)?);
        Ok(if count % 2 == 1 { node } else { negate(node) })
    }

    /// `= == <> != IS IN LIKE BETWEEN`, from the left.
    fn equality(&mut self) -> Parsed {
        let mut left = self.relation()?;
        loop {
            let comparison = if self.operator("==") || self.operator("=") {
                Comparison::Equal
            } else if self.operator("<>") || self.operator("!=") {
                Comparison::NotEqual
            } else {
                match self.predicate(left)? {
                    (node, true) => {
                        left = node;
                        continue;
                    }
                    (node, false) => return Ok(node),
                }
            };
            let right = self.relation()?;
            left = self.compare(comparison, left, right)?;
        }
    }

    /// A predicate in words after an expression; the expression itself and `false` if there is none.
    fn predicate(&mut self, left: CheckNode) -> Result<(CheckNode, bool), Problem> {
        if self.keyword("isnull") {
            return Ok((CheckNode::IsNull(Box::new(left)), true));
        }
        if self.keyword("notnull") {
            return Ok((negate(CheckNode::IsNull(Box::new(left))), true));
        }
        if self.keyword("is") {
            let negated = self.keyword("not");
            let right = self.relation()?;
            return self.is(left, right).map(|node| (negate_if(negated, node), true));
        }
        let negated = self.keyword("not");
        let node = if self.keyword("between") {
            let low = self.relation()?;
            self.expect_keyword("and")?;
            let high = self.relation()?;
            let low = self.compare(Comparison::GreaterOrEqual, left.clone(), low)?;
            let high = self.compare(Comparison::LessOrEqual, left, high)?;
            CheckNode::And(Box::new(low), Box::new(high))
        } else if self.keyword("in") {
            self.expect("(")?;
            let values = self.list()?;
            self.member(left, values)?
        } else if self.keyword("like") {
            let right = self.relation()?;
            self.only(ExpressionType::Text, &left)?;
            self.only(ExpressionType::Text, &right)?;
            CheckNode::Like(Box::new(left), Box::new(right))
        } else if negated {
            return Err(unsupported("NOT is not supported here".to_owned()));
        } else {
            return Ok((left, false));
        };
        Ok((negate_if(negated, node), true))
    }

    fn is(&self, left: CheckNode, right: CheckNode) -> Parsed {
        let (left, right) = self.agree(left, right)?;
        if right == CheckNode::Literal(Value::Null, None) {
            return Ok(CheckNode::IsNull(Box::new(left)));
        }
        Ok(CheckNode::Is(Box::new(left), Box::new(right)))
    }

    fn member(&self, left: CheckNode, values: Vec<CheckNode>) -> Parsed {
        let mut left = left;
        let mut members = Vec::with_capacity(values.len());
        for value in values {
            let (node, value) = self.agree(left, value)?;
            left = node;
            members.push(value);
        }
        Ok(CheckNode::In(Box::new(left), members))
    }

    fn relation(&mut self) -> Parsed {
        const OPERATORS: [(&str, Comparison); 4] = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let mut left = self.sum()?;
        while let Some((_, comparison)) =
            OPERATORS.iter().find(|(operator, _)| self.operator(operator))
        {
            let right = self.sum()?;
            left = self.compare(*comparison, left, right)?;
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operation = if self.operator("+") {
                Arithmetic::Add
            } else if self.operator("-") {
                Arithmetic::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.arithmetic(operation, left, right)?;
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.concatenation()?;
        loop {
            let operation = if self.operator("*") {
                Arithmetic::Multiply
            } else if self.operator("/") {
                Arithmetic::Divide
            } else if self.operator("%") {
                Arithmetic::Remainder
            } else {
                return Ok(left);
            };
            let right = self.concatenation()?;
            left = self.arithmetic(operation, left, right)?;
        }
    }

    fn concatenation(&mut self) -> Parsed {
        let mut left = self.unary()?;
        while self.operator("||") {
            let right = self.unary()?;
            self.only(ExpressionType::Text, &left)?;
            self.only(ExpressionType::Text, &right)?;
            left = CheckNode::Concat(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let (mut negative, mut signed) = (false, false);
        loop {
            if self.operator("-") {
                negative = !negative;
            } else if !self.operator("+") {
                break;
            }
            signed = true;
        }
        let node = self.primary()?;
        match node {
            node if !signed => Ok(node),
            CheckNode::Literal(Value::Int(integer), None) if negative => {
                Ok(CheckNode::Literal(Value::Int(integer.wrapping_neg()), None))
            }
            CheckNode::Literal(Value::Float(float), None) if negative => {
                Ok(CheckNode::Literal(Value::Float(-float), None))
            }
            node if negative => {
                let zero = CheckNode::Literal(Value::Int(0), None);
                self.arithmetic(Arithmetic::Subtract, zero, node)
            }
            node => self.number(&node).map(|()| node),
        }
    }

    fn primary(&mut self) -> Parsed {
        let Some((token, rest)) = self.tokens.split_first() else {
            return Err(unsupported("an expression is missing at the end".to_owned()));
        };
        self.tokens = rest;
        if !token.is_terminated {
            return Err(unsupported(format!("{} is not closed", show(token))));
        }
        let literal = |value| Ok(CheckNode::Literal(value, None));
        match token.kind {
            // An integer of more than 64 bits would be rounded.
            SqlTokenKind::Number => match token.number() {
                Some(Value::Float(_)) if token.text.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Err(unknown(token))
                }
                number => number.map_or_else(|| Err(unknown(token)), literal),
            },
            SqlTokenKind::Text => literal(Value::from(token.unquoted().into_owned())),
            SqlTokenKind::Blob => {
                token.bytes().map_or_else(|| Err(unknown(token)), |bytes| literal(bytes.into()))
            }
            SqlTokenKind::QuotedName => self.column(&token.unquoted()),
            SqlTokenKind::Word => self.word(token.text),
            SqlTokenKind::Operator if token.text == "(" => {
                let inner = self.or()?;
                self.expect(")")?;
                Ok(inner)
            }
            _ => Err(unknown(token)),
        }
    }

    fn word(&mut self, word: &str) -> Parsed {
        if self.operator("(") {
            return self.call(word);
        }
        match word.to_ascii_lowercase().as_str() {
            "null" => Ok(CheckNode::Literal(Value::Null, None)),
            "true" => Ok(CheckNode::Literal(Value::Int(1), None)),
            "false" => Ok(CheckNode::Literal(Value::Int(0), None)),
            "case" | "cast" | "exists" | "select" => {
                Err(unsupported(format!("'{word}' is not supported")))
            }
            _ => self.column(word),
        }
    }

    fn column(&self, name: &str) -> Parsed {
        let unknown = |_| (ErrorKind::Schema, format!("there is no column '{name}'"));
        self.table.column(name).map(CheckNode::Column).map_err(unknown)
    }

    fn call(&mut self, name: &str) -> Parsed {
        let arguments = self.list()?;
        let function = match (name.to_ascii_lowercase().as_str(), &arguments[..]) {
            ("length", [argument]) => {
                if argument.ty(self.table) != ExpressionType::Bytes {
                    self.only(ExpressionType::Text, argument)?;
                }
                CheckFunction::Length
            }
            ("abs", [argument]) => {
                if argument.ty(self.table) != ExpressionType::Amount {
                    self.number(argument)?;
                }
                CheckFunction::Abs
            }
            ("lower", [argument]) => self.of_text(CheckFunction::Lower, argument)?,
            ("upper", [argument]) => self.of_text(CheckFunction::Upper, argument)?,
            ("trim", [argument]) => self.of_text(CheckFunction::Trim, argument)?,
            ("coalesce", [_, _, ..]) | ("ifnull", [_, _]) => CheckFunction::Coalesce,
            ("nullif", [_, _]) => CheckFunction::NullIf,
            (_, arguments) => {
                let count = arguments.len();
                let message =
                    format!("the function {name} with {count} arguments is not supported");
                return Err(unsupported(message));
            }
        };
        let arguments = match function {
            CheckFunction::Coalesce | CheckFunction::NullIf => self.alike(arguments)?,
            _ => arguments,
        };
        Ok(CheckNode::Call(function, arguments))
    }

    fn of_text(
        &self,
        function: CheckFunction,
        argument: &CheckNode,
    ) -> Result<CheckFunction, Problem> {
        self.only(ExpressionType::Text, argument).map(|()| function)
    }

    /// Arguments of one type, which the first one that is not a literal decides.
    fn alike(&self, arguments: Vec<CheckNode>) -> Result<Vec<CheckNode>, Problem> {
        let decides = |node: &&CheckNode| !matches!(node, CheckNode::Literal(..));
        let model = arguments.iter().find(decides).or(arguments.first()).cloned();
        let Some(model) = model else { return Ok(arguments) };
        let adapted = |node| self.agree(model.clone(), node).map(|(_, node)| node);
        arguments.into_iter().map(adapted).collect()
    }

    /// The expressions up to the closing parenthesis; the opening one has been read.
    fn list(&mut self) -> Result<Vec<CheckNode>, Problem> {
        let mut list = Vec::new();
        if self.operator(")") {
            return Ok(list);
        }
        loop {
            list.push(self.or()?);
            if !self.operator(",") {
                self.expect(")")?;
                return Ok(list);
            }
        }
    }

    fn compare(&self, comparison: Comparison, left: CheckNode, right: CheckNode) -> Parsed {
        let (left, right) = self.agree(left, right)?;
        Ok(CheckNode::Compare(comparison, Box::new(left), Box::new(right)))
    }

    fn arithmetic(&self, operation: Arithmetic, left: CheckNode, right: CheckNode) -> Parsed {
        let amount = |node: &CheckNode| node.ty(self.table) == ExpressionType::Amount;
        let (left, right) = match (operation, amount(&left), amount(&right)) {
            (_, false, false) => {
                self.number(&left)?;
                self.number(&right)?;
                (left, right)
            }
            (Arithmetic::Add | Arithmetic::Subtract, ..) => self.agree(left, right)?,
            (Arithmetic::Multiply, true, false) => self.number(&right).map(|()| (left, right))?,
            (Arithmetic::Multiply, false, true) => self.number(&left).map(|()| (left, right))?,
            _ => {
                let operator = operation.operator();
                return Err(unsupported(format!(
                    "'{operator}' with amounts of money is not supported"
                )));
            }
        };
        Ok(CheckNode::Arithmetic(operation, Box::new(left), Box::new(right)))
    }

    /// A condition must be a truth value or a plain number.
    fn truth(&self, node: CheckNode) -> Parsed {
        self.number(&node).map(|()| node)
    }

    fn number(&self, node: &CheckNode) -> Result<(), Problem> {
        let ty = node.ty(self.table);
        if ty.is_number() || ty == ExpressionType::Null {
            return Ok(());
        }
        Err(unsupported(format!("{} is not supported where a number is expected", ty.name())))
    }

    fn only(&self, wanted: ExpressionType, node: &CheckNode) -> Result<(), Problem> {
        let found = node.ty(self.table);
        if wanted == found || found == ExpressionType::Null {
            return Ok(());
        }
        let (wanted, found) = (wanted.name(), found.name());
        Err(unsupported(format!("{found} is not supported where {wanted} is expected")))
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_if(|token| token.is_word(keyword))
    }

    fn operator(&mut self, operator: &str) -> bool {
        self.skip_if(|token| token.is_operator(operator))
    }

    fn skip_if(&mut self, is_wanted: impl FnOnce(&SqlToken<'_>) -> bool) -> bool {
        let found = self.tokens.first().is_some_and(is_wanted);
        if found {
            self.tokens = self.tokens.get(1..).unwrap_or_default();
        }
        found
    }

    fn expect(&mut self, operator: &str) -> Result<(), Problem> {
        let found = self.operator(operator);
        self.expected(found, operator)
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<(), Problem> {
        let found = self.keyword(keyword);
        self.expected(found, keyword)
    }

    fn expected(&self, found: bool, what: &str) -> Result<(), Problem> {
        if found {
            return Ok(());
        }
        let there = self.tokens.first().map_or("the end".to_owned(), show);
        Err(unsupported(format!("expected '{what}', found {there}")))
    }
}

fn negate(node: CheckNode) -> CheckNode {
    CheckNode::Not(Box::new(node))
}

fn negate_if(negated: bool, node: CheckNode) -> CheckNode {
    if negated { negate(node) } else { node }
}

fn unknown(token: &SqlToken<'_>) -> Problem {
    unsupported(format!("{} is not supported here", show(token)))
}

pub(super) fn unsupported(message: String) -> Problem {
    (ErrorKind::Unsupported, message)
}

/// The token for a message: at most 40 characters.
fn show(token: &SqlToken<'_>) -> String {
    let text: String = token.text.chars().take(40).collect();
    format!("'{text}'")
}
