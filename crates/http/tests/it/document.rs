//! The OpenAPI document: valid by the official schema, and true for every operation in it.

use crate::client::{Door, Reply, sqlite};
use crate::events::track;
use bobak_http::{Settings, SqlAccess};
use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

/// The schema of OpenAPI 3.1 documents, published by the OpenAPI Initiative (Apache-2.0).
const OFFICIAL: &str = include_str!("../data/openapi-3.1.json");
const HERE: &str = "https://test.example/openapi.json";

fn door() -> Door {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    Door::with(settings, sqlite())
}

#[test]
fn the_document_is_valid() {
    let door = door();
    for path in ["/openapi.json", "/databases/main/openapi.json"] {
        let document = door.get(path).ok(200).json();
        let mut compiler = Compiler::new();
        let official: Value = serde_json::from_str(OFFICIAL).unwrap();
        let id = official["$id"].as_str().unwrap().to_owned();
        compiler.add_resource(&id, official).unwrap();
        let mut schemas = Schemas::new();
        let schema = compiler.compile(&id, &mut schemas).unwrap();
        if let Err(error) = schemas.validate(&document, schema) {
            panic!("{path}: {error:#}");
        }
        let ids: Vec<_> =
            operations(&document).map(|op| op.schema["operationId"].clone()).collect();
        assert!(ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id)), "{ids:?}");
    }
}

#[test]
fn the_document_changes_with_the_tables() {
    let door = door();
    let before = door.get("/openapi.json").json();
    door.send(
        "POST",
        "/sql",
        r#"{"sql":"CREATE TABLE \"odd näme/%\" (\"a b\" INTEGER PRIMARY KEY, c)"}"#,
    )
    .ok(200);
    let after = door.get("/openapi.json").json();
    assert!(before["paths"].as_object().unwrap().len() < after["paths"].as_object().unwrap().len());
    let path = "/tables/odd%20n%C3%A4me%2F%25/rows";
    assert!(after["paths"][path].is_object(), "{}", after["paths"]);
    door.send("POST", path, r#"{"a b":7,"c":"x"}"#).ok(201);
}

/// Calls every operation with what nothing but the document tells, and holds each answer against
/// the schema that it promises.
#[test]
fn every_operation_does_what_the_document_says() {
    let door = door();
    let document = door.get("/openapi.json").json();
    let checker = Checker::new(&document);
    let mut called = 0;
    for round in ["post", "put", "patch", "get", "delete"] {
        for operation in operations(&document).filter(|operation| operation.method == round) {
            let path = path_of(&document, &operation);
            for (media, body) in bodies(&document, &operation) {
                for query in queries(&operation) {
                    let headers = media.map(|media| ("content-type", media));
                    let headers: Vec<_> = headers.into_iter().collect();
                    let url = format!("{path}{query}");
                    let reply = door.ask(&round.to_uppercase(), &url, &headers, &body);
                    assert!(reply.status < 500 && reply.status != 400, "{url} {body}: {reply:?}");
                    checker.check(&operation, &reply);
                    called += 1;
                }
            }
        }
    }
    assert!(called > 100, "{called}");
}

#[test]
fn histories_are_as_the_document_says() {
    let engine = sqlite();
    track(&*engine);
    let door = Door::with(Settings::default(), engine);
    door.send("POST", "/tables/person/rows", r#"{"name":"Ada","balance":12.5}"#).ok(201);
    door.send("PATCH", "/tables/person/rows/1", r#"{"tags":[1]}"#).ok(200);
    door.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
    let document = door.get("/openapi.json").json();
    let checker = Checker::new(&document);
    let is_wanted =
        |operation: &Operation<'_>| operation.path == "/tables/person/rows/{key}/history";
    let operation = operations(&document).find(is_wanted).unwrap();
    for query in ["", "?limit=1", "?since=3"] {
        let reply = door.get(&format!("/tables/person/rows/1/history{query}"));
        checker.check(&operation, reply.ok(200));
    }
    checker.check(&operation, door.get("/tables/person/rows/2/history").ok(404));
    checker.check(&operation, door.get("/tables/person/rows/1/history?limit=0").ok(400));
}

struct Operation<'d> {
    path: &'d str,
    method: &'d str,
    schema: &'d Value,
    pointer: String,
}

fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
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

/// A value of a schema.
fn sample(document: &Value, schema: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return sample(document, document.pointer(name.trim_start_matches('#')).unwrap());
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
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

/// A path's key is that of the row that the sample of a new one makes.
fn path_of(document: &Value, operation: &Operation<'_>) -> String {
    let row = operation.path.strip_suffix("/history").unwrap_or(operation.path);
    let Some(table) = row.strip_suffix("/rows/{key}") else {
        return operation.path.to_owned();
    };
    let create = &document["paths"][format!("{table}/rows")]["post"];
    let new = sample(document, &create["requestBody"]["content"]["application/json"]["schema"]);
    let item = &document["paths"][operation.path];
    let names = item["parameters"][0]["description"].as_str().unwrap();
    let names = names.strip_suffix(", with commas between").unwrap_or(names).split(", ");
    let parts: Vec<String> = names
        .map(|name| new[name].as_str().map_or_else(|| new[name].to_string(), str::to_owned))
        .collect();
    operation.path.replace("{key}", &parts.join(","))
}

fn bodies<'d>(document: &Value, operation: &Operation<'d>) -> Vec<(Option<&'d str>, String)> {
    let Some(contents) = operation.schema["requestBody"]["content"].as_object() else {
        return vec![(None, String::new())];
    };
    let body = |(media, content): (&'d String, &'d Value)| {
        let text = match media.as_str() {
            "application/x-ndjson" | "text/csv" => String::from("\n"),
            _ if operation.path == "/sql" => r#"{"sql":"SELECT 1 AS one"}"#.to_owned(),
            _ => sample(document, &content["schema"]).to_string(),
        };
        (Some(media.as_str()), text)
    };
    contents.iter().map(body).collect()
}

/// No parameters, and then each alone.
fn queries(operation: &Operation<'_>) -> Vec<String> {
    let parameters = operation.schema["parameters"].as_array().into_iter().flatten();
    let alone = parameters.filter(|parameter| parameter["in"] == "query").filter_map(|parameter| {
        let name = parameter["name"].as_str()?;
        let schema = &parameter["schema"];
        let value = match (&schema["enum"], schema["type"].as_str()) {
            (Value::Array(words), _) => words.last()?.as_str()?.to_owned(),
            (_, Some("integer")) => "1".to_owned(),
            (_, Some("boolean")) => "true".to_owned(),
            // What texts mean, their description tells to people.
            _ => return None,
        };
        // Strings for numbers: the description says that the schema is another then.
        (name != "numbers").then(|| format!("?{name}={value}"))
    });
    std::iter::once(String::new()).chain(alone).collect()
}

/// Holds answers against the document.
struct Checker<'d> {
    document: &'d Value,
}

impl<'d> Checker<'d> {
    const fn new(document: &'d Value) -> Self {
        Self { document }
    }

    fn check(&self, operation: &Operation<'_>, reply: &Reply) {
        let status = reply.status.to_string();
        let promised = &operation.schema["responses"][&status];
        let place = format!("{} {}", operation.method, operation.path);
        assert!(promised.is_object(), "{place} does not tell of {status}: {reply:?}");
        let media = reply.header("content-type").split(';').next().unwrap_or_default();
        if reply.text.is_empty() && media.is_empty() {
            assert!(status == "204" || status == "304", "{place}: {reply:?}");
            return;
        }
        assert!(promised["content"][media].is_object(), "{place} does not tell of {media}");
        if !media.ends_with("json") || media.ends_with("ndjson") {
            return;
        }
        let media = media.replace('/', "~1");
        let pointer = format!("{}/responses/{status}/content/{media}/schema", operation.pointer);
        let (schemas, schema) = self.compile(&pointer);
        if let Err(error) = schemas.validate(&reply.json(), schema) {
            panic!("{place}: {error:#}\n{}", reply.text);
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
