//! Maps paths to resources.

use crate::problem::Problem;
use percent_encoding::percent_decode_str;

/// The target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// `None` for the default database.
    pub database: Option<String>,
    pub resource: Resource,
}

/// A resource, with the names in its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Home,
    Health,
    Metrics,
    Databases,
    OpenApi,
    Tables,
    Table(String),
    Rows(String),
    /// Table and key. The key's segment is still encoded, because its columns are split before they
    /// are decoded.
    Row(String, String),
    /// Table, encoded key and column: one value.
    Value(String, String, String),
    /// Table and encoded key.
    History(String, String),
    Import(String),
    Export(String),
    Aggregate(String),
    /// How the engine would read rows.
    Plan(String),
    /// Rows of expressions.
    Query(String),
    Changes(String),
    /// Those of several tables.
    AllChanges,
    Batch,
    Sql,
    /// Tools of language models.
    Mcp,
    /// Changes of the schema.
    Migrations,
    /// The statements that ran, with their times.
    Statements,
    Backups,
    Backup(String),
    VerifyBackup(String),
    RestoreBackup(String),
    Sizes,
    Access,
    Role(String),
    User(String),
    Token(String),
    Status,
    Log,
    Session,
    /// The file of the web application with this name; empty for its page.
    Studio(String),
}

impl Route {
    /// Parses a path.
    ///
    /// # Errors
    /// 404 if it names no resource; 400 if it is not percent-encoded UTF-8.
    pub fn of(path: &str) -> Result<Self, Problem> {
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let (database, segments) = match &*segments {
            ["databases", name, rest @ ..] if !rest.is_empty() => (Some(decode(name)?), rest),
            all => (None, all),
        };
        let resource = match segments {
            ["health"] if database.is_none() => Resource::Health,
            ["metrics"] if database.is_none() => Resource::Metrics,
            ["databases"] if database.is_none() => Resource::Databases,
            ["session"] if database.is_none() => Resource::Session,
            ["studio", file] if database.is_none() => Resource::Studio(decode(file)?),
            [""] => Resource::Home,
            ["openapi.json"] => Resource::OpenApi,
            ["tables"] => Resource::Tables,
            ["tables", table] => Resource::Table(decode(table)?),
            ["tables", table, "rows"] => Resource::Rows(decode(table)?),
            ["tables", table, "rows", key] => Resource::Row(decode(table)?, (*key).to_owned()),
            ["tables", table, "rows", key, "history"] => {
                Resource::History(decode(table)?, (*key).to_owned())
            }
            ["tables", table, "rows", key, "columns", column] => {
                Resource::Value(decode(table)?, (*key).to_owned(), decode(column)?)
            }
            ["tables", table, "import"] => Resource::Import(decode(table)?),
            ["tables", table, "export"] => Resource::Export(decode(table)?),
            ["tables", table, "aggregate"] => Resource::Aggregate(decode(table)?),
            ["tables", table, "plan"] => Resource::Plan(decode(table)?),
            ["tables", table, "query"] => Resource::Query(decode(table)?),
            ["tables", table, "changes"] => Resource::Changes(decode(table)?),
            ["changes"] => Resource::AllChanges,
            ["batch"] => Resource::Batch,
            ["sql"] => Resource::Sql,
            ["mcp"] => Resource::Mcp,
            ["migrations"] => Resource::Migrations,
            ["statements"] => Resource::Statements,
            ["backups"] => Resource::Backups,
            ["backups", file] => Resource::Backup(decode(file)?),
            ["backups", file, "verify"] => Resource::VerifyBackup(decode(file)?),
            ["backups", file, "restore"] => Resource::RestoreBackup(decode(file)?),
            ["sizes"] => Resource::Sizes,
            ["access"] if database.is_none() => Resource::Access,
            ["access", "roles", name] if database.is_none() => Resource::Role(decode(name)?),
            ["access", "users", name] if database.is_none() => Resource::User(decode(name)?),
            ["access", "tokens", name] if database.is_none() => Resource::Token(decode(name)?),
            ["status"] if database.is_none() => Resource::Status,
            ["log"] if database.is_none() => Resource::Log,
            _ => return Err(Problem::not_found()),
        };
        Ok(Self { database, resource })
    }
}

impl Resource {
    /// The path templates, by which metrics are grouped.
    pub const TEMPLATES: [&str; 37] = [
        "/health",
        "/metrics",
        "/databases",
        "/openapi.json",
        "/tables",
        "/tables/{table}",
        "/tables/{table}/rows",
        "/tables/{table}/rows/{key}",
        "/tables/{table}/import",
        "/tables/{table}/export",
        "/tables/{table}/aggregate",
        "/tables/{table}/changes",
        "/batch",
        "/sql",
        "/",
        "/tables/{table}/rows/{key}/history",
        "/session",
        "/studio/{file}",
        "/changes",
        "/migrations",
        "/statements",
        "/tables/{table}/query",
        "/backups",
        "/backups/{file}",
        "/backups/{file}/verify",
        "/backups/{file}/restore",
        "/sizes",
        "/access",
        "/access/roles/{name}",
        "/access/users/{name}",
        "/access/tokens/{name}",
        "/status",
        "/log",
        "/mcp",
        "/tables/{table}/rows/{key}/columns/{column}",
        "/tables/{table}/plan",
        "other",
    ];
    /// The index of requests without a route.
    pub const OTHER: usize = 36;

    /// The methods of all resources together.
    pub const ALL_METHODS: &'static str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

    /// The index of its template.
    pub const fn index(&self) -> usize {
        match self {
            Self::Health => 0,
            Self::Metrics => 1,
            Self::Databases => 2,
            Self::OpenApi => 3,
            Self::Tables => 4,
            Self::Table(_) => 5,
            Self::Rows(_) => 6,
            Self::Row(..) => 7,
            Self::Import(_) => 8,
            Self::Export(_) => 9,
            Self::Aggregate(_) => 10,
            Self::Changes(_) => 11,
            Self::Batch => 12,
            Self::Sql => 13,
            Self::Home => 14,
            Self::History(..) => 15,
            Self::Session => 16,
            Self::Studio(_) => 17,
            Self::AllChanges => 18,
            Self::Migrations => 19,
            Self::Statements => 20,
            Self::Query(_) => 21,
            Self::Backups => 22,
            Self::Backup(_) => 23,
            Self::VerifyBackup(_) => 24,
            Self::RestoreBackup(_) => 25,
            Self::Sizes => 26,
            Self::Access => 27,
            Self::Role(_) => 28,
            Self::User(_) => 29,
            Self::Token(_) => 30,
            Self::Status => 31,
            Self::Log => 32,
            Self::Mcp => 33,
            Self::Value(..) => 34,
            Self::Plan(_) => 35,
        }
    }

    /// Whether its duration depends on the length of a body or of a table, so that no time limit applies.
    pub const fn is_stream(&self) -> bool {
        let is_load =
            matches!(self, Self::Import(_) | Self::Export(_) | Self::Batch | Self::Value(..));
        let is_long = matches!(
            self,
            Self::Migrations
                | Self::Backups
                | Self::Backup(_)
                | Self::VerifyBackup(_)
                | Self::RestoreBackup(_)
        );
        is_load || is_long
    }

    /// Whether it is a part of the studio: what only browsers need.
    pub const fn is_for_browsers(&self) -> bool {
        matches!(self, Self::Home | Self::Session | Self::Studio(_))
    }

    /// The methods that it supports.
    pub const fn methods(&self) -> &'static str {
        match self {
            Self::Rows(_) => "GET, HEAD, POST, PATCH, DELETE, OPTIONS",
            Self::Row(..) => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
            Self::Value(..) => "GET, HEAD, PUT, OPTIONS",
            Self::Import(_) | Self::Batch | Self::Sql | Self::Mcp => "POST, OPTIONS",
            Self::Session => "GET, HEAD, POST, DELETE, OPTIONS",
            Self::Migrations | Self::Backups => "GET, HEAD, POST, OPTIONS",
            Self::VerifyBackup(_) | Self::RestoreBackup(_) => "POST, OPTIONS",
            Self::Role(_) | Self::User(_) | Self::Token(_) => "PUT, DELETE, OPTIONS",
            _ => "GET, HEAD, OPTIONS",
        }
    }
}

/// Decodes a percent-encoded path segment.
pub(crate) fn decode(segment: &str) -> Result<String, Problem> {
    let text = percent_decode_str(segment).decode_utf8();
    text.map(String::from).map_err(|_| Problem::bad_request("the path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_map_to_resources() {
        let of = |path: &str| Route::of(path).map(|route| (route.database, route.resource)).ok();
        let text = str::to_owned;
        assert_eq!(of("/tables/a%2Fb"), Some((None, Resource::Table(text("a/b")))));
        assert_eq!(
            of("/databases/x/tables/t/rows/1,%2C"),
            Some((Some(text("x")), Resource::Row(text("t"), text("1,%2C"))))
        );
        assert_eq!(of("/tables/t/rows/"), Some((None, Resource::Row(text("t"), text("")))));
        assert_eq!(of("/databases"), Some((None, Resource::Databases)));
        assert_eq!(of("/tables/.."), Some((None, Resource::Table(text("..")))));
        assert_eq!(of("/"), Some((None, Resource::Home)));
        assert_eq!(of("/databases/x/"), Some((Some(text("x")), Resource::Home)));
        let value = Resource::Value(text("t"), text("1"), text("a/b"));
        assert_eq!(of("/tables/t/rows/1/columns/a%2Fb"), Some((None, value)));
        let of_row = Resource::History(text("t"), text("1%2F2"));
        assert_eq!(of("/tables/t/rows/1%2F2/history"), Some((None, of_row)));
        for path in [
            "",
            "/databases/",
            "*",
            "//",
            "/tables/t/",
            "/tables/t/rows/1/2",
            "/databases/x/health",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
        assert_eq!(of("/tables/%ff"), None);
    }

    #[test]
    fn the_studio_is_no_part_of_a_database() {
        let of = |path: &str| Route::of(path).map(|route| (route.database, route.resource)).ok();
        assert_eq!(of("/session"), Some((None, Resource::Session)));
        assert_eq!(of("/studio/"), Some((None, Resource::Studio(String::new()))));
        for path in ["/studio", "/studio/a/b", "/databases/x/session", "/databases/x/studio/"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
