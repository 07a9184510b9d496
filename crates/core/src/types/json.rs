//! JSON documents in a column.

use crate::{Error, ErrorKind, Field, Result, Type, Value, ValueRef};
use serde_core::de::{DeserializeOwned, IgnoredAny};
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

/// A document stored as JSON text: any type that serde can serialize and deserialize.
///
/// ```
/// use bobak_core::{Field, Json};
/// let tags = Json(vec!["a".to_owned(), "b".to_owned()]);
/// let value = tags.to_value()?;
/// assert_eq!(value, r#"["a","b"]"#.into());
/// assert_eq!(Json::<Vec<String>>::from_value(value.as_ref())?, tags);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Json<T>(pub T);

/// Whether the text is a JSON document.
#[must_use]
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl<T: Serialize + DeserializeOwned> Field for Json<T> {
    const TYPE: Type = Type::Json;

    fn to_value(&self) -> Result<Value<'_>> {
        serde_json::to_string(&self.0).map(Value::from).map_err(|error| {
            Error::new(ErrorKind::Mismatch, format!("the document has no JSON form: {error}"))
                .with_source(error)
        })
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let ValueRef::Text(text) = value else {
            return Err(crate::Error::mismatch("JSON text", value));
        };
        serde_json::from_str(text).map(Json).map_err(|error| {
            Error::new(ErrorKind::Mismatch, format!("not the JSON that the field expects: {error}"))
                .with_source(error)
        })
    }
}

/// The document itself, also in records that serde serializes.
impl<T: Serialize> Serialize for Json<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_exactly() {
        for float in [31.245_270_191_439_438, 121.487_919_511_619_45, 5e-324, f64::MAX] {
            let stored = Json(float);
            let read = Json::<f64>::from_value(stored.to_value().unwrap().as_ref()).unwrap();
            assert_eq!(read, stored);
        }
    }
}
