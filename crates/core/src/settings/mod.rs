//! Settings, each declared once.
//!
//! [`settings!`](crate::settings!) turns a declaration into the struct, its `Default` and `Debug`, a documented builder
//! method for each setting, parsing by name (for URLs and flags), and the table [`Configurable::SETTINGS`], from which
//! help and documentation are generated. [`choices!`](crate::choices!) does the same for a setting that is one of
//! several words.
//!
//! All settings are declared so: those of engines, in URLs; those of listeners, as flags of `bobak serve`; the options of
//! backups, restores, replays and copies, as flags of these commands; and those of batches, pipelines and caches, which only
//! a program sets. Exceptions: a flag that only a command has is declared there, and the single switch of change capture
//! (`TrackOptions`) is a plain method. Replication and archives have no options but their tables.
//!
//! `bobak settings` prints them, and `cargo xtask settings` compares the tables in the documentation with that. A cache's are
//! not printed, since the program is built without caches.
//!
//! ```
//! use bobak_core::settings::Configurable;
//! use std::time::Duration;
//!
//! bobak_core::settings! {
//!     /// Settings of a pool.
//!     #[derive(Clone)]
//!     pub struct Pool with pub(crate) settings {
//!         /// The maximum number of connections.
//!         connections: usize = 10, min = 1;
//!         /// How long a call waits for a connection.
//!         acquire_timeout: Duration = Duration::from_secs(5);
//!         /// The password.
//!         password: Option<String> = None, secret = true;
//!     }
//! }
//!
//! let mut pool = Pool::default().connections(4).password("secret");
//! pool.set_query("acquire_timeout=250")?;
//! assert_eq!(pool.acquire_timeout, Duration::from_millis(250));
//! let error = pool.set_query("connections=0").unwrap_err();
//! assert_eq!(error.message(), "connections is a whole number, at least 1, not '0'");
//! assert!(!format!("{pool:?}").contains("secret"));
//! # Ok::<(), bobak_core::Error>(())
//! ```

mod declaration;
#[cfg(test)]
mod tests;
mod value;

pub use value::SettingValue;

use crate::url::{config, decode};
use crate::{Error, Result};
use std::fmt;

/// A struct made by [`settings!`](crate::settings!).
pub trait Configurable: Default {
    /// All settings, in the order of their declaration.
    const SETTINGS: &'static [SettingInfo];

    /// Sets one setting, by its key, to a value written as in a URL.
    ///
    /// # Errors
    /// `Config` for an unknown key, which lists the known ones, and for a value that is none.
    fn set(&mut self, key: &str, text: &str) -> Result<()>;

    /// Sets the settings of a URL's query, `key=value&…`, after percent-decoding.
    ///
    /// # Errors
    /// As [`set`](Self::set); `Config` for a malformed query, and for a key that is given twice.
    fn set_query(&mut self, query: &str) -> Result<()> {
        let mut seen = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| config(format!("'{part}' is not name=value")))?;
            if seen.contains(&key) {
                return Err(config(format!("'{key}' is given twice")));
            }
            seen.push(key);
            self.set(key, &decode(value)?)?;
        }
        Ok(())
    }
}

/// What is known about one setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingInfo {
    /// The name of the builder's method.
    pub name: &'static str,
    /// The key in URLs. Default: the name.
    pub key: &'static str,
    /// The documentation. The first paragraph is one sentence.
    pub doc: &'static str,
    /// How its values are written.
    pub kind: SettingKind,
    /// The default, written as a value; empty for none.
    pub default: fn() -> String,
    /// What the default is, if no value says it.
    pub default_text: &'static str,
    /// What a number counts, such as bytes, or what a text is, such as a file.
    pub unit: &'static str,
    /// The smallest number.
    pub min: u64,
    /// The largest number.
    pub max: u64,
    /// Whether logs and errors must not show the value.
    pub secret: bool,
}

/// How the values of a setting are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// `on` or `off`.
    Switch,
    /// A whole number.
    Number,
    /// A whole number of milliseconds.
    Duration,
    /// One of these words, in upper or lower case.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// Texts, separated by commas.
    List,
}

impl SettingInfo {
    /// A setting without range and unit.
    #[must_use]
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        kind: SettingKind,
        default: fn() -> String,
    ) -> Self {
        let (key, max) = (name, u64::MAX);
        Self {
            name,
            key,
            doc,
            kind,
            default,
            default_text: "",
            unit: "",
            min: 0,
            max,
            secret: false,
        }
    }

    /// The first paragraph of the documentation on one line, without the full stop.
    #[must_use]
    pub fn summary(&self) -> String {
        let lines = self.doc.lines().map(str::trim).take_while(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
    }

    /// What the values are: `a whole number of bytes, at least 1024`.
    #[must_use]
    pub fn expected(&self) -> String {
        let what = match (self.kind, self.unit) {
            (SettingKind::Switch, _) => "one of on, off".to_owned(),
            (SettingKind::Word(words), _) => format!("one of {}", words.join(", ")),
            (SettingKind::Duration, _) => "a whole number of milliseconds".to_owned(),
            (SettingKind::Number, "") => "a whole number".to_owned(),
            (SettingKind::Number, unit) => format!("a whole number of {unit}"),
            (SettingKind::Text, "") => "a text".to_owned(),
            (SettingKind::List, "") => "a list".to_owned(),
            (SettingKind::Text | SettingKind::List, unit) => unit.to_owned(),
        };
        match (self.min, self.max) {
            (0, u64::MAX) => what,
            (min, u64::MAX) => format!("{what}, at least {min}"),
            (min, max) => format!("{what}, {min} to {max}"),
        }
    }

    /// The default in words, or as a value.
    #[must_use]
    pub fn default(&self) -> String {
        match (self.default_text, (self.default)()) {
            ("", value) if value.is_empty() => "none".to_owned(),
            ("", value) => value,
            (text, _) => text.to_owned(),
        }
    }

    /// Parses a value, and checks its range.
    ///
    /// # Errors
    /// `Config`, with what is expected.
    pub fn parse<V: SettingValue>(&self, text: &str) -> Result<V> {
        let value =
            V::parse(text).filter(|value| *value == value.clone().clamped(self.min, self.max));
        value.ok_or_else(|| {
            let given = if self.secret { "…" } else { text };
            config(format!("{} is {}, not '{given}'", self.key, self.expected()))
        })
    }
}

/// The setting with a key.
///
/// # Errors
/// `Config`; the message lists the known keys.
pub fn find<C: Configurable>(key: &str) -> Result<&'static SettingInfo> {
    C::SETTINGS.iter().find(|info| info.key == key).ok_or_else(|| unknown::<C>(key))
}

fn unknown<C: Configurable>(key: &str) -> Error {
    let known = C::SETTINGS.iter().map(|info| info.key).collect::<Vec<_>>().join(", ");
    config(format!("unknown setting '{key}'; there are: {known}"))
}

/// A value within the range of the setting with a name, as builder methods store it.
#[doc(hidden)]
pub fn clamped<C: Configurable, V: SettingValue>(name: &str, value: V) -> V {
    match C::SETTINGS.iter().find(|info| info.name == name) {
        Some(info) => value.clamped(info.min, info.max),
        None => value,
    }
}

/// A value as `Debug` shows it.
#[doc(hidden)]
pub fn shown<'v, C: Configurable>(name: &str, value: &'v dyn fmt::Debug) -> &'v dyn fmt::Debug {
    let is_secret = C::SETTINGS.iter().any(|info| info.name == name && info.secret);
    if is_secret { &"…" } else { value }
}
