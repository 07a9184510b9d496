//! `#[derive(FromRow)]`.

use bobak_core::{ErrorKind, FromRow, Value};
use bobak_derive::FromRow;

#[derive(Debug, PartialEq, FromRow)]
#[row(crate = "crate::shim")]
struct Name {
    #[row(skip)]
    seen: bool,
    #[row(column = "first_name")]
    first: String,
    r#type: Option<u8>,
}

#[derive(Debug, PartialEq, FromRow)]
#[row(crate = "crate::shim")]
struct Count(String, #[row(skip)] bool, i64);

#[test]
fn a_struct_names_its_columns() {
    let columns: &[&str] = &["first_name", "type"];
    assert_eq!(Name::columns(), Some(columns));
    let row = [Value::from("Ada"), Value::Null];
    let expected = Name { seen: false, first: "Ada".to_owned(), r#type: None };
    assert_eq!(Name::from_row(&row.as_slice()).unwrap(), expected);
}

#[test]
fn a_tuple_struct_takes_columns_by_place() {
    assert_eq!(Count::columns(), None);
    let row = [Value::from("UA"), Value::Int(9)];
    assert_eq!(Count::from_row(&row.as_slice()).unwrap(), Count("UA".to_owned(), false, 9));
}

#[test]
fn errors_name_the_column() {
    let row = [Value::from("Ada"), Value::Int(300)];
    let error = Name::from_row(&row.as_slice()).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("type")));
    let row = [Value::from("UA"), Value::from("nine")];
    let error = Count::from_row(&row.as_slice()).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Mismatch, Some("number 1")));
}

#[test]
fn a_row_that_is_too_short_is_rejected() {
    let row = [Value::from("UA")];
    let error = Count::from_row(&row.as_slice()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!(error.to_string(), "the row has fewer columns than Count reads: 2");
}
