//! A client that knows only the OpenAPI document: it calls every operation with the documented
//! parameters, and checks each response against the documented schema.

use crate::client::{Reply, TestServer};
use boon::{Compiler, SchemaIndex, Schemas};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

const HERE: &str = "https://test.example/openapi.json";

pub struct Operation<'d> {
    pub path: &'d str,
    pub method: &'d str,
    pub schema: &'d Value,
    pointer: String,
}

pub fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters");
        methods.map(move |(method, schema)| {
            let escaped = path.replace('~', "~0").replace('/', "~1");
            let pointer = format!("/paths/{escaped}/{method}");
            Operation { path, method, schema, pointer }
        })
    })
}

/// Calls every operation with each of its bodies, with and without each of its parameters. Returns the
/// statuses. All requests follow the document, so none may be rejected as invalid.
pub fn call_all(server: &TestServer) -> Vec<u16> {
    let document = server.get("/openapi.json").ok(200).json();
    let checker = Checker::new(&document);
    let mut statuses = Vec::new();
    for round in ["post", "put", "patch", "get", "delete"] {
        let mut all: Vec<_> = operations(&document).filter(|o| o.method == round).collect();
        // Single rows before imports, which would insert the same rows.
        // And single rows before all that match are deleted.
        let is_last = round == "delete";
        all.sort_by_key(|operation| operation.path.ends_with("/rows") == is_last);
        for operation in all {
            let path = path_of(&document, &operation);
            for (media, body) in bodies(&document, operation.schema) {
                if media.is_some_and(|media| media.ends_with("arrow.stream")) {
                    // No text is an example of one: the tests of Arrow have some.
                    continue;
                }
                for (query, header) in parameters(&document, &operation) {
                    let media = media.map(|media| ("content-type", media));
                    let header =
                        header.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
                    let headers: Vec<_> = media.into_iter().chain(header).collect();
                    let url = format!("{path}{query}");
                    let reply = server.ask(&round.to_uppercase(), &url, &headers, &body);
                    let called = format!("{round} {url} {headers:?} {body}");
                    assert!(reply.status < 500 && reply.status != 400, "{called}: {reply:?}");
                    checker.check(&operation, &reply);
                    statuses.push(reply.status);
                }
            }
        }
    }
    statuses
}

fn resolve<'v>(document: &'v Value, schema: &'v Value) -> &'v Value {
    match schema["$ref"].as_str() {
        Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// An example value of a schema.
fn sample(document: &Value, schema: &Value) -> Value {
    let schema = resolve(document, schema);
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(all) => all[0].as_str().unwrap(),
        kind => kind.as_str().unwrap_or("any"),
    };
    match (kind, schema["format"].as_str().unwrap_or_default()) {
        ("object", _) => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members.map(|(name, member)| (name.clone(), sample(document, member))).collect()
        }
        ("array", _) => json!([]),
        ("boolean", _) => json!(true),
        ("integer", _) => json!(1),
        ("number", _) => json!(1.5),
        ("null", _) => json!(null),
        ("string", "date") => json!("2024-02-29"),
        ("string", "date-time") => json!("2024-02-29T12:00:00Z"),
        ("string", "uuid") => json!("01234567-89ab-cdef-0123-456789abcdef"),
        ("string", _) if schema["contentEncoding"] == "base64" => json!("AAH/"),
        ("string", _) => json!("x"),
        _ => json!({"a": [1]}),
    }
}

/// A value as plain text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The key of the row that the example of a new row inserts.
fn key_of(document: &Value, table: &str, names: &Value) -> String {
    let create = &document["paths"][format!("{table}/rows")]["post"];
    let new = sample(document, &create["requestBody"]["content"]["application/json"]["schema"]);
    let names = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let parts: Vec<String> = names.map(|name| escaped(&plain(&new[name]))).collect();
    parts.join(",")
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn table_of<'d>(operation: &Operation<'d>) -> &'d str {
    let parts: Vec<_> = operation.path.match_indices('/').map(|(at, _)| at).collect();
    &operation.path[..parts.get(2).copied().unwrap_or(operation.path.len())]
}

fn path_of(document: &Value, operation: &Operation<'_>) -> String {
    let item = &document["paths"][operation.path];
    match item["parameters"][0]["x-key"] {
        Value::Null => {
            let parameters = operation.schema["parameters"].as_array().into_iter().flatten();
            let parameters = parameters.filter(|parameter| parameter["in"] == "path");
            parameters.fold(operation.path.to_owned(), |path, parameter| {
                let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
                path.replace(&name, parameter["example"].as_str().unwrap())
            })
        }
        ref names => {
            let key = key_of(document, table_of(operation), names);
            let column = item["parameters"][1]["schema"]["enum"][0].as_str();
            operation.path.replace("{key}", &key).replace("{column}", column.unwrap_or_default())
        }
    }
}

fn bodies<'d>(document: &Value, operation: &'d Value) -> Vec<(Option<&'d str>, String)> {
    let Some(contents) = operation["requestBody"]["content"].as_object() else {
        return vec![(None, String::new())];
    };
    let body = |(media, content): (&'d String, &'d Value)| {
        let text = match &content["example"] {
            Value::Null => text_of(document, &content["schema"]),
            example => example.to_string(),
        };
        (Some(media.as_str()), text)
    };
    contents.iter().map(body).collect()
}

/// An example body; several lines if the schema describes lines.
fn text_of(document: &Value, schema: &Value) -> String {
    let line = resolve(document, &schema["contentSchema"]);
    if line.is_null() {
        return sample(document, schema).to_string();
    }
    if schema["contentMediaType"] != "text/csv" {
        let one = vec![line.clone()];
        let kinds = line["anyOf"].as_array().unwrap_or(&one);
        return kinds.iter().map(|kind| format!("{}\n", sample(document, kind))).collect();
    }
    let row = sample(document, line);
    let (names, fields): (Vec<_>, Vec<_>) = row.as_object().unwrap().iter().unzip();
    let field = |value: &Value| format!("\"{}\"", plain(value).replace('"', "\"\""));
    let fields: Vec<_> = fields.into_iter().map(field).collect();
    let names: Vec<_> = names.into_iter().map(|name| field(&json!(name))).collect();
    format!("{}\r\n{}\r\n", names.join(","), fields.join(","))
}

/// No parameter, and then each parameter alone, as a query string or a header.
fn parameters(
    document: &Value,
    operation: &Operation<'_>,
) -> Vec<(String, Option<(String, String)>)> {
    let parameters = || operation.schema["parameters"].as_array().into_iter().flatten();
    let required = |parameter: &&Value| parameter["in"] == "query" && parameter["required"] == true;
    let required = parameters().find(required).map(|parameter| {
        let name = parameter["name"].as_str().unwrap();
        (name, format!("?{name}={}", escaped(parameter["example"].as_str().unwrap())))
    });
    let base = required.as_ref().map_or(String::new(), |(_, query)| query.clone());
    let mut all = vec![(base.clone(), None)];
    for parameter in parameters().filter(|parameter| parameter["in"] != "path") {
        let name = parameter["name"].as_str().unwrap();
        let schema = &parameter["schema"];
        let values: Vec<String> = match (&schema["enum"], schema["type"].as_str()) {
            (Value::Array(words), _) => words.iter().map(plain).collect(),
            (_, Some("integer")) => vec!["1".to_owned()],
            (_, Some("boolean")) => vec!["true".to_owned()],
            _ if !parameter["x-key"].is_null() => {
                vec![key_of(document, table_of(operation), &parameter["x-key"])]
            }
            (_, Some("array")) => {
                let items = parameter["example"].as_array().unwrap().iter();
                vec![items.map(plain).collect::<Vec<_>>().join(",")]
            }
            // Without an example, only people understand the description.
            _ => parameter["example"].as_str().map(str::to_owned).into_iter().collect(),
        };
        // What its description says.
        let condition = if name == "on" { "&mode=upsert" } else { "" };
        if required.as_ref().is_some_and(|(required, _)| *required == name) {
            continue;
        }
        let first = if base.is_empty() { "?".to_owned() } else { format!("{base}&") };
        for value in values {
            all.push(match parameter["in"].as_str() {
                Some("header") => (base.clone(), Some((name.to_owned(), value))),
                _ => (format!("{first}{name}={}{condition}", escaped(&value)), None),
            });
        }
    }
    all
}

/// Checks responses against the document.
pub struct Checker<'d> {
    document: &'d Value,
    /// Keyed by the schema's JSON pointer.
    compiled: RefCell<HashMap<String, (Schemas, SchemaIndex)>>,
}

impl<'d> Checker<'d> {
    pub fn new(document: &'d Value) -> Self {
        Self { document, compiled: RefCell::default() }
    }

    #[track_caller]
    pub fn check(&self, operation: &Operation<'_>, reply: &Reply) {
        let status = reply.status.to_string();
        let promised = &operation.schema["responses"][&status];
        let place = format!("{} {}", operation.method, operation.path);
        assert!(promised.is_object(), "{place} does not document {status}: {reply:?}");
        let media = reply.header("content-type").split(';').next().unwrap_or_default();
        if reply.text.is_empty() && media.is_empty() {
            assert!(promised["content"].is_null(), "{place} documents a content: {reply:?}");
            return;
        }
        let content = &promised["content"][media];
        assert!(content.is_object(), "{place} does not document {media}");
        let place = format!(
            "{}/responses/{status}/content/{}/schema",
            operation.pointer,
            media.replace('/', "~1")
        );
        if media == "application/x-ndjson" {
            for line in reply.text.lines() {
                self.validate(
                    &format!("{place}/contentSchema"),
                    &serde_json::from_str(line).unwrap(),
                );
            }
        } else if media.ends_with("json") {
            self.validate(&place, &reply.json());
        }
    }

    #[track_caller]
    /// Checks the examples of an operation against their schemas. Returns how many there are.
    pub fn check_examples(&self, operation: &Operation<'_>) -> usize {
        let mut checked = 0;
        let mut check = |place: String, example: &Value| {
            if !example.is_null() {
                self.validate(&format!("{}/{place}/schema", operation.pointer), example);
                checked += 1;
            }
        };
        for (place, one) in
            operation.schema["parameters"].as_array().into_iter().flatten().enumerate()
        {
            check(format!("parameters/{place}"), &one["example"]);
        }
        let content = operation.schema["requestBody"]["content"].as_object();
        for (media, one) in content.into_iter().flatten() {
            check(format!("requestBody/content/{}", media.replace('/', "~1")), &one["example"]);
        }
        checked
    }

    fn validate(&self, pointer: &str, value: &Value) {
        let mut compiled = self.compiled.borrow_mut();
        if !compiled.contains_key(pointer) {
            compiled.insert(pointer.to_owned(), self.compile(pointer));
        }
        let (schemas, schema) = &compiled[pointer];
        if let Err(error) = schemas.validate(value, *schema) {
            panic!("{pointer}: {error:#}\n{value}");
        }
    }

    fn compile(&self, pointer: &str) -> (Schemas, SchemaIndex) {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource(HERE, self.document.clone()).unwrap();
        let mut schemas = Schemas::new();
        let schema = compiler.compile(&format!("{HERE}#{pointer}"), &mut schemas).unwrap();
        (schemas, schema)
    }
}
