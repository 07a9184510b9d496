//! The parameters of SQL text.

use bobak_core::{IntoStored, Result, Value};

/// The values of the `?` parameters of SQL text: a tuple of up to eight fields or `&str`s, an array, a slice or vector of
/// [`Value`]s, or `()` for none.
pub trait Parameters {
    /// The values, in order.
    ///
    /// # Errors
    /// As [`Field::to_value`](bobak_core::Field::to_value).
    fn into_values(self) -> Result<Vec<Value<'static>>>;
}

impl Parameters for () {
    fn into_values(self) -> Result<Vec<Value<'static>>> {
        Ok(Vec::new())
    }
}

impl Parameters for Vec<Value<'static>> {
    fn into_values(self) -> Result<Self> {
        Ok(self)
    }
}

impl Parameters for &[Value<'_>] {
    fn into_values(self) -> Result<Vec<Value<'static>>> {
        Ok(self.iter().map(|value| value.clone().into_owned()).collect())
    }
}

impl<V: IntoStored, const N: usize> Parameters for [V; N] {
    fn into_values(self) -> Result<Vec<Value<'static>>> {
        self.into_iter().map(IntoStored::into_stored).collect()
    }
}

macro_rules! tuple_parameters {
    ($($p:ident $i:tt),+) => {
        impl<$($p: IntoStored),+> Parameters for ($($p,)+) {
            fn into_values(self) -> Result<Vec<Value<'static>>> {
                Ok(vec![$(self.$i.into_stored()?),+])
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
