//! The macros that declare settings.

/// Declares the settings of something: see [the module](mod@crate::settings).
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
            const KIND: $crate::settings::SettingKind =
                $crate::settings::SettingKind::Word(&[$($word),+]);

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
