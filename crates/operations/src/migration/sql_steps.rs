//! Steps in SQL: for which engines they are, and what they may not have.

use super::statements::statements;
use super::step::MigrationStep;
use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_sql::{Dialect, first_word};

/// The engines that steps in SQL may name.
const ENGINES: [&str; 11] = [
    "sqlite", "postgres", "mysql", "firebird", "mssql", "oracle", "odbc", "access", "memory", "kv",
    "remote",
];

/// Whether a step for these engines runs on this one.
pub(super) fn runs_on(engines: &[String], engine: &dyn Engine) -> bool {
    engines.is_empty() || engines.iter().any(|name| engine_name(name) == engine.name())
}

/// The name of an engine that has others in URLs.
fn engine_name(name: &str) -> &str {
    match name {
        "mariadb" => "mysql",
        "postgresql" => "postgres",
        other => other,
    }
}

/// The lexical rules of an engine.
pub(super) fn syntax_of(engine: &str) -> SqlSyntax {
    match engine_name(engine) {
        "mysql" => Dialect::MySql.syntax(),
        "postgres" => SqlSyntax::Postgres,
        _ => SqlSyntax::Sqlite,
    }
}

/// Rejects steps in SQL that name an engine which does not exist, and statements that would end the transaction of the
/// migration, before anything is changed.
///
/// # Errors
/// `Misuse`, with the migration and the step.
pub(super) fn check(engine: &dyn Engine, migration: &str, steps: &[MigrationStep]) -> Result<()> {
    for (number, step) in steps.iter().enumerate() {
        let MigrationStep::Sql { engines, text } = step else { continue };
        let failed = |message: String| {
            let message = format!(
                "migration {migration}, step {} ({}): {message}",
                number + 1,
                step.summary()
            );
            Error::new(ErrorKind::Misuse, message)
        };
        let is_known = |name: &&String| {
            let name = engine_name(name);
            ENGINES.contains(&name) || name == engine.name()
        };
        if let Some(name) = engines.iter().find(|name| !is_known(name)) {
            let known = ENGINES.join(", ");
            return Err(failed(format!("there is no engine '{name}'; there are: {known}")));
        }
        if !runs_on(engines, engine) {
            continue;
        }
        let syntax = syntax_of(engine.name());
        let found = statements(syntax, text);
        if let Some(word) = found.iter().find_map(|text| ending_word(engine.name(), text)) {
            return Err(failed(format!(
                "{word} begins or ends a transaction, and a migration has its own: leave it out"
            )));
        }
    }
    Ok(())
}

/// The word that begins or ends a transaction, if the statement does.
fn ending_word(engine: &str, text: &str) -> Option<String> {
    let syntax = syntax_of(engine);
    let second = SqlTokenizer::new(syntax, text).significant().nth(1);
    let has_second = |word: &str| second.is_some_and(|token| token.is_word(word));
    let first = first_word(syntax, text).to_ascii_uppercase();
    let ends = match first.as_str() {
        "COMMIT" | "ABORT" => true,
        // Elsewhere these are parts of blocks, if more follows.
        "BEGIN" | "END" => second.is_none() || matches!(engine, "sqlite" | "postgres" | "mysql"),
        "START" | "PREPARE" => has_second("transaction"),
        "ROLLBACK" => {
            let mut words = SqlTokenizer::new(syntax, text).significant();
            !words.any(|token| token.is_word("to"))
        }
        _ => false,
    };
    ends.then_some(first)
}
