//! Shapes: structs that say which fields of a record to load, and which related records with them.
//!
//! ```text
//! rows      the rows of one level of a shape
//! above     from a level to the rows that a relation leads to
//! join      related records that the same statement reads
//! links     which row of a level belongs to which row of the level above
//! related   the parts of a shape: related records, values, counts
//! page      pages, with tokens for the next one
//! load      runs the queries of a shape, all in one snapshot if the engine has such
//! ```

mod above;
mod join;
mod links;
mod load;
mod page;
mod related;
mod rows;

pub use join::ShapeJoins;
pub(crate) use links::{Gaps, LinkGroups, LinkValues, NO_ROW, RowLinks};
pub(crate) use load::in_snapshot;
pub use page::{Page, PageRequest, PageToken};
pub use related::{RelatedCounts, RelatedRecords, RelatedValues};
pub(crate) use rows::ShapeRows;
pub use rows::{ShapeColumns, ShapeLevel, read_shape_field};

use crate::on_request::with_places;
use bobak_core::{FieldSet, Record, Result, Row};

/// A struct that says what to load of a record: some of its fields, and related records, nested to any depth. Implemented
/// by [`#[derive(Shape)]`](derive@crate::Shape); a record is a shape of itself, without its fields that are read
/// [on request](crate::types::OnRequest).
///
/// [`Table::load`](crate::Table::load) loads shapes with a fixed number of queries, however many rows there are: one for the
/// records and those that they refer to, and one for each other related field. Few records have their counts in the same
/// query. Across engines, and on engines that run no
/// joins, each related field has a query of its own, or one for each step of its relation. So a query for each row cannot
/// happen.
///
/// ```
/// use bobak::prelude::*;
/// use bobak::relation::ToMany;
/// use bobak::Shape;
///
/// #[derive(Record)]
/// struct Customer {
///     id: i64,
///     name: String,
/// }
///
/// #[derive(Record)]
/// struct Order {
///     id: i64,
///     #[record(references = Customer, index)]
///     customer_id: i64,
///     total: Currency,
/// }
///
/// impl Customer {
///     const ORDERS: ToMany<Customer, Order> = Order::CUSTOMER.inverse();
/// }
///
/// #[derive(Shape)]
/// #[shape(of = Customer)]
/// struct CustomerPage {
///     name: String,
///     #[shape(count = Customer::ORDERS)]
///     orders: u64,
///     #[shape(many = Customer::ORDERS, order_by = Order::ID.desc(), limit = 3)]
///     latest: Vec<Order>,
/// }
///
/// let db = Db::builder().record::<Customer>().record::<Order>().open("memory:")?;
/// db.create_missing_tables()?;
/// let id = db.table()?.insert(&Customer { id: 0, name: "Ada".into() })?;
/// for number in 1..=4 {
///     let total = Currency::from_units(number)?;
///     db.table()?.insert(&Order { id: 0, customer_id: id, total })?;
/// }
/// let pages: Vec<CustomerPage> = db.table::<Customer>()?.load(Query::all(), &())?;
/// assert_eq!((pages[0].name.as_str(), pages[0].orders, pages[0].latest.len()), ("Ada", 4, 3));
/// assert_eq!(pages[0].latest[0].total, Currency::from_units(4)?);
/// # Ok::<(), Error>(())
/// ```
///
/// The compiler checks the fields. A field of another type, a relation of another record, and a reference that may be NULL
/// without an `Option` do not compile:
///
/// ```compile_fail,E0308
/// # use bobak::{prelude::*, Shape};
/// # #[derive(Record)] struct Customer { id: i64, name: String }
/// #[derive(Shape)]
/// #[shape(of = Customer)]
/// struct Name {
///     name: i64, // error: expected `i64`, found `String`
/// }
/// ```
///
/// ```compile_fail,E0271
/// # use bobak::{prelude::*, Shape};
/// # #[derive(Record)] struct City { id: i64 }
/// # #[derive(Record)] struct Customer { id: i64, #[record(references = City)] city_id: i64 }
/// # #[derive(Record)] struct Order { id: i64 }
/// #[derive(Shape)]
/// #[shape(of = Order)]
/// struct OrderPage {
///     #[shape(one = Customer::CITY)] // error: the relation starts from a `Customer`
///     city: City,
/// }
/// ```
///
/// ```compile_fail,E0080
/// # use bobak::{prelude::*, Shape};
/// # #[derive(Record)] struct Order { id: i64, #[record(references = Order)] previous_id: Option<i64> }
/// #[derive(Shape)]
/// #[shape(of = Order)]
/// struct OrderPage {
///     #[shape(one = Order::PREVIOUS)] // error: there may be no related record: make it an Option
///     previous: Order,
/// }
/// ```
pub trait Shape: Sized {
    /// The record whose rows it shows.
    type Record: Record;
    /// The parameters of its filters; `()` if it has none.
    type With;
    /// The loaded parts of all rows of one level.
    #[doc(hidden)]
    type Parts;

    /// Adds the columns that its fields and relations read: those of the fields first, in their order.
    #[doc(hidden)]
    fn columns(columns: &mut ShapeColumns);

    /// Joins the related records of the fields that hold one, and counts those of the fields that hold a number.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    #[doc(hidden)]
    fn join_related(joins: &mut ShapeJoins<'_>, with: &Self::With) -> Result<()> {
        let _ = (joins, with);
        Ok(())
    }

    /// Loads the parts of all rows of one level.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    #[doc(hidden)]
    fn load_parts(level: &ShapeLevel<'_>, with: &Self::With) -> Result<Self::Parts>;

    /// The shape of one row.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    #[doc(hidden)]
    fn build(row: &dyn Row, number: usize, parts: &mut Self::Parts) -> Result<Self>;
}

impl<T: Record> Shape for T {
    type Record = T;
    type With = ();
    /// The columns that are left out.
    type Parts = FieldSet;

    fn columns(columns: &mut ShapeColumns) {
        columns.record::<T>();
    }

    fn load_parts(level: &ShapeLevel<'_>, (): &()) -> Result<FieldSet> {
        Ok(level.left_out::<T>())
    }

    fn build(row: &dyn Row, _: usize, left_out: &mut FieldSet) -> Result<Self> {
        with_places(row, *left_out, T::read)
    }
}
