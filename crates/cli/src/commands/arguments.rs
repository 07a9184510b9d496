//! Parsers for flag values that several commands use.

use bobak::schema::Type;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// Parses `COLUMN=TYPE`.
///
/// # Errors
/// A message for the user.
pub fn column_type(text: &str) -> Result<(String, Type), String> {
    let (column, name) =
        text.rsplit_once('=').ok_or_else(|| "expected COLUMN=TYPE, as in zip=text".to_owned())?;
    let ty = Type::from_name(&name.to_ascii_lowercase()).ok_or_else(|| {
        let names: Vec<_> = Type::ALL.iter().map(|ty| ty.name()).collect();
        format!("there is no type {name:?}; there are {}", names.join(", "))
    })?;
    Ok((column.to_owned(), ty))
}

/// Parses a database: a URL, or the name of an SQLite file, also with settings. The scheme of a URL has letters and digits; so
/// `./a:b.db`, `C:a.db` and `backup-04:00.db` are names. Of an existing file, `%` and `?` in the name mean themselves.
///
/// # Errors
/// None; opening the database reports a malformed URL.
pub fn database_url(text: &str) -> Result<String, Infallible> {
    let is_scheme = |(scheme, _): (&str, _)| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+';
        scheme.len() > 1
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(is_part)
    };
    Ok(if text.split_once(':').is_some_and(is_scheme) {
        text.to_owned()
    } else if Path::new(text).is_file() {
        format!("sqlite:{}", text.replace('%', "%25").replace('?', "%3F").replace('#', "%23"))
    } else {
        format!("sqlite:{text}")
    })
}

/// Parses `NAME=DATABASE`, a database as [`database_url`].
///
/// # Errors
/// A message for the user.
pub fn named_database(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && !url.is_empty() && !name.contains(':') => {
            let Ok(url) = database_url(url);
            Ok((name.to_owned(), url))
        }
        _ => Err("expected NAME=DATABASE, as in stock=stock.db".to_owned()),
    }
}

/// Parses a delimiter: one ASCII character, or the word `tab`.
///
/// # Errors
/// A message for the user.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("a quote or a line end can't be a delimiter".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}

/// Parses a duration: a number followed by s, m, h or d.
///
/// # Errors
/// A message for the user.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a duration such as 15m, 1h or 1d".to_owned();
    let (index, unit) = text.char_indices().last().ok_or_else(wrong)?;
    let number: u64 = text.get(..index).and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    match number.checked_mul(seconds).filter(|seconds| (1..=31_536_000).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err("expected a duration from one second to one year".to_owned()),
    }
}

/// Parses a duration that may be shorter than a second: `500ms`, or as [`duration`].
pub fn short_duration(text: &str) -> Result<Duration, String> {
    let Some(millis) = text.strip_suffix("ms") else { return duration(text) };
    match millis.parse() {
        Ok(millis @ 1..=3_600_000) => Ok(Duration::from_millis(millis)),
        _ => Err("expected a duration such as 500ms, 2s or 15m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1d"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "h", "1", "1w", "0s", "-1h", "400d", "99999999999999999999h", "1é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn short_durations_may_be_milliseconds() {
        assert_eq!(short_duration("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(short_duration("2s"), Ok(Duration::from_secs(2)));
        for wrong in ["0ms", "ms", "-1ms", "1.5ms", "3600001ms"] {
            assert!(short_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn database_without_scheme_is_sqlite_file() {
        for (text, url) in [
            ("app.db", "sqlite:app.db"),
            ("./a/b.db?mode=ro", "sqlite:./a/b.db?mode=ro"),
            ("memory:", "memory:"),
            ("postgres://h/db", "postgres://h/db"),
            ("nothing:x.db", "nothing:x.db"),
            ("/a:b.db", "sqlite:/a:b.db"),
            ("backup-04:00.db", "sqlite:backup-04:00.db"),
            ("C:a.db", "sqlite:C:a.db"),
        ] {
            let Ok(read) = database_url(text);
            assert_eq!(read, url);
        }
    }

    #[test]
    fn column_types_and_delimiters_are_parsed() {
        assert_eq!(column_type("zip=Text"), Ok(("zip".to_owned(), Type::Text)));
        assert_eq!(column_type("a=b=i64"), Ok(("a=b".to_owned(), Type::I64)));
        assert!(column_type("zip").is_err());
        assert!(column_type("zip=string").expect_err("no type").contains("there are bool, i8"));
        assert_eq!(delimiter(";"), Ok(b';'));
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert!(delimiter("ab").is_err() && delimiter("é").is_err() && delimiter("\"").is_err());
    }
}
