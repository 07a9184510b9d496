//! The paths and schemas of administrators: accounts, backups, the server's state.

use super::builders::{body, empty, json_of, operation, problem, reference, response};
use serde_json::{Map, Value, json};

/// A day, or an instant.
const EXPIRES: &str =
    r"^20\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])(T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ)?$";
/// An instant, or the number of a change.
const UNTIL: &str =
    r"^(\d{1,18}|20\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ)$";

/// Adds the paths of a database.
pub(super) fn database_paths(paths: &mut Map<String, Value>) {
    let backup = || json_of(reference("bobak.Backup"));
    let mut list = operation("backups", "List the backups: for administrators", vec![]);
    list["responses"]["200"] =
        response("The newest one first", json_of(reference("bobak.Backups")));
    let mut make = operation("back_up", "Make a backup and verify it: for administrators", vec![]);
    make["responses"]["201"] = response("The backup", backup());
    problem(&mut make, &[409, 501, 507]);
    paths.insert("/backups".to_owned(), json!({"get": list, "post": make}));
    let file = || vec![name("file", "The name of the backup")];
    let mut get = operation("backup", "Download a backup: for administrators", file());
    let bytes =
        json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}});
    get["responses"]["200"] = response("Its bytes", bytes);
    problem(&mut get, &[404, 409]);
    paths.insert("/backups/{file}".to_owned(), json!({"get": get}));
    let mut verify = operation("verify_backup", "Read a whole backup: for administrators", file());
    verify["responses"]["200"] =
        response("Whether it is whole", json_of(reference("bobak.VerifiedBackup")));
    problem(&mut verify, &[404, 409]);
    paths.insert("/backups/{file}/verify".to_owned(), json!({"post": verify}));
    let summary = "Restore a backup to a new file, also to a moment after it: for administrators";
    let mut restore = operation("restore_backup", summary, file());
    let until = "A time or the number of a change: replays the archive of changes up to there";
    let until = json!({"type": ["string", "null"], "description": until, "pattern": UNTIL});
    restore["requestBody"] = body(json_of(json!({
        "type": "object", "additionalProperties": false, "properties": {"until": until},
    })));
    restore["responses"]["201"] = response("The file", json_of(reference("bobak.RestoredBackup")));
    problem(&mut restore, &[400, 404, 408, 409, 413, 415, 501, 507]);
    paths.insert("/backups/{file}/restore".to_owned(), json!({"post": restore}));
    let mut sizes = operation("sizes", "The sizes of the tables: for administrators", vec![]);
    sizes["responses"]["200"] = response("The sizes", json_of(reference("bobak.Sizes")));
    paths.insert("/sizes".to_owned(), json!({"get": sizes}));
}

/// Adds the paths of the server.
pub(super) fn server_paths(paths: &mut Map<String, Value>) {
    let mut get = operation("access", "Roles, users and tokens: for administrators", vec![]);
    get["responses"]["200"] = response("All of them", json_of(reference("bobak.Access")));
    paths.insert("/access".to_owned(), json!({"get": get}));
    let mut get = operation("status", "Load, quotas and replication: for administrators", vec![]);
    get["responses"]["200"] = response("The state", json_of(reference("bobak.Status")));
    paths.insert("/status".to_owned(), json!({"get": get}));
    let mut get = operation("log", "The last lines of the audit log: for administrators", vec![]);
    get["responses"]["200"] = response("The newest one first", json_of(reference("bobak.Log")));
    paths.insert("/log".to_owned(), json!({"get": get}));
}

/// Adds the paths that change the access file.
pub(super) fn account_paths(paths: &mut Map<String, Value>) {
    for (path, noun, component) in [
        ("/access/roles/{name}", "role", "bobak.Role"),
        ("/access/users/{name}", "user", "bobak.User"),
        ("/access/tokens/{name}", "token", "bobak.Token"),
    ] {
        let summary = format!("Create or change a {noun}: for administrators");
        let mut put = operation(&format!("put_{noun}"), &summary, vec![name("name", "Its name")]);
        put["requestBody"] = body(json_of(reference(component)));
        if noun == "token" {
            let made = json_of(reference("bobak.MadeToken"));
            put["responses"]["200"] = response("A new token, shown this once", made);
        } else {
            put["responses"]["204"] = empty("Done");
        }
        problem(&mut put, &[400, 408, 409, 413, 415, 422]);
        let summary = format!("Remove a {noun}: for administrators");
        let mut delete =
            operation(&format!("delete_{noun}"), &summary, vec![name("name", "Its name")]);
        delete["responses"]["204"] = empty("Done");
        problem(&mut delete, &[404, 409, 422]);
        paths.insert(path.to_owned(), json!({"put": put, "delete": delete}));
    }
}

fn name(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": {"type": "string", "minLength": 1}, "example": "example",
    })
}

/// Adds the schemas.
pub(super) fn components(schemas: &mut Map<String, Value>) {
    let all = [backups(), accounts(), states()].into_iter();
    for value in all {
        if let Value::Object(some) = value {
            schemas.extend(some);
        }
    }
}

fn text() -> Value {
    json!({"type": "string"})
}

fn count() -> Value {
    json!({"type": "integer", "format": "int64", "minimum": 0})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn backups() -> Value {
    let maybe = || json!({"type": ["string", "null"]});
    json!({
        "bobak.Backup": {
            "type": "object", "required": ["name"],
            "properties": {
                "name": text(), "bytes": count(), "at": {"type": "string", "format": "date-time"},
                "tables": count(), "rows": count(),
            },
        },
        "bobak.Backups": {
            "type": "object", "required": ["possible", "folder", "archive", "backups"],
            "properties": {
                "possible": {"type": "boolean"}, "folder": maybe(), "archive": {"type": "boolean"},
                "backups": list(reference("bobak.Backup")),
            },
        },
        "bobak.VerifiedBackup": {
            "type": "object", "required": ["valid"],
            "properties": {
                "valid": {"type": "boolean"}, "problem": text(), "tables": count(), "rows": count(),
            },
        },
        "bobak.RestoredBackup": {
            "type": "object", "required": ["file", "command"],
            "properties": {
                "file": text(), "command": text(), "tables": count(), "rows": count(),
                "changes": count(), "changed_at": maybe(),
            },
        },
        "bobak.Sizes": {
            "type": "object", "required": ["tables"],
            "properties": {"tables": list(json!({
                "type": "object", "required": ["name", "bytes"],
                "properties": {"name": text(), "bytes": {"type": ["integer", "null"]}},
            }))},
        },
    })
}

fn accounts() -> Value {
    let expires = || json!({"type": ["string", "null"], "description": "A date or a time", "pattern": EXPIRES});
    let variables =
        || json!({"type": "object", "additionalProperties": {"type": ["string", "integer"]}});
    let roles = || list(json!({"type": "string", "description": "The name of a role, or `admin`"}));
    let account = || {
        json!({
            "type": "object", "required": ["name", "roles", "expires", "variables"],
            "properties": {"name": text(), "roles": roles(), "expires": expires(), "variables": variables()},
        })
    };
    let grants = || list(text());
    let role = json!({
        "type": "object", "required": ["name", "grants"],
        "properties": {"name": text(), "grants": grants()},
    });
    json!({
        "bobak.Access": {
            "type": "object", "required": ["file", "public", "roles", "users", "tokens"],
            "properties": {
                "file": {"type": ["string", "null"]}, "public": {"type": "boolean"},
                "roles": list(role), "users": list(account()), "tokens": list(account()),
            },
        },
        "bobak.Role": {
            "type": "object", "required": ["grants"], "additionalProperties": false,
            "properties": {"grants": grants()},
        },
        "bobak.User": {
            "type": "object", "additionalProperties": false,
            "properties": {
                "password": {"type": ["string", "null"], "minLength": 12, "maxLength": 128},
                "roles": roles(), "expires": expires(), "variables": variables(),
            },
        },
        "bobak.Token": {
            "type": "object", "additionalProperties": false,
            "properties": {
                "renew": {"type": "boolean"},
                "roles": roles(), "expires": expires(), "variables": variables(),
            },
        },
        "bobak.MadeToken": {
            "type": "object", "required": ["token"],
            "properties": {"token": {"type": ["string", "null"]}},
        },
    })
}

fn states() -> Value {
    let used = || {
        json!({
            "type": "object", "required": ["used", "max"],
            "properties": {"used": count(), "max": count()},
        })
    };
    let line = json!({
        "type": "object", "required": ["at", "line"],
        "properties": {"at": {"type": "string", "format": "date-time"}, "line": text()},
    });
    json!({
        "bobak.Status": {
            "type": "object", "required": ["version", "uptime_seconds", "connections", "databases"],
            "properties": {
                "version": text(), "uptime_seconds": count(),
                "memory_bytes": {"type": ["integer", "null"]},
                "connections": used(), "streams": used(), "subscriptions": used(),
                "sessions": count(), "client_quota_percent": count(),
                "requests_per_second_of_a_client": {"type": ["integer", "null"]},
                "rejected_credentials": count(), "rate_limited": count(),
                "databases": list(json!({"type": "object"})),
            },
        },
        "bobak.Log": {
            "type": "object", "required": ["lines"], "properties": {"lines": list(line)},
        },
    })
}
