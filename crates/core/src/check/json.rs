//! Parts of JSON documents, and how SQLite files spell them.

use super::lower::{CheckConverter, Form, NodeResult, not_supported, unsupported};
use super::{CheckFunction, CheckNode};
use crate::join::JoinFunction;
use crate::sql_expression::{SqlExpression, SqlLiteral, SqlParser};
use crate::{JsonPath, Storage, Type, Value};

impl CheckFunction {
    /// The functions of JSON documents.
    const OF_JSON: [Self; 5] =
        [Self::JsonText, Self::JsonInteger, Self::JsonFloat, Self::JsonTruth, Self::JsonLength];

    /// The function of JSON documents with this name.
    pub(super) fn of_json(name: &str) -> Option<Self> {
        Self::OF_JSON.into_iter().find(|function| function.name() == name)
    }

    /// The same function in expressions of queries; `None` if it is not of a JSON document and a path.
    #[must_use]
    pub const fn json_function(self) -> Option<JoinFunction> {
        Some(match self {
            Self::JsonText => JoinFunction::JsonText,
            Self::JsonInteger => JoinFunction::JsonInteger,
            Self::JsonFloat => JoinFunction::JsonFloat,
            Self::JsonTruth => JoinFunction::JsonTruth,
            Self::JsonLength => JoinFunction::JsonLength,
            _ => return None,
        })
    }

    /// The function that is this one in expressions of queries.
    #[must_use]
    pub fn of_json_function(function: JoinFunction) -> Option<Self> {
        Self::OF_JSON.into_iter().find(|own| own.json_function() == Some(function))
    }
}

impl CheckConverter<'_> {
    /// The part of a document that an expression is; `None` for another expression.
    pub(super) fn json_part(&self, expression: &SqlExpression<'_>) -> Option<NodeResult> {
        let SqlExpression::Call(name, arguments) = expression else { return None };
        let function = CheckFunction::of_json(&name.to_ascii_lowercase());
        match (function, &arguments[..]) {
            (Some(function), [document, path]) => Some(
                self.node(document)
                    .and_then(|document| self.part(function, document, &self.node(path)?)),
            ),
            _ => self.stored_part(expression).map(Ok),
        }
    }

    /// A part of a document, with the one spelling of its path.
    fn part(&self, function: CheckFunction, document: CheckNode, path: &CheckNode) -> NodeResult {
        if !self.is_document(&document) {
            let message = format!("{} of something else than a column of JSON", function.name());
            return Err(not_supported(&message));
        }
        let CheckNode::Literal(Value::Text(text), None) = path else {
            return Err(not_supported("a path that is no text literal"));
        };
        let path =
            JsonPath::parse(text).map_err(|error| unsupported(error.message().to_owned()))?;
        let path = path.to_string();
        if path.contains(char::is_control) {
            return Err(not_supported("a path with a control character"));
        }
        Ok(CheckNode::Call(function, vec![document, CheckNode::Literal(path.into(), None)]))
    }

    fn is_document(&self, node: &CheckNode) -> bool {
        let CheckNode::Column(place) = node else { return false };
        let column = self.table.columns().get(*place);
        column.is_some_and(|column| column.ty == Type::Json && column.storage == Storage::Text)
    }

    /// The part of a document that an expression in an SQLite file is.
    fn stored_part(&self, expression: &SqlExpression<'_>) -> Option<CheckNode> {
        let (name, path) = first_document(expression).filter(|_| self.form == Form::Stored)?;
        let document = CheckNode::Column(self.table.column(name).ok()?);
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let path = path.replace("\\\\", "\\");
        let function = CheckFunction::OF_JSON.into_iter().find(|&function| {
            let text = sqlite_json_part(function, &quoted, &path);
            SqlParser::new(&text).whole().is_ok_and(|whole| whole == *expression)
        })?;
        self.part(function, document, &CheckNode::Literal(path.into(), None)).ok()
    }
}

/// The column and the path of the call of `json_type` that an expression begins with.
fn first_document<'e>(expression: &'e SqlExpression<'_>) -> Option<(&'e str, &'e str)> {
    match expression {
        SqlExpression::Call(name, arguments) => match &arguments[..] {
            [
                SqlExpression::Name { qualifier: None, name: column },
                SqlExpression::Literal(SqlLiteral::Text(path)),
            ] if *name == "json_type" => Some((column, path)),
            parts => first_document(parts.first()?),
        },
        SqlExpression::And(parts) => first_document(parts.first()?),
        SqlExpression::Binary(_, inner, _) | SqlExpression::In(inner, _) => first_document(inner),
        _ => None,
    }
}

/// A part of a document with SQLite's own functions alone, so that each program that opens the file has them.
///
/// SQLite calls -0 an integer, as which it is 0, and one of more than 64 bits, which becomes a float. Of a name that an
/// object has twice, SQLite takes the first.
#[must_use]
pub fn sqlite_json_part(function: CheckFunction, column: &str, path: &str) -> String {
    let path = path.replace('\\', "\\\\").replace('\'', "''");
    let of = format!("{column}, '{path}'");
    let (ty, part) = (format!("json_type({of})"), format!("json_extract({of})"));
    match function {
        CheckFunction::JsonInteger => format!(
            "iif({ty} = 'integer' AND typeof({part}) = 'integer' \
             AND json_extract({of}, '{path}') <> '[-0,-0]', {part}, NULL)"
        ),
        CheckFunction::JsonFloat => {
            format!("iif({ty} IN ('integer', 'real'), {part} * 1.0, NULL)")
        }
        CheckFunction::JsonTruth => format!("iif({ty} IN ('true', 'false'), {part}, NULL)"),
        CheckFunction::JsonLength => {
            format!("iif({ty} = 'array', json_array_length({of}), NULL)")
        }
        _ => format!("iif({ty} = 'text', {part}, NULL)"),
    }
}
