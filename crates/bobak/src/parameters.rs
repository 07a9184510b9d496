//! The parameters of SQL text.

use bobak_core::{IntoStored, Parameter, Result, SqlArgument, SqlArguments, Value};
use std::borrow::Cow;

/// The values of the parameters of SQL text: a tuple of up to twelve fields, `&str`s and [lists](SqlList), an array, a slice or
/// vector of [`Value`]s or [`Parameter`]s, or `()` for none; or values [by name](NamedParameters).
///
/// Values by position stand for `?` in the text, those by name for `:name`. Each value keeps its type: a
/// [`Currency`](bobak_core::Currency) is an amount in SQL, and a [`Date`](bobak_core::Date) a date. A [`Value`] has no type: its
/// integers are plain numbers.
pub trait Parameters {
    /// The values.
    ///
    /// # Errors
    /// As [`Field::to_value`](bobak_core::Field::to_value).
    fn into_arguments(self) -> Result<SqlArguments<'static>>;
}

impl Parameters for SqlArguments<'static> {
    fn into_arguments(self) -> Result<Self> {
        Ok(self)
    }
}

impl Parameters for () {
    fn into_arguments(self) -> Result<SqlArguments<'static>> {
        Ok(SqlArguments::Positional(Vec::new()))
    }
}

impl Parameters for Vec<Parameter<'static>> {
    fn into_arguments(self) -> Result<SqlArguments<'static>> {
        Ok(SqlArguments::of(self))
    }
}

impl Parameters for Vec<Value<'static>> {
    fn into_arguments(self) -> Result<SqlArguments<'static>> {
        Ok(SqlArguments::of(self.into_iter().map(Parameter::from).collect()))
    }
}

impl Parameters for &[Value<'_>] {
    fn into_arguments(self) -> Result<SqlArguments<'static>> {
        let owned = |value: &Value<'_>| Parameter::from(value).into_owned();
        Ok(SqlArguments::of(self.iter().map(owned).collect()))
    }
}

impl<V: IntoStored, const N: usize> Parameters for [V; N] {
    fn into_arguments(self) -> Result<SqlArguments<'static>> {
        let values: Result<_> = self.into_iter().map(IntoStored::into_parameter).collect();
        values.map(SqlArguments::of)
    }
}

/// The value of one parameter of SQL text: a field, a `&str`, or a [list](SqlList).
pub trait IntoArgument {
    /// The value or the list.
    ///
    /// # Errors
    /// As [`Field::to_value`](bobak_core::Field::to_value).
    fn into_argument(self) -> Result<SqlArgument<'static>>;
}

impl<V: IntoStored> IntoArgument for V {
    fn into_argument(self) -> Result<SqlArgument<'static>> {
        self.into_parameter().map(SqlArgument::Value)
    }
}

/// A list of values for `IN (?)` in SQL text: as many parameters as the list has values.
///
/// The list may be empty: `IN` is false then, and `NOT IN` true.
///
/// ```
/// use bobak::{SqlList, prelude::*};
/// # #[derive(Record)] struct City { id: i64, name: String }
/// # let db = Db::builder().record::<City>().open("sqlite::memory:")?;
/// # db.create_missing_tables()?;
/// # for name in ["Bern", "Basel", "Chur"] { db.table()?.insert(&City { id: 0, name: name.into() })?; }
/// let names: Vec<String> =
///     db.sql("SELECT name FROM city WHERE id IN (?) AND name <> ? ORDER BY id", (SqlList([1, 3]), "Bern"))?;
/// assert_eq!(names, ["Chur"]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqlList<I>(pub I);

impl<I: IntoIterator<Item: IntoStored>> IntoArgument for SqlList<I> {
    fn into_argument(self) -> Result<SqlArgument<'static>> {
        self.0
            .into_iter()
            .map(IntoStored::into_parameter)
            .collect::<Result<_>>()
            .map(SqlArgument::List)
    }
}

/// Values for the parameters `:name` of SQL text, made by [`named!`](crate::named), or one after the other.
///
/// ```
/// use bobak::{NamedParameters, prelude::*};
/// let db = Db::open("sqlite::memory:")?;
/// let mut values = NamedParameters::new().with("a", 20);
/// values = values.with("b", 3);
/// assert_eq!(db.sql::<i64>("SELECT :a + :b + :b", values)?, [26]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct NamedParameters(Result<Vec<(Cow<'static, str>, SqlArgument<'static>)>>);

impl NamedParameters {
    /// No values.
    pub const fn new() -> Self {
        Self(Ok(Vec::new()))
    }

    /// The same with one more value. The name is without the colon. What is wrong with a value is an error where the values are
    /// used.
    pub fn with(self, name: impl Into<Cow<'static, str>>, value: impl IntoArgument) -> Self {
        Self(self.0.and_then(|mut values| {
            values.push((name.into(), value.into_argument()?));
            Ok(values)
        }))
    }

    /// Panics if a name is given twice. [`named!`](crate::named) calls it while it is compiled.
    #[doc(hidden)]
    pub const fn check_names(mut names: &[&str]) {
        while let [name, others @ ..] = names {
            names = others;
            let mut others = others;
            while let [other, rest @ ..] = others {
                assert!(!is_same(name.as_bytes(), other.as_bytes()), "a name is given twice");
                others = rest;
            }
        }
    }
}

const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([one, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        if *one != *other {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

impl Default for NamedParameters {
    fn default() -> Self {
        Self::new()
    }
}

impl Parameters for NamedParameters {
    fn into_arguments(self) -> Result<SqlArguments<'static>> {
        self.0.map(SqlArguments::Named)
    }
}

/// Values for the parameters `:name` of SQL text. A name alone stands for the variable with this name. A name that is given twice
/// does not compile:
///
/// ```compile_fail,E0080
/// let _ = bobak::named! { city: "Bern", city: "Basel" };
/// ```
///
/// ```
/// use bobak::{SqlList, named, prelude::*};
/// # #[derive(Record)] struct Person { id: i64, name: String, city: String, born: i32 }
/// # let db = Db::builder().record::<Person>().open("sqlite::memory:")?;
/// # db.create_missing_tables()?;
/// # db.table()?.insert(&Person { id: 0, name: "Ada".into(), city: "Bern".into(), born: 1999 })?;
/// let city = "Bern";
/// let names: Vec<String> = db.sql(
///     "SELECT name FROM person WHERE (city = :city OR :city = 'any') AND born IN (:years)",
///     named! { city, years: SqlList(1990..2000) },
/// )?;
/// assert_eq!(names, ["Ada"]);
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! named {
    (@value $name:ident) => { $name };
    (@value $name:ident, $value:expr) => { $value };
    ($($name:ident $(: $value:expr)?),* $(,)?) => {
        {
            const { $crate::NamedParameters::check_names(&[$(stringify!($name)),*]) }
            $crate::NamedParameters::new()
                $(.with(stringify!($name), $crate::named!(@value $name $(, $value)?)))*
        }
    };
}

macro_rules! tuple_parameters {
    ($($p:ident $i:tt),+) => {
        impl<$($p: IntoArgument),+> Parameters for ($($p,)+) {
            fn into_arguments(self) -> Result<SqlArguments<'static>> {
                Ok(SqlArguments::Positional(vec![$(self.$i.into_argument()?),+]))
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
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
