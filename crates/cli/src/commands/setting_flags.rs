//! Settings as flags of a command: a flag for each, with the same meaning and default.

use super::arguments::duration;
use bobak::engine::settings::{Configurable, SettingInfo, SettingKind};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// The settings of an operation, as flags. A switch that is on by default has a flag `--no-…`.
#[derive(Debug, Default)]
pub struct SettingFlags<S>(pub S);

impl<S: Configurable + 'static> Args for SettingFlags<S> {
    fn augment_args(command: Command) -> Command {
        let flags = S::SETTINGS.iter();
        command.args(flags.map(|info| argument::<S>(info, flag(info), &written_default(info))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Configurable> FromArgMatches for SettingFlags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self(S::default());
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        set_given(&mut self.0, matches, flag)
    }
}

/// The flag of an operation's setting, without its dashes.
pub fn flag(info: &SettingInfo) -> String {
    let no = if is_on(info) { "no-" } else { "" };
    format!("{no}{}", info.key.replace('_', "-"))
}

/// Whether it is a switch that a flag can only turn off.
fn is_on(info: &SettingInfo) -> bool {
    info.kind == SettingKind::Switch && (info.default)() == "on"
}

/// What giving the flag means.
pub fn meaning(info: &SettingInfo) -> String {
    let summary = info.summary();
    let first = summary.chars().next().map_or(0, char::len_utf8);
    match summary.split_at(first) {
        (first, rest) if is_on(info) => format!("Do not {}{rest}", first.to_lowercase()),
        _ => summary,
    }
}

/// A flag for a setting.
pub fn argument<S: Configurable + 'static>(
    info: &'static SettingInfo,
    flag: String,
    default: &str,
) -> Arg {
    let summary = meaning(info);
    let help = match info.kind {
        SettingKind::Switch => summary,
        SettingKind::List => format!("{summary}; may be repeated"),
        SettingKind::Word(words) => {
            format!("{summary}: {} [default: {default}]", words.join(", "))
        }
        _ => format!("{summary} [default: {default}]"),
    };
    let argument = Arg::new(flag.clone()).long(flag).help(help);
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

/// The default as the flag takes it: times with a unit.
pub fn written_default(info: &SettingInfo) -> String {
    let value = if is_on(info) { "off".to_owned() } else { info.default() };
    match value.parse::<u64>().map(|time| time / 1_000) {
        Ok(seconds) if info.kind == SettingKind::Duration && seconds % 60 == 0 => {
            format!("{}m", seconds / 60)
        }
        Ok(seconds) if info.kind == SettingKind::Duration => format!("{seconds}s"),
        _ => value,
    }
}

/// The value of a flag as the setting takes it.
fn parse<S: Configurable>(info: &SettingInfo, text: &str) -> Result<String, String> {
    // A shell variable that is not set, where the setting has no word for its default.
    if text.is_empty() && (info.default)().is_empty() {
        return Err(format!("expected {}", info.expected()));
    }
    let text = match info.kind {
        SettingKind::Duration => duration(text)?.as_millis().to_string(),
        _ => text.to_owned(),
    };
    let tried = S::default().set(info.key, &text);
    tried.map(|()| text).map_err(|_| format!("expected {}", info.expected()))
}

/// Sets what the command line gives.
pub fn set_given<S: Configurable>(
    settings: &mut S,
    matches: &ArgMatches,
    flag: fn(&SettingInfo) -> String,
) -> Result<(), clap::Error> {
    for info in S::SETTINGS {
        let flag = flag(info);
        let given = match info.kind {
            SettingKind::Switch => {
                let turned = if is_on(info) { "off" } else { "on" };
                matches.get_flag(&flag).then(|| turned.to_owned())
            }
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
