//! What is wrong with the arguments of a tool, by the schema that the tool tells its clients: in words that a language model
//! corrects its call by.

use bobak_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Checks the arguments of a tool.
///
/// # Errors
/// `Syntax` with the name of the argument, and what is expected.
pub(super) fn check(tool: &Value, arguments: &RawValue) -> Result<()> {
    let name = tool["name"].as_str().unwrap_or_default();
    let wrong = |message: String| Err(Error::new(ErrorKind::Syntax, format!("{name}: {message}")));
    let schema = &tool["inputSchema"];
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    let given: Map<String, Value> = match serde_json::from_str(arguments.get()) {
        Ok(given) => given,
        Err(error) => return wrong(error.to_string()),
    };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<&str> = required.collect();
    if let Some(missing) = required.iter().find(|name| !given.contains_key(**name)) {
        return wrong(format!("the argument '{missing}' is missing"));
    }
    for (argument, value) in &given {
        let Some(property) = properties.get(argument) else {
            let names: Vec<_> = properties.keys().map(String::as_str).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return wrong(format!("there is no argument '{argument}': there are {names}"));
        };
        let is_missing = value.is_null() && !required.contains(&argument.as_str());
        if let Some(expected) = expected(property, value).filter(|_| !is_missing) {
            return wrong(format!("the argument '{argument}' must be {expected}"));
        }
    }
    Ok(())
}

/// What a property must be, if the value is something else.
fn expected(property: &Value, value: &Value) -> Option<&'static str> {
    let items = property["items"]["type"].as_str();
    let all = |is: fn(&Value) -> bool| value.as_array().is_some_and(|all| all.iter().all(is));
    let (is_right, expected) = match (property["type"].as_str(), items) {
        (Some("array"), Some("string")) => (
            value.is_string() || all(Value::is_string),
            "an array of texts, such as [\"id\",\"name\"]",
        ),
        (Some("array"), Some("number")) => (all(Value::is_number), "an array of numbers"),
        (Some("array"), Some("object")) => {
            (all(Value::is_object), "an array of objects with values by column")
        }
        (Some("array"), _) => (value.is_array(), "an array of values"),
        (Some("object"), _) => (value.is_object(), "an object with values by column"),
        (Some("integer"), _) => (value.is_u64(), "an integer, 0 or more"),
        _ => (value.is_string(), "a text"),
    };
    (!is_right).then_some(expected)
}
