//! Parses CHECK rules, with the operator precedence of SQLite.

use super::lexer::{Token, tokens};
use super::{Arithmetic, Function, Node};
use bobak_core::{Comparison, ErrorKind, Storage, TableSchema, Value};

/// What is wrong.
pub(super) type Problem = (ErrorKind, String);

type Parsed = Result<(Node, Class), Problem>;

/// How deep a rule may be nested.
const MAX_DEPTH: usize = 100;
/// How many words it may have: a row of operators is a tree as deep as the row is long.
const MAX_TOKENS: usize = 1000;

/// What an expression gives, as far as it can be known without a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Number,
    Text,
    Bytes,
    /// A column of any storage class: it can be compared only.
    Any,
    /// NULL: it goes with everything.
    Null,
}

/// Reads a whole rule.
///
/// # Errors
/// `Unsupported` or `Schema`, with what is wrong.
pub(super) fn parse(text: &str, table: &TableSchema) -> Result<Node, Problem> {
    let tokens = tokens(text).map_err(unsupported)?;
    if tokens.len() > MAX_TOKENS {
        return Err(unsupported(format!("the rule has more than {MAX_TOKENS} tokens")));
    }
    let mut parser = Parser { table, tokens: &tokens, depth: 0 };
    let (node, class) = parser.or()?;
    match parser.tokens.first() {
        Some(token) => Err(unsupported(format!("{} is not supported here", show(token)))),
        None => truth(node, class),
    }
}

struct Parser<'a> {
    table: &'a TableSchema,
    tokens: &'a [Token],
    depth: usize,
}

impl Parser<'_> {
    fn or(&mut self) -> Parsed {
        // Every nesting passes here.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(unsupported("the rule is nested too deeply".to_owned()));
        }
        let mut left = self.and()?;
        while self.keyword("or") {
            let (left_side, right) = (truth(left.0, left.1)?, self.and()?);
            let right = truth(right.0, right.1)?;
            left = (Node::Or(Box::new(left_side), Box::new(right)), Class::Number);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.not()?;
        while self.keyword("and") {
            let (left_side, right) = (truth(left.0, left.1)?, self.not()?);
            let right = truth(right.0, right.1)?;
            left = (Node::And(Box::new(left_side), Box::new(right)), Class::Number);
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed {
        let mut negated = None;
        while self.keyword("not") {
            negated = Some(negated != Some(true));
        }
        let (node, class) = self.equality()?;
        match negated {
            None => Ok((node, class)),
            Some(odd) => {
                // Twice negated is still made a truth: 0 or 1.
                let node = negate(truth(node, class)?);
                Ok((if odd { node } else { negate(node) }, Class::Number))
            }
        }
    }

    /// `= == <> != IS IN LIKE BETWEEN`, from the left.
    fn equality(&mut self) -> Parsed {
        let mut left = self.relation()?;
        loop {
            let comparison = if self.operator("==") || self.operator("=") {
                Comparison::Equal
            } else if self.operator("<>") || self.operator("!=") {
                Comparison::NotEqual
            } else if let Some(node) = self.test(&left)? {
                left = (node, Class::Number);
                continue;
            } else {
                return Ok(left);
            };
            let right = self.relation()?;
            left = compare(comparison, left, right)?;
        }
    }

    /// A test in words after an expression; `None` where there is none.
    fn test(&mut self, left: &(Node, Class)) -> Result<Option<Node>, Problem> {
        let boxed = || Box::new(left.0.clone());
        if self.keyword("isnull") {
            return Ok(Some(Node::IsNull(boxed())));
        }
        if self.keyword("notnull") {
            return Ok(Some(negate(Node::IsNull(boxed()))));
        }
        if self.keyword("is") {
            let negated = self.keyword("not");
            let right = self.relation()?;
            agree(left.1, right.1)?;
            let node = Node::Is(boxed(), Box::new(right.0));
            return Ok(Some(if negated { negate(node) } else { node }));
        }
        let negated = self.keyword("not");
        let node = if self.keyword("between") {
            let low = self.relation()?;
            self.expect_keyword("and")?;
            let high = self.relation()?;
            let low = compare(Comparison::GreaterOrEqual, left.clone(), low)?;
            let high = compare(Comparison::LessOrEqual, left.clone(), high)?;
            Node::And(Box::new(low.0), Box::new(high.0))
        } else if self.keyword("in") {
            self.expect("(")?;
            let values = self.list()?;
            for (_, class) in &values {
                agree(left.1, *class)?;
            }
            Node::In(boxed(), values.into_iter().map(|(node, _)| node).collect())
        } else if self.keyword("like") {
            let right = self.relation()?;
            only(Class::Text, left.1)?;
            only(Class::Text, right.1)?;
            Node::Like(boxed(), Box::new(right.0))
        } else if negated {
            return Err(unsupported("NOT is not supported here".to_owned()));
        } else {
            return Ok(None);
        };
        Ok(Some(if negated { negate(node) } else { node }))
    }

    fn relation(&mut self) -> Parsed {
        let mut left = self.sum()?;
        loop {
            let comparison = if self.operator("<=") {
                Comparison::LessOrEqual
            } else if self.operator(">=") {
                Comparison::GreaterOrEqual
            } else if self.operator("<") {
                Comparison::Less
            } else if self.operator(">") {
                Comparison::Greater
            } else {
                return Ok(left);
            };
            let right = self.sum()?;
            left = compare(comparison, left, right)?;
        }
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
            left = arithmetic(operation, left, right)?;
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
            left = arithmetic(operation, left, right)?;
        }
    }

    fn concatenation(&mut self) -> Parsed {
        let mut left = self.unary()?;
        while self.operator("||") {
            let right = self.unary()?;
            only(Class::Text, left.1)?;
            only(Class::Text, right.1)?;
            left = (Node::Concat(Box::new(left.0), Box::new(right.0)), Class::Text);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let mut negative = false;
        let mut signed = false;
        loop {
            if self.operator("-") {
                negative = !negative;
            } else if !self.operator("+") {
                break;
            }
            signed = true;
        }
        let (node, class) = self.primary()?;
        if !signed {
            return Ok((node, class));
        }
        let zero = (Node::Literal(Value::Int(0)), Class::Number);
        if negative {
            arithmetic(Arithmetic::Subtract, zero, (node, class))
        } else {
            only(Class::Number, class)?;
            Ok((node, class))
        }
    }

    fn primary(&mut self) -> Parsed {
        let Some((token, rest)) = self.tokens.split_first() else {
            return Err(unsupported("an expression is missing at the end".to_owned()));
        };
        self.tokens = rest;
        match token {
            Token::Literal(value) => {
                let class = match value {
                    Value::Null => Class::Null,
                    Value::Int(_) | Value::Float(_) => Class::Number,
                    Value::Text(_) => Class::Text,
                    Value::Bytes(_) => Class::Bytes,
                };
                Ok((Node::Literal(value.clone()), class))
            }
            Token::Operator("(") => {
                let inner = self.or()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Name(name) => self.column(name),
            Token::Word(word) => self.word(word),
            Token::Operator(operator) => {
                Err(unsupported(format!("'{operator}' is not supported here")))
            }
        }
    }

    fn word(&mut self, word: &str) -> Parsed {
        if self.operator("(") {
            return self.call(word);
        }
        let literal = match word.to_ascii_lowercase().as_str() {
            "null" => Some((Value::Null, Class::Null)),
            "true" => Some((Value::Int(1), Class::Number)),
            "false" => Some((Value::Int(0), Class::Number)),
            _ => None,
        };
        match literal {
            Some((value, class)) => Ok((Node::Literal(value), class)),
            None => self.column(word),
        }
    }

    fn column(&self, name: &str) -> Parsed {
        let unknown = |_| match name.to_ascii_lowercase().as_str() {
            "case" | "cast" | "exists" | "select" => {
                unsupported(format!("'{name}' is not supported"))
            }
            _ => (ErrorKind::Schema, format!("there is no column '{name}'")),
        };
        let place = self.table.column(name).map_err(unknown)?;
        let class = match self.table.columns().get(place).map(|c| c.storage) {
            Some(Storage::Int | Storage::Float) => Class::Number,
            Some(Storage::Text) => Class::Text,
            Some(Storage::Bytes) => Class::Bytes,
            Some(Storage::Any) | None => Class::Any,
        };
        Ok((Node::Column(place), class))
    }

    fn call(&mut self, name: &str) -> Parsed {
        let arguments = self.list()?;
        let classes: Vec<Class> = arguments.iter().map(|(_, class)| *class).collect();
        let text = |function| Ok((function, Class::Text, Class::Text));
        let (function, takes, gives) = match (name.to_ascii_lowercase().as_str(), &classes[..]) {
            ("length", [Class::Bytes]) => Ok((Function::Length, Class::Bytes, Class::Number)),
            ("length", [_]) => Ok((Function::Length, Class::Text, Class::Number)),
            ("abs", [_]) => Ok((Function::Abs, Class::Number, Class::Number)),
            ("lower", [_]) => text(Function::Lower),
            ("upper", [_]) => text(Function::Upper),
            ("trim", [_]) => text(Function::Trim),
            ("coalesce", [first, _, ..]) | ("ifnull", [first, _]) => {
                let class = classes.iter().find(|c| **c != Class::Null).unwrap_or(first);
                Ok((Function::Coalesce, Class::Any, *class))
            }
            ("nullif", [first, _]) => Ok((Function::NullIf, Class::Any, *first)),
            (_, classes) => {
                let count = classes.len();
                Err(unsupported(format!(
                    "the function {name} with {count} arguments is not supported"
                )))
            }
        }?;
        for class in &classes {
            if takes == Class::Any {
                agree(gives, *class)?;
            } else {
                only(takes, *class)?;
            }
        }
        let arguments = arguments.into_iter().map(|(node, _)| node).collect();
        Ok((Node::Call(function, arguments), gives))
    }

    /// The expressions up to the closing bracket; the opening one is read.
    fn list(&mut self) -> Result<Vec<(Node, Class)>, Problem> {
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

    fn keyword(&mut self, keyword: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        self.skip(found)
    }

    fn operator(&mut self, operator: &str) -> bool {
        let found =
            matches!(self.tokens.first(), Some(Token::Operator(found)) if *found == operator);
        self.skip(found)
    }

    fn skip(&mut self, found: bool) -> bool {
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

fn compare(comparison: Comparison, left: (Node, Class), right: (Node, Class)) -> Parsed {
    agree(left.1, right.1)?;
    let node = Node::Compare(comparison, Box::new(left.0), Box::new(right.0));
    Ok((node, Class::Number))
}

fn arithmetic(operation: Arithmetic, left: (Node, Class), right: (Node, Class)) -> Parsed {
    only(Class::Number, left.1)?;
    only(Class::Number, right.1)?;
    let node = Node::Arithmetic(operation, Box::new(left.0), Box::new(right.0));
    Ok((node, Class::Number))
}

fn negate(node: Node) -> Node {
    Node::Not(Box::new(node))
}

/// A truth value must be a number.
fn truth(node: Node, class: Class) -> Result<Node, Problem> {
    only(Class::Number, class).map(|()| node)
}

fn agree(a: Class, b: Class) -> Result<(), Problem> {
    let any = |class| matches!(class, Class::Any | Class::Null);
    if a == b || any(a) || any(b) {
        Ok(())
    } else {
        Err(unsupported(format!("{} cannot be combined with {}", a.name(), b.name())))
    }
}

fn only(wanted: Class, found: Class) -> Result<(), Problem> {
    if wanted == found || found == Class::Null {
        return Ok(());
    }
    let (wanted, found) = (wanted.name(), found.name());
    Err(unsupported(format!("expected {wanted}, found {found}")))
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Bytes => "bytes",
            Self::Any => "a value of any class",
            Self::Null => "NULL",
        }
    }
}

fn show(token: &Token) -> String {
    match token {
        Token::Word(word) | Token::Name(word) => format!("'{word}'"),
        Token::Literal(value) => format!("the {}", value.as_ref().class()),
        Token::Operator(operator) => format!("'{operator}'"),
    }
}

fn unsupported(message: String) -> Problem {
    (ErrorKind::Unsupported, message)
}
