//! Converts an expression to the tree of a CHECK: resolves names, and checks types.

use super::typing::ExpressionType;
use super::{Arithmetic, CheckFunction, CheckNode};
use crate::sql_expression::{SqlExpression, SqlLiteral, SqlOperator, SqlParser};
use crate::{Comparison, ErrorKind, TableSchema, Value, sql_token};

/// The kind and the message of an error.
pub(super) type ErrorParts = (ErrorKind, String);

pub(super) type NodeResult = Result<CheckNode, ErrorParts>;

/// The most tokens: a chain of operators becomes a tree as deep as the chain is long.
const MAX_TOKENS: usize = 1000;

/// What the literals of the text are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The record's own values: `1.50` for money, `'2026-01-31'` for a date.
    Record,
    /// Stored values: `15000` for money, `20484` for a date.
    Stored,
}

/// Parses a whole constraint, or an expression that is a `value`.
///
/// # Errors
/// `Unsupported` or `Schema`.
pub(super) fn parse(text: &str, table: &TableSchema, form: Form, value: bool) -> NodeResult {
    let parser = SqlParser::without_comments(text);
    if parser.remaining() > MAX_TOKENS {
        return Err(unsupported(format!("more than {MAX_TOKENS} tokens")));
    }
    let expression = parser.whole().map_err(unsupported)?;
    let converter = CheckConverter { table, form };
    if value { converter.node(&expression) } else { converter.truth(&expression) }
}

pub(super) struct CheckConverter<'a> {
    pub(super) table: &'a TableSchema,
    pub(super) form: Form,
}

impl CheckConverter<'_> {
    pub(super) fn node(&self, expression: &SqlExpression<'_>) -> NodeResult {
        match expression {
            SqlExpression::Name { qualifier: None, name } => self.column(name),
            SqlExpression::Name { .. } => Err(not_supported("a name with a dot")),
            SqlExpression::Literal(literal) => self::literal(literal),
            SqlExpression::Parameter(text, _) => Err(not_supported(text)),
            SqlExpression::And(parts) => self.logical(parts, CheckNode::And),
            SqlExpression::Or(parts) => self.logical(parts, CheckNode::Or),
            SqlExpression::Not(inner) => Ok(CheckNode::Not(Box::new(self.truth(inner)?))),
            SqlExpression::Signed(is_negative, inner) => {
                self.signed(*is_negative, self.node(inner)?)
            }
            SqlExpression::Binary(operator, left, right) => {
                self.binary(*operator, self.node(left)?, right)
            }
            SqlExpression::Between(operands) => {
                let [value, low, high] = &**operands;
                let value = self.node(value)?;
                let low =
                    self.compare(Comparison::GreaterOrEqual, value.clone(), self.node(low)?)?;
                let high = self.compare(Comparison::LessOrEqual, value, self.node(high)?)?;
                Ok(CheckNode::And(Box::new(low), Box::new(high)))
            }
            SqlExpression::In(value, members) => {
                self.member(self.node(value)?, self.nodes(members)?)
            }
            SqlExpression::Call(name, arguments) => match self.json_part(expression) {
                Some(part) => part,
                None => self.call(name, self.nodes(arguments)?),
            },
            SqlExpression::Cast(..) => Err(not_supported("CAST")),
            SqlExpression::CallAll(name) => Err(not_supported(&format!("{name}(*)"))),
        }
    }

    fn nodes(&self, expressions: &[SqlExpression<'_>]) -> Result<Vec<CheckNode>, ErrorParts> {
        expressions.iter().map(|expression| self.node(expression)).collect()
    }

    fn logical(
        &self,
        parts: &[SqlExpression<'_>],
        pair: fn(Box<CheckNode>, Box<CheckNode>) -> CheckNode,
    ) -> NodeResult {
        let nodes = parts.iter().map(|part| self.truth(part));
        let joined = nodes.reduce(|left, right| Ok(pair(Box::new(left?), Box::new(right?))));
        joined.unwrap_or_else(|| Err(not_supported("an empty expression")))
    }

    fn binary(
        &self,
        operator: SqlOperator,
        left: CheckNode,
        right: &SqlExpression<'_>,
    ) -> NodeResult {
        let node = self.node(right)?;
        match operator {
            SqlOperator::Compare(comparison) => self.compare(comparison, left, node),
            SqlOperator::Is => {
                // Another truth than the number 1 is TRUE, too.
                let is_truth = matches!(right, SqlExpression::Literal(SqlLiteral::Bool(_)));
                if is_truth && left.ty(self.table) != ExpressionType::Truth {
                    return Err(not_supported(
                        "IS TRUE or IS FALSE after an expression that is not a condition",
                    ));
                }
                self.is(left, node)
            }
            SqlOperator::Like => self.texts(CheckNode::Like, left, node),
            SqlOperator::Concat => self.texts(CheckNode::Concat, left, node),
            SqlOperator::Arithmetic(operation) => self.arithmetic(operation, left, node),
            SqlOperator::StartsWith => Err(not_supported("STARTS WITH")),
            SqlOperator::EndsWith => Err(not_supported("ENDS WITH")),
            SqlOperator::Contains => Err(not_supported("CONTAINS")),
            SqlOperator::LikeEscape(_) => Err(not_supported("ESCAPE")),
        }
    }

    fn texts(
        &self,
        pair: fn(Box<CheckNode>, Box<CheckNode>) -> CheckNode,
        left: CheckNode,
        right: CheckNode,
    ) -> NodeResult {
        self.only(ExpressionType::Text, &left)?;
        self.only(ExpressionType::Text, &right)?;
        Ok(pair(Box::new(left), Box::new(right)))
    }

    fn signed(&self, is_negative: bool, node: CheckNode) -> NodeResult {
        match node {
            CheckNode::Literal(Value::Int(integer), None) if is_negative => {
                Ok(CheckNode::Literal(Value::Int(integer.wrapping_neg()), None))
            }
            CheckNode::Literal(Value::Float(float), None) if is_negative => {
                Ok(CheckNode::Literal(Value::Float(-float), None))
            }
            node if is_negative => {
                let zero = CheckNode::Literal(Value::Int(0), None);
                self.arithmetic(Arithmetic::Subtract, zero, node)
            }
            node => self.number(&node).map(|()| node),
        }
    }

    fn column(&self, name: &str) -> NodeResult {
        let unknown = |_| (ErrorKind::Schema, format!("there is no column '{name}'"));
        self.table.column(name).map(CheckNode::Column).map_err(unknown)
    }

    fn is(&self, left: CheckNode, right: CheckNode) -> NodeResult {
        let (left, right) = self.agree(left, right)?;
        if right == CheckNode::Literal(Value::Null, None) {
            return Ok(CheckNode::IsNull(Box::new(left)));
        }
        Ok(CheckNode::Is(Box::new(left), Box::new(right)))
    }

    fn member(&self, left: CheckNode, values: Vec<CheckNode>) -> NodeResult {
        let mut left = left;
        let mut members = Vec::with_capacity(values.len());
        for value in values {
            let (node, value) = self.agree(left, value)?;
            left = node;
            members.push(value);
        }
        Ok(CheckNode::In(Box::new(left), members))
    }

    fn call(&self, name: &str, arguments: Vec<CheckNode>) -> NodeResult {
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
            ("iif", [_, _] | [_, _, _]) => return self.choice(arguments),
            (_, arguments) => {
                let count = arguments.len();
                return Err(not_supported(&format!("the function {name} with {count} arguments")));
            }
        };
        let arguments = match function {
            CheckFunction::Coalesce | CheckFunction::NullIf => self.alike(arguments)?,
            _ => arguments,
        };
        Ok(CheckNode::Call(function, arguments))
    }

    /// `iif(condition, value)`, `iif(condition, value, other)`: both values have one type.
    fn choice(&self, arguments: Vec<CheckNode>) -> NodeResult {
        let mut arguments = arguments.into_iter();
        let condition = arguments.next();
        condition.iter().try_for_each(|condition| self.number(condition))?;
        let mut values: Vec<_> = arguments.collect();
        if values.len() == 1 {
            values.push(CheckNode::Literal(Value::Null, None));
        }
        let values = self.alike(values)?;
        Ok(CheckNode::Call(CheckFunction::Iif, condition.into_iter().chain(values).collect()))
    }

    fn of_text(
        &self,
        function: CheckFunction,
        argument: &CheckNode,
    ) -> Result<CheckFunction, ErrorParts> {
        self.only(ExpressionType::Text, argument).map(|()| function)
    }

    /// Arguments of one type, which the first one that is not a literal decides.
    fn alike(&self, arguments: Vec<CheckNode>) -> Result<Vec<CheckNode>, ErrorParts> {
        let decides = |node: &&CheckNode| !matches!(node, CheckNode::Literal(..));
        let model = arguments.iter().find(decides).or(arguments.first()).cloned();
        let Some(model) = model else { return Ok(arguments) };
        let adapted = |node| self.agree(model.clone(), node).map(|(_, node)| node);
        arguments.into_iter().map(adapted).collect()
    }

    fn compare(&self, comparison: Comparison, left: CheckNode, right: CheckNode) -> NodeResult {
        let (left, right) = self.agree(left, right)?;
        Ok(CheckNode::Compare(comparison, Box::new(left), Box::new(right)))
    }

    fn arithmetic(&self, operation: Arithmetic, left: CheckNode, right: CheckNode) -> NodeResult {
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
                return Err(not_supported(&format!("'{operator}' with amounts of money")));
            }
        };
        Ok(CheckNode::Arithmetic(operation, Box::new(left), Box::new(right)))
    }

    /// A condition must be a truth value or a plain number.
    fn truth(&self, expression: &SqlExpression<'_>) -> NodeResult {
        let node = self.node(expression)?;
        self.number(&node).map(|()| node)
    }

    fn number(&self, node: &CheckNode) -> Result<(), ErrorParts> {
        let ty = node.ty(self.table);
        if ty.is_number() || ty == ExpressionType::Null {
            return Ok(());
        }
        Err(unsupported(format!("{} is not supported where a number is expected", ty.name())))
    }

    fn only(&self, wanted: ExpressionType, node: &CheckNode) -> Result<(), ErrorParts> {
        let found = node.ty(self.table);
        if wanted == found || found == ExpressionType::Null {
            return Ok(());
        }
        let (wanted, found) = (wanted.name(), found.name());
        Err(unsupported(format!("{found} is not supported where {wanted} is expected")))
    }
}

fn literal(literal: &SqlLiteral<'_>) -> NodeResult {
    let value = match literal {
        SqlLiteral::Null => Value::Null,
        SqlLiteral::Bool(truth) => Value::Int(i64::from(*truth)),
        SqlLiteral::Text(text) => Value::from(text.clone().into_owned()),
        SqlLiteral::Bytes(bytes) => Value::from(bytes.clone()),
        SqlLiteral::Number(text) => match sql_token::number(text) {
            // An integer of more than 64 bits would be rounded.
            Some(Value::Float(_)) | None if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(not_supported(&format!("the large integer {text}")));
            }
            Some(number) => number,
            None => return Err(unsupported(format!("{text} is not a number"))),
        },
    };
    Ok(CheckNode::Literal(value, None))
}

pub(super) fn unsupported(message: String) -> ErrorParts {
    (ErrorKind::Unsupported, message)
}

pub(super) fn not_supported(what: &str) -> ErrorParts {
    unsupported(format!("{what} is not supported"))
}
