//! `#[derive(Field)]` on enums.

use bobak_core::{ErrorKind, Field, Type, Value, ValueRef};
use bobak_derive::Field;

#[derive(Clone, Copy, Debug, PartialEq, Field)]
#[field(crate = "crate::shim", store = "text", rename_all = "kebab-case")]
enum Status {
    Active,
    OnHold,
    #[field(rename = "gone {away}")]
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Field)]
#[field(crate = "crate::shim", store = "integer")]
enum Level {
    Low = -2,
    Middle,
    High = 0x10,
    Top,
}

#[test]
fn texts_are_the_variant_names_in_the_requested_case() {
    assert_eq!((Status::TYPE, Status::NULLABLE), (Type::Text, false));
    for (status, text) in
        [(Status::Active, "active"), (Status::OnHold, "on-hold"), (Status::Left, "gone {away}")]
    {
        assert_eq!(status.to_value().unwrap(), Value::from(text));
        assert_eq!(Status::from_value(ValueRef::Text(text)).unwrap(), status);
    }
}

#[test]
fn integers_are_the_discriminants() {
    assert_eq!(Level::TYPE, Type::I64);
    for level in [Level::Low, Level::Middle, Level::High, Level::Top] {
        assert_eq!(level.to_value().unwrap(), Value::Int(level as i64));
        assert_eq!(Level::from_value(ValueRef::Int(level as i64)).unwrap(), level);
    }
}

#[test]
fn an_unknown_value_is_rejected_with_those_allowed() {
    let long = "x".repeat(1000);
    for (value, message) in [
        (
            ValueRef::Text("Active"),
            "'Active' is not a Status: expected one of 'active', 'on-hold', 'gone {away}'",
        ),
        (ValueRef::Int(1), "1 is not a Status: expected one of 'active', 'on-hold', 'gone {away}'"),
        (
            ValueRef::Bytes(b"x"),
            "a value of class bytes is not a Status: expected one of 'active', 'on-hold', 'gone {away}'",
        ),
        (
            ValueRef::Null,
            "NULL, in a field that is not an Option, is not a Status: expected one of 'active', 'on-hold', 'gone {away}'",
        ),
    ] {
        let error = Status::from_value(value).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Mismatch, message));
    }
    let error = Level::from_value(ValueRef::Text(&long)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("'{}' is not a Level: expected one of -2, -1, 16, 17", &long[..40])
    );
}

#[test]
fn an_option_of_an_enum_is_null() {
    assert_eq!(Option::<Status>::from_value(ValueRef::Null).unwrap(), None);
    assert!(Option::<Status>::from_value(ValueRef::Text("x")).is_err());
}
