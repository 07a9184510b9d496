//! The paths and schemas of migrations.

use super::builders::{body, json_of, operation, problem, query, reference, response};
use serde_json::{Map, Value, json};

/// A migration whose steps can be carried out in any database.
const EXAMPLE: &str = concat!(
    r#"create table {"name":"bobak_example","key":["id"],"indexes":[],"#,
    r#""columns":[{"name":"id","type":"i64","nullable":false}]}"#,
);

/// Adds the path.
pub(super) fn paths(paths: &mut Map<String, Value>) {
    let mut get = operation(
        "migrations",
        "List the migrations of the database, and its tables as migrations write them",
        vec![],
    );
    get["responses"]["200"] = response("The list", json_of(reference("bobak.Migrations")));
    let dry_run = query::flag("dry_run", "Only say what it would do");
    let summary = "Change the schema by a migration: requires the permission `schema`";
    let mut post = operation("migrate", summary, vec![dry_run]);
    post["requestBody"] = body(json_of(reference("bobak.NewMigration")));
    let example = json!({"name": "example", "steps": EXAMPLE});
    post["requestBody"]["content"]["application/json"]["example"] = example;
    let described = || json_of(reference("bobak.Migration"));
    post["responses"]["200"] = response("What the migration would do", described());
    post["responses"]["201"] = response("What the migration has done", described());
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    paths.insert("/migrations".to_owned(), json!({"get": get, "post": post}));
}

/// Adds the schemas.
pub(super) fn components(schemas: &mut Map<String, Value>) {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": text()});
    let done = json!({
        "type": "object",
        "required": ["name", "at"],
        "properties": {"name": text(), "at": {"type": "string", "format": "date-time"}},
    });
    let all = json!({
        "type": "object",
        "required": ["migrations", "tables"],
        "properties": {
            "migrations": {"type": "array", "items": done},
            "tables": {"type": "array", "items": {"type": "object"}},
        },
    });
    let new = json!({
        "type": "object",
        "required": ["name", "steps"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "pattern": "^[\\p{L}\\p{N}_-]{1,150}$"},
            "steps": {"type": "string", "description": "A step per line, as in a migration's file"},
        },
    });
    let described = json!({
        "type": "object",
        "required": ["name", "words", "sql", "file", "loses_data", "can_be_undone"],
        "properties": {
            "name": text(), "words": texts(), "sql": texts(),
            "file": {"type": "string", "description": "The content of its file"},
            "loses_data": {"type": "boolean"}, "can_be_undone": {"type": "boolean"},
        },
    });
    let named = [("Migrations", all), ("NewMigration", new), ("Migration", described)];
    schemas.extend(named.map(|(name, schema)| (format!("bobak.{name}"), schema)));
}
