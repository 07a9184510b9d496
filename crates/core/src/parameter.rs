//! The parameters of SQL statements.

use crate::{Field, Result, Type, Value};

/// A parameter of an SQL statement: a value, and what it means.
///
/// A [`Currency`](crate::Currency) and an `i64` are both integers; only the type says that the first one
/// is an amount. Each engine sends a parameter in the form that its SQL has for the type.
///
/// ```
/// use bobak_core::{Currency, Parameter, Type, Value};
/// let price: Currency = "5.00".parse()?;
/// let parameter = Parameter::of(price)?;
/// assert_eq!((parameter.value, parameter.ty), (Value::Int(50_000), Type::Currency));
/// assert_eq!(Parameter::from(Value::Int(5)).ty, Type::Any);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<'a> {
    /// The value, in the stored form of the type.
    pub value: Value<'a>,
    /// The type; `Any` if the value is what it is: a number, a text, bytes.
    pub ty: Type,
}

impl Parameter<'static> {
    /// A Rust value, with the type that its fields have.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    pub fn of(value: impl IntoStored) -> Result<Self> {
        value.into_parameter()
    }
}

impl<'a> Parameter<'a> {
    /// A value in the stored form of a type.
    #[must_use]
    pub const fn new(value: Value<'a>, ty: Type) -> Self {
        Self { value, ty }
    }

    /// The values of parameters, borrowed.
    #[must_use]
    pub fn values(parameters: &[Self]) -> Vec<Value<'_>> {
        parameters.iter().map(|parameter| Value::from(parameter.value.as_ref())).collect()
    }

    /// The types of parameters.
    #[must_use]
    pub fn types(parameters: &[Self]) -> Vec<Type> {
        parameters.iter().map(|parameter| parameter.ty).collect()
    }

    /// The same parameter without borrows.
    #[must_use]
    pub fn into_owned(self) -> Parameter<'static> {
        Parameter { value: self.value.into_owned(), ty: self.ty }
    }
}

/// A value without a type: a number, a text, or bytes.
impl<'a, V> From<V> for Parameter<'a>
where
    Value<'a>: From<V>,
{
    fn from(value: V) -> Self {
        Self::new(value.into(), Type::Any)
    }
}

/// A borrowed value without a type.
impl<'a> From<&'a Value<'_>> for Parameter<'a> {
    fn from(value: &'a Value<'_>) -> Self {
        Self::from(value.as_ref())
    }
}

/// What SQL parameters and [`DynRow::set`](crate::DynRow::set) take: any [`Field`], and `&str`.
pub trait IntoStored: Sized {
    /// The value.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    fn into_stored(self) -> Result<Value<'static>> {
        self.into_parameter().map(|parameter| parameter.value)
    }

    /// The value with its type.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    fn into_parameter(self) -> Result<Parameter<'static>>;
}

impl<V: Field> IntoStored for V {
    fn into_parameter(self) -> Result<Parameter<'static>> {
        Ok(Parameter::new(self.to_value()?.into_owned(), V::TYPE))
    }
}

impl IntoStored for &str {
    fn into_parameter(self) -> Result<Parameter<'static>> {
        Ok(Parameter::new(Value::from(self).into_owned(), Type::Text))
    }
}
