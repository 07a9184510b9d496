//! The settings of the listeners of `bobak serve`, as flags.

use super::setting_flags::{argument, set_given, written_default};
use bobak::engine::settings::{Configurable, SettingInfo};
use bobak_http::Settings as Http;
use bobak_server::Settings as Wire;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// The settings of all listeners. A setting that both kinds of listeners have is one flag for both; other flags of HTTP
/// listeners begin with `http`. Maximum numbers apply separately to the two kinds.
#[derive(Debug, Default)]
pub struct ServeLimits {
    /// The settings of the wire-protocol listeners.
    pub wire: Wire,
    /// The settings of the HTTP listeners.
    pub http: Http,
}

impl ServeLimits {
    /// The maximum concurrent readers of a file: all workers, as many again for Unix-socket clients, and HTTP streams.
    pub fn readers(&self, http: bool) -> usize {
        let streams = if http { self.http.max_streams } else { 0 };
        self.wire.max_workers.saturating_mul(2).saturating_add(streams)
    }
}

impl Args for ServeLimits {
    fn augment_args(command: Command) -> Command {
        let [(_, wire), (_, http)] = settings();
        let wire = wire.into_iter().map(|info| limit::<Wire>(info).help_heading("Limits"));
        let http = http.into_iter().map(|info| limit::<Http>(info).help_heading("HTTP limits"));
        command.args(wire).args(http)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServeLimits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut limits = Self::default();
        limits.update_from_arg_matches(matches)?;
        Ok(limits)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        set_given(&mut self.wire, matches, flag)?;
        set_given(&mut self.http, matches, flag)
    }
}

/// The wire-protocol listeners' setting with the same name.
fn of_wire(info: &SettingInfo) -> Option<&'static SettingInfo> {
    Wire::SETTINGS.iter().find(|other| other.name == info.name)
}

/// The settings by kind of listener; those of both are with the first.
pub fn settings() -> [(&'static str, Vec<&'static SettingInfo>); 2] {
    let http = Http::SETTINGS.iter().filter(|info| of_wire(info).is_none());
    [("serve", Wire::SETTINGS.iter().collect()), ("http", http.collect())]
}

/// The flag of a setting, without its dashes.
pub fn flag(info: &SettingInfo) -> String {
    let name = info.name.replace('_', "-");
    if of_wire(info).is_some() { name } else { format!("http-{name}") }
}

fn limit<S: Configurable + 'static>(info: &'static SettingInfo) -> Arg {
    argument::<S>(info, flag(info), &default(info))
}

/// The default of a flag.
pub fn default(info: &SettingInfo) -> String {
    let http = Http::SETTINGS.iter().find(|other| other.name == info.name);
    match http.map(written_default).filter(|other| *other != written_default(info)) {
        Some(other) => format!("{}; HTTP {other}", written_default(info)),
        None => written_default(info),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::engine::settings::SettingKind;
    use std::time::Duration;

    fn from(flags: &[String]) -> Result<ServeLimits, clap::Error> {
        let command = ServeLimits::augment_args(Command::new("serve").no_binary_name(true));
        ServeLimits::from_arg_matches(&command.try_get_matches_from(flags)?)
    }

    /// A value of a setting that is not its default, as a flag, and as the setting shows it.
    fn other(info: &SettingInfo) -> (Option<&'static str>, &'static str) {
        match info.kind {
            SettingKind::Switch => (None, "on"),
            SettingKind::Number if info.unit == "percent" => (Some("7"), "7"),
            SettingKind::Number => (Some("1234"), "1234"),
            SettingKind::Duration => (Some("7m"), "420000"),
            SettingKind::Word(words) => (words.last().copied(), words.last().copied().unwrap()),
            SettingKind::Text | SettingKind::List => (Some("x"), "x"),
        }
    }

    fn check<S: Configurable + std::fmt::Debug>(part: impl Fn(ServeLimits) -> S) {
        for info in S::SETTINGS {
            let (written, shown) = other(info);
            let flags: Vec<_> = [format!("--{}", flag(info))]
                .into_iter()
                .chain(written.map(str::to_owned))
                .collect();
            let mut expected = S::default();
            expected.set(info.key, shown).unwrap();
            let settings = part(from(&flags).unwrap());
            assert_eq!(format!("{settings:?}"), format!("{expected:?}"), "{flags:?}");
            assert_ne!(format!("{settings:?}"), format!("{:?}", S::default()), "{flags:?}");
        }
    }

    #[test]
    fn every_setting_has_a_flag() {
        check(|limits| limits.wire);
        check(|limits| limits.http);
    }

    #[test]
    fn wrong_values_say_what_is_expected() {
        for (flag, value, expected) in [
            ("--max-workers", "0", "expected a whole number, at least 1"),
            ("--max-frame", "1023", "expected a whole number of bytes, at least 1024"),
            ("--client-quota", "101", "expected a whole number of percent, 1 to 100"),
            ("--request-timeout", "30", "expected a duration such as 15m"),
            ("--http-sql", "all", "expected one of none, read, write"),
        ] {
            let error = from(&[flag.to_owned(), value.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(flag), "{error}");
        }
    }

    #[test]
    fn defaults_of_both_kinds_are_shown() {
        let info = Wire::SETTINGS.iter().find(|info| info.name == "request_timeout").unwrap();
        assert_eq!(default(info), "5m; HTTP 1m");
        assert_eq!(ServeLimits::default().wire.request_timeout, Duration::from_secs(300));
    }
}
