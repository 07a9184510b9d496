//! What a path names.

use crate::problem::Problem;
use percent_encoding::percent_decode_str;

/// What a request is about, and of which database: the first where none is named.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub database: Option<String>,
    pub resource: Resource,
}

/// What a request is about.
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
    /// The key's segment, as it came: its columns are parted before they are decoded.
    Row(String, String),
    /// Of the row with this key, a segment as it came.
    History(String, String),
    Import(String),
    Export(String),
    Aggregate(String),
    Changes(String),
    Batch,
    Sql,
}

impl Route {
    /// Takes a path apart.
    ///
    /// # Errors
    /// 404 where it names nothing; 400 where it is not UTF-8 in percent signs.
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
            [""] => Resource::Home,
            ["openapi.json"] => Resource::OpenApi,
            ["tables"] => Resource::Tables,
            ["tables", table] => Resource::Table(decode(table)?),
            ["tables", table, "rows"] => Resource::Rows(decode(table)?),
            ["tables", table, "rows", key] => Resource::Row(decode(table)?, (*key).to_owned()),
            ["tables", table, "rows", key, "history"] => {
                Resource::History(decode(table)?, (*key).to_owned())
            }
            ["tables", table, "import"] => Resource::Import(decode(table)?),
            ["tables", table, "export"] => Resource::Export(decode(table)?),
            ["tables", table, "aggregate"] => Resource::Aggregate(decode(table)?),
            ["tables", table, "changes"] => Resource::Changes(decode(table)?),
            ["batch"] => Resource::Batch,
            ["sql"] => Resource::Sql,
            _ => return Err(Problem::not_found()),
        };
        Ok(Self { database, resource })
    }
}

impl Resource {
    /// The paths, with names for what varies: what metrics are kept by.
    pub const TEMPLATES: [&str; 17] = [
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
        "other",
    ];
    /// The place in that list of what no route leads to.
    pub const OTHER: usize = 16;

    /// The methods of all of them together.
    pub const ANY: &'static str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

    /// Its place in that list.
    pub const fn place(&self) -> usize {
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
        }
    }

    /// Whether it lasts as long as its body does.
    pub const fn is_stream(&self) -> bool {
        matches!(self, Self::Import(_) | Self::Export(_) | Self::Batch)
    }

    /// The methods that it knows.
    pub const fn allow(&self) -> &'static str {
        match self {
            Self::Rows(_) => "GET, HEAD, POST, OPTIONS",
            Self::Row(..) => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
            Self::Import(_) | Self::Batch | Self::Sql => "POST, OPTIONS",
            _ => "GET, HEAD, OPTIONS",
        }
    }
}

/// A segment without its percent signs.
pub(crate) fn decode(segment: &str) -> Result<String, Problem> {
    let text = percent_decode_str(segment).decode_utf8();
    text.map(String::from).map_err(|_| Problem::bad_request("the path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_things() {
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
}
