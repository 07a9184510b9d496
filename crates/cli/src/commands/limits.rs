//! The settings of the listeners of `bobak serve`, as flags.

use super::arguments::duration;
use bobak::engine::settings::{Configurable, SettingInfo, SettingKind};
use bobak_http::Settings as Http;
use bobak_server::Settings as Wire;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

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
        let wire = wire.into_iter().map(|info| argument::<Wire>(info, "Limits"));
        command.args(wire).args(http.into_iter().map(|info| argument::<Http>(info, "HTTP limits")))
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
        set_given(&mut self.wire, matches)?;
        set_given(&mut self.http, matches)
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

/// The default of a flag.
pub fn default(info: &SettingInfo) -> String {
    let http = Http::SETTINGS.iter().find(|other| other.name == info.name);
    match http.map(written_default).filter(|other| *other != written_default(info)) {
        Some(other) => format!("{}; HTTP {other}", written_default(info)),
        None => written_default(info),
    }
}

/// The default as the flag takes it: times with a unit.
fn written_default(info: &SettingInfo) -> String {
    let value = info.default();
    match value.parse::<u64>().map(|time| time / 1_000) {
        Ok(seconds) if info.kind == SettingKind::Duration && seconds % 60 == 0 => {
            format!("{}m", seconds / 60)
        }
        Ok(seconds) if info.kind == SettingKind::Duration => format!("{seconds}s"),
        _ => value,
    }
}

fn argument<S: Configurable + 'static>(info: &'static SettingInfo, heading: &'static str) -> Arg {
    let help = match info.kind {
        SettingKind::Switch => info.summary(),
        SettingKind::List => format!("{}; may be repeated", info.summary()),
        _ => format!("{} [default: {}]", info.summary(), default(info)),
    };
    let argument = Arg::new(flag(info)).long(flag(info)).help(help).help_heading(heading);
    let (action, value_name) = match (info.kind, info.unit) {
        (SettingKind::Switch, _) => return argument.action(ArgAction::SetTrue),
        (SettingKind::List, unit) => (ArgAction::Append, unit.to_uppercase()),
        (SettingKind::Duration, _) => (ArgAction::Set, "TIME".to_owned()),
        (SettingKind::Word(_), _) => (ArgAction::Set, "KIND".to_owned()),
        (_, "") => (ArgAction::Set, "N".to_owned()),
        (_, unit) => (ArgAction::Set, unit.to_uppercase()),
    };
    let parse = move |text: &str| parse::<S>(info, text);
    argument.action(action).value_name(value_name).value_parser(parse)
}

/// The value of a flag as the setting takes it.
fn parse<S: Configurable>(info: &SettingInfo, text: &str) -> Result<String, String> {
    let text = match info.kind {
        SettingKind::Duration => duration(text)?.as_millis().to_string(),
        _ => text.to_owned(),
    };
    let tried = S::default().set(info.key, &text);
    tried.map(|()| text).map_err(|_| format!("expected {}", info.expected()))
}

/// Sets what the command line gives.
fn set_given<S: Configurable>(settings: &mut S, matches: &ArgMatches) -> Result<(), clap::Error> {
    for info in S::SETTINGS {
        let flag = flag(info);
        let given = match info.kind {
            SettingKind::Switch => matches.get_flag(&flag).then(|| "on".to_owned()),
            _ => matches.get_many::<String>(&flag).map(join),
        };
        if let Some(text) = given {
            let wrong =
                |error: bobak::Error| clap::Error::raw(ErrorKind::InvalidValue, error.message());
            settings.set(info.key, &text).map_err(wrong)?;
        }
    }
    Ok(())
}

fn join<'v>(values: impl Iterator<Item = &'v String>) -> String {
    values.map(String::as_str).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
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
