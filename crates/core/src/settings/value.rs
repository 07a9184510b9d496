//! The types of settings.

use super::SettingKind;
use std::path::PathBuf;
use std::time::Duration;

/// The type of a setting.
pub trait SettingValue: Clone + PartialEq {
    /// How values are written.
    const KIND: SettingKind;

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
            const KIND: SettingKind = SettingKind::Number;

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
    const KIND: SettingKind = SettingKind::Switch;

    fn parse(text: &str) -> Option<Self> {
        let is_on = text.eq_ignore_ascii_case("on");
        (is_on || text.eq_ignore_ascii_case("off")).then_some(is_on)
    }

    fn show(&self) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }
}

impl SettingValue for Duration {
    const KIND: SettingKind = SettingKind::Duration;

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
    const KIND: SettingKind = SettingKind::Text;

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl SettingValue for PathBuf {
    const KIND: SettingKind = SettingKind::Text;

    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl SettingValue for Vec<String> {
    const KIND: SettingKind = SettingKind::List;

    fn parse(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::to_owned).collect())
    }

    fn show(&self) -> String {
        self.join(",")
    }
}

impl<V: SettingValue> SettingValue for Option<V> {
    const KIND: SettingKind = V::KIND;

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
