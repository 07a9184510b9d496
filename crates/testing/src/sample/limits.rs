//! What CHECK constraints say about the values of single columns.

use bobak::Value;
use bobak::engine::Comparison;
use bobak::schema::TableSchema;
use bobak_core::check::{CheckExpression, CheckFunction, CheckNode};

/// The values that a column may have, as far as its table's CHECKs say it simply.
#[derive(Clone, Debug, Default)]
pub struct ValueLimits {
    /// The least and the largest number, in stored units.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The only values.
    pub choices: Vec<Value<'static>>,
    /// The characters of a text.
    pub min_chars: usize,
    pub max_chars: Option<usize>,
    /// Numbers are multiples of it, in stored units; any number if it is 0.
    pub step: i64,
    /// Texts are equal if they differ in case alone.
    pub ignores_case: bool,
    /// Texts are UUIDs.
    pub is_uuid: bool,
}

/// The limits of each column. A CHECK that says more is tried out with each row.
pub fn of_columns(table: &TableSchema) -> Vec<ValueLimits> {
    let mut limits = vec![ValueLimits::default(); table.columns().len()];
    for column in table.columns() {
        let check = column.check.as_deref().map(|text| CheckExpression::parse(text, table));
        if let Some(Ok(check)) = check {
            read(check.root(), &mut limits);
        }
    }
    limits
}

fn read(node: &CheckNode, limits: &mut [ValueLimits]) {
    match node {
        CheckNode::And(left, right) => {
            read(left, limits);
            read(right, limits);
        }
        CheckNode::Or(left, right) => match (&**left, &**right) {
            (CheckNode::IsNull(_), other) | (other, CheckNode::IsNull(_)) => read(other, limits),
            _ => {}
        },
        CheckNode::In(column, values) => {
            if let Some(limits) = column_of(column, limits) {
                let literal = |node: &CheckNode| match node {
                    CheckNode::Literal(value, _) => Some(value.clone()),
                    _ => None,
                };
                limits.choices = values.iter().filter_map(literal).collect();
            }
        }
        CheckNode::Compare(comparison, left, right) => match (&**left, &**right) {
            (CheckNode::Literal(value, _), other) => {
                compare(other, turned(*comparison), value, limits);
            }
            (other, CheckNode::Literal(value, _)) => compare(other, *comparison, value, limits),
            _ => {}
        },
        _ => {}
    }
}

fn column_of<'l>(node: &CheckNode, limits: &'l mut [ValueLimits]) -> Option<&'l mut ValueLimits> {
    match node {
        CheckNode::Column(place) => limits.get_mut(*place),
        _ => None,
    }
}

fn compare(
    node: &CheckNode,
    comparison: Comparison,
    value: &Value<'static>,
    all: &mut [ValueLimits],
) {
    let number = match value {
        Value::Int(integer) => Some(*integer as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    };
    if let CheckNode::Call(CheckFunction::Length, arguments) = node {
        let (Some([argument]), Some(number)) = (arguments.first_chunk(), number) else { return };
        let Some(limits) = column_of(argument, all) else { return };
        let mut length = ValueLimits { low: None, high: None, ..ValueLimits::default() };
        length.narrow(comparison, number);
        limits.min_chars = length.low.map_or(limits.min_chars, |low| low as usize);
        limits.max_chars = length.high.map(|high| high as usize).or(limits.max_chars);
        return;
    }
    let Some(limits) = column_of(node, all) else { return };
    match number {
        Some(number) => limits.narrow(comparison, number),
        None if comparison == Comparison::Equal => limits.choices = vec![value.clone()],
        // `name <> ''`
        None if *value == Value::from("") => limits.min_chars = limits.min_chars.max(1),
        None => {}
    }
}

/// The same comparison with its sides exchanged.
const fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

impl ValueLimits {
    /// Numbers are in this range, too.
    pub fn clamp(&mut self, low: f64, high: f64) {
        self.narrow(Comparison::GreaterOrEqual, low);
        self.narrow(Comparison::LessOrEqual, high);
    }

    fn narrow(&mut self, comparison: Comparison, number: f64) {
        let (low, high) = match comparison {
            Comparison::Equal => (Some(number), Some(number)),
            Comparison::Less => (None, Some(number - 1.0)),
            Comparison::LessOrEqual => (None, Some(number)),
            Comparison::Greater => (Some(number + 1.0), None),
            Comparison::GreaterOrEqual => (Some(number), None),
            Comparison::NotEqual => (None, None),
        };
        self.low = low.map_or(self.low, |low| Some(self.low.map_or(low, |old| old.max(low))));
        self.high =
            high.map_or(self.high, |high| Some(self.high.map_or(high, |old| old.min(high))));
    }
}
