//! Settings, each declared once.
//!
//! [`settings!`](crate::settings!) turns a declaration into the struct, its `Default` and `Debug`, a documented builder
//! method for each setting, parsing by name (for URLs and flags), and the table [`Configurable::SETTINGS`], from which
//! help and documentation are generated. [`choices!`](crate::choices!) does the same for a setting that is one of
//! several words.
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

use crate::url::{config, decode};
use crate::{Error, Result};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

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
    /// As [`set`](Self::set); `Config` for a malformed query, and for a key that is there twice.
    fn set_query(&mut self, query: &str) -> Result<()> {
        let mut seen = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| config(format!("'{part}' is not name=value")))?;
            if seen.contains(&key) {
                return Err(config(format!("'{key}' is there twice")));
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
    pub kind: ValueKind,
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
pub enum ValueKind {
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
        kind: ValueKind,
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
            (ValueKind::Switch, _) => "one of on, off".to_owned(),
            (ValueKind::Word(words), _) => format!("one of {}", words.join(", ")),
            (ValueKind::Duration, _) => "a whole number of milliseconds".to_owned(),
            (ValueKind::Number, "") => "a whole number".to_owned(),
            (ValueKind::Number, unit) => format!("a whole number of {unit}"),
            (ValueKind::Text, "") => "a text".to_owned(),
            (ValueKind::List, "") => "a list".to_owned(),
            (ValueKind::Text | ValueKind::List, unit) => unit.to_owned(),
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

/// The type of a setting.
pub trait SettingValue: Clone + PartialEq {
    /// How values are written.
    const KIND: ValueKind;

    /// Parses a value; `None` if the text is none.
    fn parse(text: &str) -> Option<Self>;

    /// The value as [`parse`](Self::parse) takes it.
    fn show(&self) -> String;

    /// Parses a value of a setting that can be absent. Of those, a duration of zero means no limit.
    fn parse_optional(text: &str) -> Option<Option<Self>> {
        Self::parse(text).map(Some)
    }

    /// A number within a range; other values as they are.
    #[must_use]
    fn clamped(self, _min: u64, _max: u64) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl SettingValue for $type {
            const KIND: ValueKind = ValueKind::Number;

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }

            fn clamped(self, min: u64, max: u64) -> Self {
                let min = Self::try_from(min).unwrap_or(Self::MAX);
                self.max(min).min(Self::try_from(max).unwrap_or(Self::MAX))
            }
        }
    )+};
}
numbers!(u8 u32 u64 usize);

impl SettingValue for bool {
    const KIND: ValueKind = ValueKind::Switch;

    fn parse(text: &str) -> Option<Self> {
        let is_on = text.eq_ignore_ascii_case("on");
        (is_on || text.eq_ignore_ascii_case("off")).then_some(is_on)
    }

    fn show(&self) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }
}

impl SettingValue for Duration {
    const KIND: ValueKind = ValueKind::Duration;

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self::from_millis)
    }

    fn show(&self) -> String {
        self.as_millis().to_string()
    }

    fn parse_optional(text: &str) -> Option<Option<Self>> {
        Self::parse(text).map(|time| Some(time).filter(|time| !time.is_zero()))
    }
}

impl SettingValue for String {
    const KIND: ValueKind = ValueKind::Text;

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl SettingValue for PathBuf {
    const KIND: ValueKind = ValueKind::Text;

    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl SettingValue for Vec<String> {
    const KIND: ValueKind = ValueKind::List;

    fn parse(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::to_owned).collect())
    }

    fn show(&self) -> String {
        self.join(",")
    }
}

impl<V: SettingValue> SettingValue for Option<V> {
    const KIND: ValueKind = V::KIND;

    fn parse(text: &str) -> Option<Self> {
        V::parse_optional(text)
    }

    fn show(&self) -> String {
        self.as_ref().map(V::show).unwrap_or_default()
    }

    fn clamped(self, min: u64, max: u64) -> Self {
        self.map(|value| value.clamped(min, max))
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

/// Declares the settings of something: see [the module](crate::settings).
///
/// A setting is `name: Type = default, option = value, …;` with its documentation above it. The options are the
/// fields of [`SettingInfo`](crate::settings::SettingInfo): `key`, `default_text`, `unit`, `min`, `max`, `secret`.
/// Builder methods move numbers into their range. Further fields follow in `and { name: Type, … }`.
#[macro_export]
macro_rules! settings {
    (@argument String) => { impl Into<String> };
    (@argument PathBuf) => { impl Into<PathBuf> };
    (@argument Option<String>) => { impl Into<String> };
    (@argument Option<PathBuf>) => { impl Into<PathBuf> };
    (@argument Option<$type:ident>) => { impl Into<Option<$type>> };
    (@argument $type:ident $(<$inner:ident>)?) => { $type $(<$inner>)? };
    (@value $value:ident String) => { $value.into() };
    (@value $value:ident PathBuf) => { $value.into() };
    (@value $value:ident Option<String>) => { Some($value.into()) };
    (@value $value:ident Option<PathBuf>) => { Some($value.into()) };
    (@value $value:ident Option<$type:ident>) => { $value.into() };
    (@value $value:ident $type:ident $(<$inner:ident>)?) => { $value };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident with $field_vis:vis settings {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ident $(<$inner:ident>)? = $default:expr
                    $(, $option:ident = $option_value:expr)*;
            )*
        }
        $(and { $($(#[$other_meta:meta])* $other:ident: $other_type:ty,)* })?
    ) => {
        $(#[$meta])*
        #[must_use]
        $vis struct $name {
            $($(#[doc = $doc])+ $field_vis $field: $type $(<$inner>)?,)*
            $($($(#[$other_meta])* $field_vis $other: $other_type,)*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($(#[$other_meta])* $other: Default::default(),)*)?
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use $crate::settings::shown;
                let mut fields = f.debug_struct(stringify!($name));
                $(fields.field(stringify!($field), shown::<Self>(stringify!($field), &self.$field));)*
                $($($(#[$other_meta])* fields.field(stringify!($other), &self.$other);)*)?
                fields.finish()
            }
        }

        impl $name {$(
            $(#[doc = $doc])+
            ///
            #[doc = concat!(
                "Default: `", stringify!($default), "`"
                $(, "; ", stringify!($option), ": `", stringify!($option_value), "`")*, "."
            )]
            pub fn $field(mut self, $field: $crate::settings!(@argument $type $(<$inner>)?)) -> Self {
                let value = $crate::settings!(@value $field $type $(<$inner>)?);
                self.$field = $crate::settings::clamped::<Self, _>(stringify!($field), value);
                self
            }
        )*}

        impl $crate::settings::Configurable for $name {
            const SETTINGS: &'static [$crate::settings::SettingInfo] = &[$(
                $crate::settings::SettingInfo {
                    $($option: $option_value,)*
                    ..$crate::settings::SettingInfo::new(
                        stringify!($field),
                        concat!($($doc, "\n"),+),
                        <$type $(<$inner>)? as $crate::settings::SettingValue>::KIND,
                        || $crate::settings::SettingValue::show(&Self::default().$field),
                    )
                },
            )*];

            fn set(&mut self, key: &str, text: &str) -> $crate::Result<()> {
                let info = $crate::settings::find::<Self>(key)?;
                $(if info.name == stringify!($field) {
                    self.$field = info.parse(text)?;
                })*
                Ok(())
            }
        }
    };
}

/// Gives the variants of an enum the words that name them in URLs, which makes it a type for
/// [`settings!`](crate::settings!).
#[macro_export]
macro_rules! choices {
    ($type:ident: $($word:literal => $variant:ident),+ $(,)?) => {
        impl $type {
            /// Its word in URLs, in lower case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl $crate::settings::SettingValue for $type {
            const KIND: $crate::settings::ValueKind =
                $crate::settings::ValueKind::Word(&[$($word),+]);

            fn parse(text: &str) -> Option<Self> {
                $(if text.eq_ignore_ascii_case($word) {
                    return Some(Self::$variant);
                })+
                None
            }

            fn show(&self) -> String {
                self.as_str().to_owned()
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            /// Parses the word, in any case.
            ///
            /// # Errors
            /// `Config` for another word; the message lists the words.
            fn from_str(word: &str) -> $crate::Result<Self> {
                $crate::settings::SettingValue::parse(word).ok_or_else(|| {
                    let words = [$($word),+].join(", ");
                    $crate::url::config(format!("'{word}' is not one of {words}"))
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Colour {
        Red,
        Green,
    }

    crate::choices!(Colour: "red" => Red, "green" => Green);

    crate::settings! {
        /// One setting of each type.
        #[derive(Clone)]
        struct All with pub(self) settings {
            /// A number.
            number: u8 = 3, min = 2, max = 9;
            /// A number
            /// of bytes.
            ///
            /// More about it.
            bytes: Option<u64> = None, unit = "bytes", default_text = "all";
            /// A duration.
            time: Duration = Duration::from_secs(1), key = "wait";
            /// A duration, or none.
            limit: Option<Duration> = Some(Duration::from_secs(1));
            /// A switch.
            switch: bool = false;
            /// A word.
            colour: Colour = Colour::Red;
            /// A text.
            text: String = "a".to_owned();
            /// A text, or none.
            name: Option<String> = None, secret = true;
            /// A file.
            file: PathBuf = PathBuf::new(), unit = "a file";
            /// A file, or none.
            other: Option<PathBuf> = None, unit = "a file";
            /// A list.
            list: Vec<String> = Vec::new();
        } and {
            rest: u8,
        }
    }

    #[test]
    fn builder_and_url_set_the_same() {
        let mut all = All { rest: 5, ..All::default() };
        all.set_query(
            "number=4&bytes=7&wait=20&limit=0&switch=ON&colour=Green&text=b%20c&name=d&file=e&other=f&list=g,h",
        )
        .unwrap();
        let built = All { rest: 5, ..All::default() }
            .number(4)
            .bytes(7)
            .time(Duration::from_millis(20))
            .limit(None)
            .switch(true)
            .colour(Colour::Green)
            .text("b c")
            .name("d")
            .file("e")
            .other("f")
            .list(vec!["g".to_owned(), "h".to_owned()]);
        assert_eq!(format!("{all:?}"), format!("{built:?}"));
        assert_eq!((built.name.as_deref(), built.bytes, built.limit), (Some("d"), Some(7), None));
        assert!(!format!("{built:?}").contains("\"d\""), "{built:?}");
        assert_eq!((All::default().number(0).number, All::default().number(10).number), (2, 9));
    }

    #[test]
    fn wrong_values_are_one_sentence() {
        for (query, message) in [
            (
                "size=1",
                "unknown setting 'size'; there are: number, bytes, wait, limit, switch, colour, text, name, file, other, list",
            ),
            (
                "time=1",
                "unknown setting 'time'; there are: number, bytes, wait, limit, switch, colour, text, name, file, other, list",
            ),
            ("number=1", "number is a whole number, 2 to 9, not '1'"),
            ("number=300", "number is a whole number, 2 to 9, not '300'"),
            ("bytes=-1", "bytes is a whole number of bytes, not '-1'"),
            ("wait=soon", "wait is a whole number of milliseconds, not 'soon'"),
            ("switch=yes", "switch is one of on, off, not 'yes'"),
            ("colour=blue", "colour is one of red, green, not 'blue'"),
            ("number", "'number' is not name=value"),
            ("number=4&number=4", "'number' is there twice"),
        ] {
            let error = All::default().set_query(query).unwrap_err();
            assert_eq!((error.kind(), error.message()), (crate::ErrorKind::Config, message));
        }
        assert_eq!(
            "blue".parse::<Colour>().unwrap_err().message(),
            "'blue' is not one of red, green"
        );
    }

    #[test]
    fn table_describes_each_setting() {
        let described = |name: &str| {
            let info = All::SETTINGS.iter().find(|info| info.name == name).unwrap();
            (info.summary(), info.expected(), info.default())
        };
        let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(described("bytes"), row("A number of bytes", "a whole number of bytes", "all"));
        assert_eq!(described("colour"), row("A word", "one of red, green", "red"));
        assert_eq!(described("time"), row("A duration", "a whole number of milliseconds", "1000"));
        assert_eq!(described("other"), row("A file, or none", "a file", "none"));
    }
}
