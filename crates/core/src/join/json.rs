//! Parts of JSON documents, by their path.

use super::selection::JoinPart;
use super::{JoinCondition, JoinExpr, JoinFunction};
use super::{JoinFilter, Nullness, OrNull};
use crate::json_path::wrong_path;
use crate::{
    Column, Comparison, Error, ErrorKind, Field, Json, JsonPath, JsonPathStep, Result, Type, Value,
    ValueRef,
};
use serde_core::Serialize;
use serde_json::Value as Document;
use std::marker::PhantomData;

/// A part of a JSON document: see [`JsonMethods`]. `K` says what type it has.
#[derive(Debug)]
pub struct JsonPart<E, K> {
    expr: E,
    function: JoinFunction,
    path: String,
    /// A JSON text, or NaN for a value that serde cannot serialize.
    value: Option<Value<'static>>,
    kind: PhantomData<fn() -> K>,
}

impl<E: Clone, K> Clone for JsonPart<E, K> {
    fn clone(&self) -> Self {
        let (path, value) = (self.path.clone(), self.value.clone());
        Self { expr: self.expr.clone(), path, value, ..*self }
    }
}

/// A type of field that is a JSON document.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` is no JSON document")]
pub trait JsonField: Field {}

impl<J> JsonField for Json<J> where Self: Field {}
impl<J> JsonField for Option<Json<J>> where Self: Field {}

/// What type a part of a document of the type `V` has.
pub trait JsonKind<V> {
    /// The type.
    type Value: Field;
}

/// A part of the type `P`, or NULL.
#[derive(Clone, Copy, Debug)]
pub struct PartOfType<P>(PhantomData<fn() -> P>);

/// The whole document.
#[derive(Clone, Copy, Debug)]
pub struct WholeDocument;

impl<V: JsonField, P: Field> JsonKind<V> for PartOfType<P> {
    type Value = <OrNull as Nullness>::Of<P>;
}

impl<V: JsonField> JsonKind<V> for WholeDocument {
    type Value = V;
}

impl<L, P, E: JoinPart<L, P>, K: JsonKind<E::Value>> JoinPart<L, P> for JsonPart<E, K> {
    type Value = K::Value;

    fn expr(&self) -> JoinExpr {
        let text = |text: Value<'static>| JoinExpr::Value(text, Type::Text);
        let mut arguments = vec![self.expr.expr(), text(self.path.clone().into())];
        arguments.extend(self.value.clone().map(text));
        JoinExpr::Function(self.function, arguments)
    }
}

/// Rows whose array at a path has an element: [`JsonMethods::has_at`].
#[derive(Clone, Debug)]
pub struct JsonElement<E>(JsonPart<E, PartOfType<bool>>);

impl<L, P, E: JoinPart<L, P, Value: JsonField>> JoinFilter<L, P> for JsonElement<E> {
    fn into_condition(self) -> JoinCondition {
        let truth = JoinExpr::Value(Value::Int(1), Type::Bool);
        JoinCondition::Compare(JoinPart::<L, P>::expr(&self.0), Comparison::Equal, truth)
    }
}

/// Parts of JSON documents, in queries of [expressions](super::ExpressionMethods).
///
/// A path is `$`, the document, with `.name`, `."a name"` and `[0]` after it. A part that the document does not have, or that is
/// of another type, is NULL. SQLite and PostgreSQL calculate parts in their statements; elsewhere Bobak does in this process. A query fails with
/// `Syntax` for a text that is no path, with `Mismatch` for a stored value that is no JSON document, and with `OutOfRange` for
/// a value that serde cannot serialize, such as a map whose keys are no texts.
///
/// ```
/// # use bobak_core::{Column, Json, Record, join::{from, ExpressionMethods, JsonMethods}};
/// # fn example<Event: Record>(data: Column<Event, Json<Vec<i64>>>) {
/// let urgent = from::<Event>()
///     .and(data.integer_at("$.level").gt(3))
///     .and(data.has_at("$.tags", "mail"))
///     .order_by(data.text_at("$.user.name").asc())
///     .select(data.length_at("$.tags"));
/// let later = data.set(data.with_at("$.level", 5));
/// # }
/// ```
pub trait JsonMethods: Sized {
    /// The text at a path.
    #[must_use]
    fn text_at(self, path: impl Into<String>) -> JsonPart<Self, PartOfType<String>> {
        part(self, JoinFunction::JsonText, path.into())
    }

    /// The integer at a path.
    #[must_use]
    fn integer_at(self, path: impl Into<String>) -> JsonPart<Self, PartOfType<i64>> {
        part(self, JoinFunction::JsonInteger, path.into())
    }

    /// The number at a path, as a float.
    #[must_use]
    fn float_at(self, path: impl Into<String>) -> JsonPart<Self, PartOfType<f64>> {
        part(self, JoinFunction::JsonFloat, path.into())
    }

    /// The truth value at a path.
    #[must_use]
    fn truth_at(self, path: impl Into<String>) -> JsonPart<Self, PartOfType<bool>> {
        part(self, JoinFunction::JsonTruth, path.into())
    }

    /// The number of elements of the array at a path.
    #[must_use]
    fn length_at(self, path: impl Into<String>) -> JsonPart<Self, PartOfType<i64>> {
        part(self, JoinFunction::JsonLength, path.into())
    }

    /// Rows whose array at a path has this element: anything that serde serializes.
    #[must_use]
    fn has_at(self, path: impl Into<String>, element: impl Serialize) -> JsonElement<Self> {
        let value = Some(json_text(&element));
        JsonElement(JsonPart { value, ..part(self, JoinFunction::JsonHas, path.into()) })
    }

    /// The document with a value at a path, for updates: an object gets the name if it does not have it, and an array the element
    /// at its end. A document without the object or the array stays as it is. Members of the new document may have another order.
    #[must_use]
    fn with_at(
        self,
        path: impl Into<String>,
        value: impl Serialize,
    ) -> JsonPart<Self, WholeDocument> {
        let value = Some(json_text(&value));
        JsonPart { value, ..part(self, JoinFunction::JsonWith, path.into()) }
    }
}

impl<T, V> JsonMethods for Column<T, V> {}
impl<E> JsonMethods for JsonPart<E, WholeDocument> {}

fn json_text(value: &impl Serialize) -> Value<'static> {
    serde_json::to_string(value).map_or(Value::UNSTORABLE, Value::from)
}

const fn part<E, K>(expr: E, function: JoinFunction, path: String) -> JsonPart<E, K> {
    JsonPart { expr, function, path, value: None, kind: PhantomData }
}

impl JoinFunction {
    /// Whether it is of a JSON document and a path.
    #[must_use]
    pub const fn is_of_json(self) -> bool {
        matches!(
            self,
            Self::JsonText
                | Self::JsonInteger
                | Self::JsonFloat
                | Self::JsonTruth
                | Self::JsonLength
                | Self::JsonHas
                | Self::JsonWith
        )
    }

    /// The type of a function of JSON.
    pub(super) const fn json_type(self) -> Type {
        match self {
            Self::JsonInteger | Self::JsonLength => Type::I64,
            Self::JsonFloat => Type::F64,
            Self::JsonTruth | Self::JsonHas => Type::Bool,
            Self::JsonWith => Type::Json,
            _ => Type::Text,
        }
    }

    /// The value of a function of JSON, of a document, a path, and for some a value as JSON text.
    ///
    /// # Errors
    /// `Mismatch` for a text that is no JSON document; `Syntax` for one that is no path.
    pub fn of_json(self, arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
        let text = |place: usize| match arguments.get(place) {
            Some(ValueRef::Text(text)) => Ok(*text),
            other => Err(Error::mismatch("a JSON document", other.copied().unwrap_or_default())),
        };
        let (mut document, path) = (parsed(text(0)?)?, JsonPath::parse(text(1)?)?);
        match self {
            Self::JsonWith => {
                replace(&mut document, path.steps(), parsed(text(2)?)?);
                return Ok(document.to_string().into());
            }
            Self::JsonHas => {
                let (found, element) = (path.find(&document), parsed(text(2)?)?);
                let array = found.and_then(Document::as_array);
                let has = array.map(|array| array.contains(&element));
                return Ok(has.map_or(Value::Null, |has| Value::Int(has.into())));
            }
            _ => {}
        }
        Ok(path.find(&document).and_then(|found| self.of_part(found)).unwrap_or_default())
    }

    fn of_part(self, found: &Document) -> Option<Value<'static>> {
        match self {
            Self::JsonText => found.as_str().map(|text| Value::from(text.to_owned())),
            Self::JsonInteger => found.as_i64().map(Value::Int),
            Self::JsonFloat => found.as_f64().map(Value::Float),
            Self::JsonTruth => found.as_bool().map(|truth| Value::Int(truth.into())),
            _ => {
                let length = found.as_array().and_then(|array| i64::try_from(array.len()).ok());
                length.map(Value::Int)
            }
        }
    }

    /// Checks the path and the value of a function of JSON.
    pub(super) fn check_json(self, arguments: &[JoinExpr]) -> Result<()> {
        if !self.is_of_json() {
            return Ok(());
        }
        let mut values = arguments.iter().skip(1).map(|argument| match argument {
            JoinExpr::Value(Value::Text(text), _) => Ok(&**text),
            JoinExpr::Value(value, _) => {
                Error::check_storable(value.as_ref()).and_then(|()| Err(wrong_path("")))
            }
            _ => Err(wrong_path("")),
        });
        JsonPath::parse(values.next().unwrap_or_else(|| Err(wrong_path("")))?)?;
        for value in values {
            parsed(value?)?;
        }
        Ok(())
    }
}

fn parsed(text: &str) -> Result<Document> {
    serde_json::from_str(text).map_err(|error| {
        Error::new(ErrorKind::Mismatch, "the value is not a JSON document").with_source(error)
    })
}

fn replace(document: &mut Document, path: &[JsonPathStep<'_>], value: Document) {
    let Some((last, before)) = path.split_last() else {
        *document = value;
        return;
    };
    let found = before.iter().try_fold(document, |inner, step| match step {
        JsonPathStep::Name(name) => inner.get_mut(*name),
        JsonPathStep::Place(place) => inner.get_mut(*place),
    });
    match (found, last) {
        (Some(Document::Object(members)), JsonPathStep::Name(name)) => {
            members.insert((*name).to_owned(), value);
        }
        (Some(Document::Array(elements)), JsonPathStep::Place(place)) => {
            if let Some(element) = elements.get_mut(*place) {
                *element = value;
            } else if *place == elements.len() {
                elements.push(value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a":{"b c":[1,2.5,"x",true]},"n":9223372036854775808,"i":7}"#;

    fn of(function: JoinFunction, path: &str, value: &str) -> Result<Value<'static>> {
        function.of_json(&[TEXT, path, value].map(ValueRef::Text))
    }

    #[test]
    fn parts_of_documents() {
        use JoinFunction::{JsonFloat, JsonHas, JsonInteger, JsonLength, JsonText, JsonTruth};
        for (function, path, expected) in [
            (JsonText, "$.a.\"b c\"[2]", Value::from("x")),
            (JsonText, "$.i", Value::Null),
            (JsonInteger, "$.i", Value::Int(7)),
            (JsonInteger, "$.n", Value::Null),
            (JsonFloat, "$.a.\"b c\"[1]", Value::Float(2.5)),
            (JsonFloat, "$.i", Value::Float(7.0)),
            (JsonTruth, "$.a.\"b c\"[3]", Value::Int(1)),
            (JsonLength, "$.a.\"b c\"", Value::Int(4)),
            (JsonLength, "$.a", Value::Null),
            (JsonText, "$.a.nosuch.b", Value::Null),
            (JsonHas, "$.a.\"b c\"", Value::Int(0)),
        ] {
            assert_eq!(of(function, path, "7").unwrap(), expected, "{function:?} {path}");
        }
        assert_eq!(of(JsonHas, "$.a.\"b c\"", "\"x\"").unwrap(), Value::Int(1));
    }

    #[test]
    fn documents_with_values() {
        let with = |path: &str, value: &str| match of(JoinFunction::JsonWith, path, value) {
            Ok(Value::Text(text)) => text.into_owned(),
            other => panic!("{other:?}"),
        };
        assert!(with("$.i", "[1]").contains(r#""i":[1]"#));
        assert!(with("$.a.\"b c\"[4]", "null").contains("true,null]"));
        assert_eq!(with("$.x.y", "1").len(), TEXT.len());
        assert_eq!(with("$", "1"), "1");
    }

    #[test]
    fn wrong_paths_and_documents() {
        for path in ["", "a", "$a", "$.", "$[x]", "$.a[", "$..a", "$.a b", "$[-1]", "$[+1]"] {
            let error = of(JoinFunction::JsonText, path, "").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Syntax, "{path}");
        }
        let error = JoinFunction::JsonText.of_json(&["{", "$.a"].map(ValueRef::Text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
    }
}
