//! Converts literals to stored values of the type that they are compared with.

use super::CheckNode;
use super::lower::{CheckConverter, ErrorParts, Form, NodeResult, unsupported};
use super::typing::ExpressionType;
use crate::types::to_storage;
use crate::{Currency, Field, Type, Uuid, Value};

impl CheckConverter<'_> {
    /// Converts literals to the type of the other side, and checks that both sides can be compared.
    pub(super) fn agree(
        &self,
        left: CheckNode,
        right: CheckNode,
    ) -> Result<(CheckNode, CheckNode), ErrorParts> {
        let left = self.adapt(left, &right)?;
        let right = self.adapt(right, &left)?;
        let (a, b) = (left.ty(self.table), right.ty(self.table));
        if a.is_comparable(b) {
            Ok((left, right))
        } else {
            Err(unsupported(format!("{} with {} is not supported", a.name(), b.name())))
        }
    }

    /// A literal as a stored value of the other side's type; anything else as it is.
    fn adapt(&self, node: CheckNode, other: &CheckNode) -> NodeResult {
        let CheckNode::Literal(value, None) = node else { return Ok(node) };
        let wrong = |ty: Type, shown: String| {
            unsupported(format!("{shown} is not of the type {}", ty.name()))
        };
        let (ty, stored) = match (other.ty(self.table), &value) {
            (ExpressionType::Amount, Value::Int(_) | Value::Float(_)) => {
                (Type::Currency, self.amount(&value)?)
            }
            (ExpressionType::Moment(ty), Value::Text(text)) => {
                let stored = to_storage(ty, value.as_ref());
                (ty, stored.map_err(|_| wrong(ty, format!("'{text}'")))?)
            }
            (ExpressionType::Moment(ty), Value::Int(integer)) if self.form == Form::Stored => {
                (ty, Value::Int(*integer))
            }
            (ExpressionType::Bytes, Value::Text(text)) if self.is_uuid(other) => {
                let uuid: Uuid =
                    text.parse().map_err(|_| wrong(Type::Uuid, format!("'{text}'")))?;
                let stored = uuid.to_value().map(Value::into_owned);
                (Type::Uuid, stored.map_err(|_| wrong(Type::Uuid, format!("'{text}'")))?)
            }
            _ => return Ok(CheckNode::Literal(value, None)),
        };
        Ok(CheckNode::Literal(stored, Some(ty)))
    }

    /// A number as an amount of money, in ten-thousandths.
    fn amount(&self, value: &Value<'_>) -> Result<Value<'static>, ErrorParts> {
        let wrong =
            |shown: String| unsupported(format!("{shown} is not an amount with up to 4 decimals"));
        match (self.form, value) {
            (Form::Stored, Value::Int(integer)) => Ok(Value::Int(*integer)),
            (Form::Record, Value::Int(integer)) => {
                let scaled = integer.checked_mul(10_000).map(Value::Int);
                scaled.ok_or_else(|| wrong(integer.to_string()))
            }
            (Form::Record, Value::Float(float)) => {
                let amount: Result<Currency, _> = float.to_string().parse();
                let scaled = amount.map(|amount| Value::Int(amount.scaled()));
                scaled.map_err(|_| wrong(float.to_string()))
            }
            _ => Err(wrong(format!("{value:?}"))),
        }
    }

    fn is_uuid(&self, node: &CheckNode) -> bool {
        let CheckNode::Column(position) = node else { return false };
        self.table.columns().get(*position).is_some_and(|column| column.ty == Type::Uuid)
    }
}
