//! The derive macros of Bobak: [`Record`](macro@Record), [`FromRow`](macro@FromRow), [`Field`](macro@Field) and
//! [`Shape`](macro@Shape). Use them from the crate `bobak`, which also has the traits.
//!
//! Every mistake in the attributes is reported at once, at its location, with what to write instead.
//! The expansion is data and thin calls: about a hundred lines for a record of four fields.
//!
//! There are three steps: `attr` reads attributes, the `RecordAst` of `record::ast` puts them
//! together, `record::check` looks for mistakes; only a table without any reaches
//! `record::expand`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod any_reference;
mod attr;
mod errors;
mod field;
mod migrations;
mod names;
mod record;
mod row;
mod shape;
mod types;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct with named fields a record: the rows of one table.
///
/// ```
/// # mod bobak { pub use bobak_core::*; pub use bobak_derive::*;
/// #     pub mod types { pub use bobak_core::*; }
/// #     pub mod __private { pub use bobak_core::*; pub use std::sync::Arc; } }
/// # fn main() {
/// # use bobak_core::Value;
/// use bobak::Record;
/// use bobak::types::Timestamp;
///
/// #[derive(Record)]
/// # #[record(crate = "crate::bobak")]
/// #[record(table = "people", index(last_name, first_name))]
/// struct Person {
///     id: i64,
///     #[record(max = 40)]
///     first_name: String,
///     #[record(max = 40, collation = "unicode_nocase")]
///     last_name: String,
///     #[record(unique, check = "email like '%@%'")]
///     email: Option<String>,
///     #[record(references = Person, on_delete = "set_null")]
///     boss: Option<i64>,
///     #[record(created_at)]
///     created: Timestamp,
/// }
///
/// let adas = bobak::Query::filter(Person::FIRST_NAME.eq("Ada"));
/// # let table = Person::schema();
/// # assert_eq!((table.name(), table.columns().len(), table.indexes().len()), ("people", 6, 2));
/// # }
/// ```
///
/// It implements `Record` and `FromRow`, so a struct derives one or the other, not both. For each
/// stored field it makes a constant, a typed `Column` with the field's name in capitals
/// (`Person::FIRST_NAME`) and the field's visibility.
///
/// A column is NOT NULL unless its field is an `Option`.
///
/// # On the struct
///
/// | attribute | meaning | default |
/// |---|---|---|
/// | `table = "people"` | the table's name | the struct's, in snake case |
/// | `index(a, b)` | an index over these fields, in this order; may be repeated | none |
/// | `index(a, b, unique)` | no two rows agree in all of these fields | not unique |
/// | `index(a, b, name = "x")` | the index's name | table and columns: `people_a_b` |
/// | `renamed_from = "person"` | the table's former name, by which a migration finds it | none |
/// | `foreign_key(a, b, references = Order(shop, number))` | a foreign key of these fields to those of this record, `Self` included, in this order; makes a relation (see `ToOne`): `ORDER`, or `ORDER_REF` if a field has that constant; may be repeated; with `on_delete`, `on_update` and `deferred`, as on a field | none |
/// | `foreign_key(…, relation = NAME)` | the name of the relation's constant | see above |
/// | `foreign_key(a, b, references = "order(shop, number)")` | the same, for a table and its columns, without a relation | none |
/// | `never_reuse_keys` | the engine makes no key again that a deleted row had (`AUTOINCREMENT` in SQLite): for a key that is an `i64` which the engine makes | SQLite, the memory and the key-value engine make the largest key of the table plus one |
/// | `view` | the table is a view of the database: its rows can be read, and writing them is `Unsupported`. It is never created, and needs no key | a table |
/// | `validate = path::to::function` | a `fn(&Person, &mut Violations)` that checks whole records; may be repeated | none |
/// | `crate = "path"` | where the crate `bobak` is, when it was renamed | `::bobak` |
///
/// A field that is itself called `unique` is written `r#unique` in an index. Clippy takes a field
/// in two indexes, and `unique` in two, for a slip: `#[allow(clippy::duplicated_attributes)]`
/// tells it otherwise.
///
/// # On a field
///
/// | attribute | meaning | default |
/// |---|---|---|
/// | `key` | part of the key: one field, or 2 to 8, whose key is a tuple in field order | the field `id` |
/// | `key = "given"` | the same, and 0 and the nil UUID are keys like others | the engine gives an `i64` that is 0, Bobak a `Uuid` that is nil |
/// | `column = "name"` | the column's name | the field's |
/// | `renamed_from = "name"` | the column's former name, by which a migration finds it | none |
/// | `max = 40` | the most characters of a text, 1 to 4,294,967,295; checked before anything is sent | no limit |
/// | `unique` | no two rows have the same value; NULLs are never the same | they may |
/// | `index` | an index over this field alone | none |
/// | `default = 0` | what rows get that do not name the column: a boolean, number or text, as the type has it; of `Currency` only 0 | none |
/// | `created_at` | a `Timestamp`: Bobak writes the time of the insert | |
/// | `modified_at` | a `Timestamp`: Bobak writes the time of each write; rows of a batch have the time at which they were sent | |
/// | `version` | an `i64`: each update checks it, and raises it by one | |
/// | `skip` | not stored; `Default::default()` in a record that is read, untouched in one that is read into | stored |
/// | `collation = "binary"` | how texts compare: `"binary"`, `"nocase"` (A–Z as a–z) or `"unicode_nocase"` | `"binary"` |
/// | `check = "amount >= 0"` | a rule in SQL that each row keeps | none |
/// | `generated = "price * quantity"` | the engine computes the field from others of the row, in the language of `check`: what a record has in it is ignored when it is written | written |
/// | `references = Airline` | the value is the key of a row of this record, `Self` included; makes a relation (see `ToOne`): `AIRLINE` of a field `airline_id`, `AIRLINE_REF` of a field `airline` | none |
/// | `references = "airline(code)"` | the same, for a table and its column | none |
/// | `on_delete = "restrict"` | what a delete of that row does: `"restrict"` rejects it, `"cascade"` deletes this row too, `"set_null"` makes the field NULL, `"no_action"` rejects it if the row is still referenced at the end of the statement | `"restrict"`; with `deferred`: `"no_action"` |
/// | `on_update = "no_action"` | what an update of the referenced value does: `"no_action"` and `"restrict"` reject it, `"cascade"` changes the field too, `"set_null"` makes it NULL | `"no_action"` |
/// | `deferred` | the foreign key is checked at the commit, not after each statement: also when a referenced row is deleted | |
/// | `any` | an enum with `#[derive(AnyReference)]`, or an `Option` of one: the name of a table and a key in two columns, with an index over both | |
/// | `store = "text"` | dates, times and UUIDs are kept as text | in their short form |
/// | `encrypted` | the value is stored encrypted; the column is then an `EncryptedColumn`, which is not compared. Needs the feature `field-encryption` and keys | as it is |
/// | `encrypted(searchable)` | the same, but equal values are stored as equal bytes: they can be found by equality, and be unique | different bytes |
/// | `encrypted(context = "t.c")` | what a stored value is bound to: set it to the old names if you rename the table or the column | the names of table and column |
/// | `trim`, `lowercase`, `uppercase` | the text is normalized so before it is checked and written | as it is |
/// | `normalize = path::to::function` | a `fn(T) -> T` that replaces the value; may be repeated | none |
/// | `length = 1..=80` | the least and the largest number of characters of a text, after normalization, or of bytes of a `Vec<u8>`; also `1..` and `..=80` | any |
/// | `range = 0..=100` | the values that are valid, of any type with `PartialOrd` and `Display` | any |
/// | `email` | an e-mail address, as the HTML standard defines them | any text |
/// | `pattern = "[a-z]+"` | a regular expression that matches the whole text; needs the feature `pattern` | any text |
/// | `validate = path::to::function` | a `fn(&T) -> Result<(), E>`, where `E` displays as `must be even`; may be repeated | none |
///
/// The last seven rows are rules: NULL satisfies them, a database must know the record when it is opened, and all that a row
/// violates is one error, of the kind `Invalid`. `T` is the field's type, without `Option`.
///
/// What cannot be is rejected when the program is compiled: two columns of one name (letter case
/// does not count), no key or one that may be NULL, an attribute on a field whose type it does not
/// fit, `set_null` on a field that is no `Option`, more than 256 columns, and so on.
///
/// ```compile_fail
/// # mod bobak { pub use bobak_core::*; pub use bobak_derive::*;
/// #     pub mod types { pub use bobak_core::*; }
/// #     pub mod __private { pub use bobak_core::*; pub use std::sync::Arc; } }
/// # fn main() {}
/// #[derive(bobak::Record)]
/// # #[record(crate = "crate::bobak")]
/// struct Person {
///     id: Option<i64>, // error: a key is never NULL: remove the Option
///     #[record(max = 3)] // error: `max` counts the characters of a text: remove it here
///     age: u8,
/// }
/// ```
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    record::derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// Reads the rows of a query into a struct.
///
/// A struct with named fields takes its columns by name, a tuple struct by place. (Records have it
/// already, by `#[derive(Record)]`.)
///
/// ```
/// # mod bobak { pub use bobak_core::*; pub use bobak_derive::*;
/// #     pub mod types { pub use bobak_core::*; }
/// #     pub mod __private { pub use bobak_core::*; pub use std::sync::Arc; } }
/// # fn main() -> bobak::Result<()> {
/// use bobak::{FromRow, Value};
///
/// #[derive(FromRow)]
/// # #[row(crate = "crate::bobak")]
/// struct Name {
///     #[row(column = "first_name")]
///     first: String,
///     last: Option<String>,
///     #[row(skip)]
///     seen: bool,
/// }
///
/// #[derive(FromRow)]
/// # #[row(crate = "crate::bobak")]
/// struct Delay(String, f64);
///
/// let row = [Value::from("UA"), Value::from(12.5)];
/// let delay = Delay::from_row(&row.as_slice())?;
/// assert_eq!((delay.0.as_str(), delay.1), ("UA", 12.5));
/// # Ok(())
/// # }
/// ```
///
/// | attribute | on | meaning | default |
/// |---|---|---|---|
/// | `column = "name"` | a named field | the column that it is read from | the field's name |
/// | `skip` | a field | not read: `Default::default()` | read |
/// | `renamed_from = "person"` | the table's former name, by which a migration finds it | none |
/// | `crate = "path"` | the struct | where the crate `bobak` is, when it was renamed | `::bobak` |
#[proc_macro_derive(FromRow, attributes(row))]
pub fn derive_from_row(input: TokenStream) -> TokenStream {
    row::derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// Lets a record have fields of an enum without data, or of a newtype.
///
/// ```
/// # mod bobak { pub use bobak_core::*; pub use bobak_derive::*;
/// #     pub mod types { pub use bobak_core::*; }
/// #     pub mod __private { pub use bobak_core::*; pub use std::sync::Arc; } }
/// # fn main() -> bobak::Result<()> {
/// use bobak::{Field, Value};
///
/// #[derive(Field)]
/// # #[field(crate = "crate::bobak")]
/// #[field(store = "text", rename_all = "snake_case")]
/// enum Status {
///     OnTime,
///     #[field(rename = "late")]
///     Delayed,
/// }
///
/// #[derive(Field)]
/// # #[field(crate = "crate::bobak")]
/// #[field(store = "integer")]
/// enum Engines {
///     One = 1,
///     Two,
///     Four = 4,
/// }
///
/// #[derive(Field)]
/// # #[field(crate = "crate::bobak")]
/// struct Email(String);
///
/// assert_eq!(Status::OnTime.to_value()?, Value::from("on_time"));
/// assert_eq!(Engines::Two.to_value()?, Value::Int(2));
/// assert_eq!(Email("a@b.c".to_owned()).to_value()?, Value::from("a@b.c"));
/// # Ok(())
/// # }
/// ```
///
/// An enum must say how it is stored. A stored value that no variant has is a `Mismatch`, which
/// names it and those allowed. One that is stored as integers from 0 to 62 gets `SetMember`, too, for fields of the type `EnumSet`. A newtype, a tuple struct of one field, is stored as that field is.
///
/// | attribute | on | meaning | default |
/// |---|---|---|---|
/// | `store = "text"` | an enum | the variants' names are stored | must be said |
/// | `store = "integer"` | an enum | the variants' numbers are stored, as 64-bit integers: literals, or counted on as the compiler does | must be said |
/// | `rename_all = "snake_case"` | an enum stored as text | the names' case: `"snake_case"`, `"SCREAMING_SNAKE_CASE"`, `"kebab-case"`, `"SCREAMING-KEBAB-CASE"`, `"lowercase"`, `"UPPERCASE"`, `"camelCase"`, `"PascalCase"` | as written |
/// | `rename = "name"` | a variant stored as text | the text stored | its name in that case |
/// | `renamed_from = "person"` | the table's former name, by which a migration finds it | none |
/// | `crate = "path"` | either | where the crate `bobak` is, when it was renamed | `::bobak` |
#[proc_macro_derive(Field, attributes(field))]
pub fn derive_field(input: TokenStream) -> TokenStream {
    field::derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// Lets a record refer to a record of any of several types.
///
/// The enum has a variant for each record type, which holds its key; all keys have one type. A field of the enum, or of an
/// `Option` of it, has the attribute `#[record(any)]`, and two columns: `target_table` and `target_key` of a field `target`.
///
/// | attribute | on | meaning | default |
/// |---|---|---|---|
/// | `record = path::Article` | a variant | the record type | the type with the variant's name |
/// | `crate = "path"` | the enum | where the crate `bobak` is, when it was renamed | `::bobak` |
#[proc_macro_derive(AnyReference, attributes(any))]
pub fn derive_any_reference(input: TokenStream) -> TokenStream {
    any_reference::derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// Makes a struct a shape: some fields of a record, and related records with them.
///
/// Each field holds a column of the record of the same name, unless an attribute says otherwise. See the trait `Shape` of
/// the crate `bobak` for an example.
///
/// | attribute | on | meaning | default |
/// |---|---|---|---|
/// | `of = Order` | the struct | the record | must be given |
/// | `with(me: i64)` | the struct | parameters, which filters name; `Table::load` takes a reference to the value, or to a tuple | none |
/// | `crate = "path"` | the struct | where the crate `bobak` is, when it was renamed | `::bobak` |
/// | `column = Order::PLACED` | a field | the column that it holds | the one with the field's name |
/// | `one = Order::CUSTOMER` | a field | the related record, as a shape or a record; an `Option` if there may be none | |
/// | `many = Order::LINES` | a field, a `Vec` | the related records, as shapes or records | |
/// | `select = Tag::NAME` | with `many` | this column of the related records instead of shapes | |
/// | `count = Order::LINES` | a field, a `u64` | the number of related records | |
/// | `exists = Order::LINES` | a field, a `bool` | whether there is a related record | |
/// | `filter = Line::PRICE.gt(0)` | with a relation | which related records | all |
/// | `order_by = Line::ID.asc()` | with `one` or `many`; may be repeated | their order | by key |
/// | `limit = 10` | with `one` or `many` | the most related records of each record | no limit |
/// | `with = me` | with `one` or `many` | the parameters of the shape of the related records | `()` |
#[proc_macro_derive(Shape, attributes(shape))]
pub fn derive_shape(input: TokenStream) -> TokenStream {
    shape::derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// The migrations of a folder as part of the program: a `Result` of `Migrations`, for `db.migrate`.
///
/// The folder is relative to the package's; `migrations!()` means `migrations!("migrations")`. The compiler reports a
/// folder without migrations, two that follow the same one, and one that follows none of them. `Migrations::new` reports
/// mistakes in the steps.
///
/// Cargo does not notice a new file by itself. In `build.rs`:
///
/// ```
/// println!("cargo::rerun-if-changed=migrations");
/// ```
#[proc_macro]
pub fn migrations(folder: TokenStream) -> TokenStream {
    let folder = if folder.is_empty() { quote::quote!("migrations").into() } else { folder };
    migrations::expand(&parse_macro_input!(folder as syn::LitStr)).into()
}
