//! Values as text: CSV's fields, JSON's strings, arguments.

use crate::{Target, seeds};
use bobak_core::{Currency, Type, Value, ValueRef};
use bobak_text::{json, number, read, write};

/// Text forms of every type.
pub(crate) const VALUES: Target = Target {
    name: "text-values",
    about: "texts of values of every type",
    longest: 16 << 10,
    factor: 64,
    run: |input| {
        Type::ALL.iter().for_each(|&ty| one(ty, input));
        let _ = (number::integer(input), number::float(input), number::is_float(input));
        let Ok(text) = std::str::from_utf8(input) else { return };
        drop(read::any(text).into_owned());
        if let Ok(amount) = text.parse::<Currency>() {
            assert_eq!(amount.to_string().parse::<Currency>().ok(), Some(amount));
        }
        let mut quoted = String::new();
        json::write_string(&mut quoted, text);
        assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_deref(), Some(text));
    },
    seeds: || {
        let more = [
            "",
            "0",
            "-9223372036854775808",
            "1e308",
            "-0.0",
            "true",
            "Aa+/",
            "{\"a\":[1,null]}",
            // Where the calendar of instants begins and ends.
            "-009999-01-02T01:59:58.999999Z",
            "9999-12-30T22:00:00.000015Z",
            "9999-12-31T23:59:59.999999",
        ];
        seeds::texts().into_iter().map(String::into_bytes).chain(seeds::of(&more)).collect()
    },
};

/// What was read is written, and read as the same.
fn one(ty: Type, input: &[u8]) {
    let Ok(value) = read::parse(ty, input) else { return };
    let mut text = String::new();
    write::write(&mut text, ty, value.as_ref());
    let again = read::parse(ty, text.as_bytes());
    let again = again.unwrap_or_else(|why| panic!("{ty:?}: '{text}' of {value:?}: {why}"));
    // Where anything goes, text does not tell 0.0 from 0.
    assert!(ty == Type::Any || same(&value, &again), "{ty:?}: '{text}' of {value:?} is {again:?}");
    let mut written = String::new();
    json::write_value(&mut written, ty, value.as_ref());
    // A document is passed on as it is: whether it is one is looked at elsewhere.
    let whole = ty == Type::Json || serde_json::from_str::<serde_json::Value>(&written).is_ok();
    assert!(whole, "{ty:?}: no JSON: {written}");
}

fn same(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one.as_ref(), other.as_ref()) {
        (ValueRef::Float(one), ValueRef::Float(other)) => one.to_bits() == other.to_bits(),
        (one, other) => one == other,
    }
}
