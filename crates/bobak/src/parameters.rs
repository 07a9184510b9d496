//! The parameters of SQL text.

use bobak_core::{IntoStored, Parameter, Result, Value};

/// The values of the `?` parameters of SQL text: a tuple of up to eight fields or `&str`s, an array, a slice or vector of
/// [`Value`]s or [`Parameter`]s, or `()` for none.
///
/// Each value keeps its type: a [`Currency`](bobak_core::Currency) is an amount in SQL, and a
/// [`Date`](bobak_core::Date) a date. A [`Value`] has no type: its integers are plain numbers.
pub trait Parameters {
    /// The parameters, in order.
    ///
    /// # Errors
    /// As [`Field::to_value`](bobak_core::Field::to_value).
    fn into_parameters(self) -> Result<Vec<Parameter<'static>>>;
}

impl Parameters for () {
    fn into_parameters(self) -> Result<Vec<Parameter<'static>>> {
        Ok(Vec::new())
    }
}

impl Parameters for Vec<Parameter<'static>> {
    fn into_parameters(self) -> Result<Self> {
        Ok(self)
    }
}

impl Parameters for Vec<Value<'static>> {
    fn into_parameters(self) -> Result<Vec<Parameter<'static>>> {
        Ok(self.into_iter().map(Parameter::from).collect())
    }
}

impl Parameters for &[Value<'_>] {
    fn into_parameters(self) -> Result<Vec<Parameter<'static>>> {
        Ok(self.iter().map(|value| Parameter::from(value).into_owned()).collect())
    }
}

impl<V: IntoStored, const N: usize> Parameters for [V; N] {
    fn into_parameters(self) -> Result<Vec<Parameter<'static>>> {
        self.into_iter().map(IntoStored::into_parameter).collect()
    }
}

macro_rules! tuple_parameters {
    ($($p:ident $i:tt),+) => {
        impl<$($p: IntoStored),+> Parameters for ($($p,)+) {
            fn into_parameters(self) -> Result<Vec<Parameter<'static>>> {
                Ok(vec![$(self.$i.into_parameter()?),+])
            }
        }
    };
}
tuple_parameters!(A 0);
tuple_parameters!(A 0, B 1);
tuple_parameters!(A 0, B 1, C 2);
tuple_parameters!(A 0, B 1, C 2, D 3);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
