//! `bobak settings`: lists the settings of databases and servers.

use super::setting_flags;
use crate::error::{Error, Result};
use bobak::BatchOptions;
use bobak::backup::BackupOptions;
use bobak::copy::CopyOptions;
use bobak::engine::settings::{Configurable, SettingInfo, SettingKind};
use bobak::pipeline::PipelineOptions;
use bobak::restore::{ReplayOptions, RestoreOptions};
use clap::Args;
use std::io::Write;

/// List the settings of database URLs and the flags of commands, as Markdown tables.
///
/// The tables are sqlite, memory, kv, postgres, mysql and bobak, for URLs, backup and copy, for the flags of these commands,
/// and serve and http, for those of `bobak serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SettingsCommand {
    /// Tables to list [default: all]
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  bobak settings
  bobak settings sqlite
  bobak settings serve http";

/// The settings of one engine or kind of listener.
struct Table {
    name: &'static str,
    infos: Vec<&'static SettingInfo>,
    /// What the first column shows.
    key: fn(&SettingInfo) -> String,
    /// What the second column shows.
    meaning: fn(&SettingInfo) -> String,
    /// What the third column shows.
    values: fn(&SettingInfo) -> String,
    /// What the last column shows.
    default: fn(&SettingInfo) -> String,
}

impl SettingsCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// A usage error for an unknown table; if standard output is closed.
    pub fn run(&self) -> Result<()> {
        let all = tables();
        for name in &self.tables {
            if all.iter().all(|table| table.name != name) {
                let known = all.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
                return Err(Error::usage(format!(
                    "there is no table '{name}'; there are: {known}"
                )));
            }
        }
        let wanted = |table: &&Table| {
            self.tables.is_empty() || self.tables.iter().any(|name| name == table.name)
        };
        let text: Vec<String> = all.iter().filter(wanted).map(Table::to_markdown).collect();
        let mut output = std::io::stdout().lock();
        output.write_all(text.join("\n").as_bytes()).map_err(|error| Error::output(&error))
    }
}

/// All tables of this program.
fn tables() -> Vec<Table> {
    let mut named = bobak::engine::all_settings();
    // Only programs set these; the book has their tables.
    named.extend([("batch", BatchOptions::SETTINGS), ("pipeline", PipelineOptions::SETTINGS)]);
    let mut tables: Vec<Table> = named.into_iter().map(by_key).collect();
    let of_command = |(name, infos): (_, &[&'static [SettingInfo]])| Table {
        name,
        infos: infos.iter().flat_map(|infos| infos.iter()).collect(),
        key: |info| format!("--{}", setting_flags::flag(info)),
        meaning: setting_flags::meaning,
        values: flag_values,
        default: setting_flags::written_default,
    };
    tables.push(of_command(("backup", &[BackupOptions::SETTINGS])));
    tables.push(of_command(("restore", &[RestoreOptions::SETTINGS, ReplayOptions::SETTINGS])));
    tables.push(of_command(("copy", &[CopyOptions::SETTINGS])));
    #[cfg(unix)]
    tables.extend(super::limits::settings().map(|(name, infos)| Table {
        name,
        infos,
        key: |info| format!("--{}", super::limits::flag(info)),
        meaning: SettingInfo::summary,
        values: flag_values,
        default: super::limits::default,
    }));
    tables
}

/// The table of settings that are written with their keys.
fn by_key((name, infos): (&'static str, &'static [SettingInfo])) -> Table {
    Table {
        name,
        infos: infos.iter().collect(),
        key: |info| info.key.to_owned(),
        meaning: SettingInfo::summary,
        values,
        default,
    }
}

/// The values of a flag.
fn flag_values(info: &SettingInfo) -> String {
    match info.kind {
        SettingKind::Duration => "a time such as `30s`".to_owned(),
        SettingKind::Switch => "–".to_owned(),
        _ => values(info),
    }
}

impl Table {
    fn to_markdown(&self) -> String {
        let mut text = format!(
            "## {}\n\n| setting | meaning | values | default |\n|---|---|---|---|\n",
            self.name
        );
        for info in &self.infos {
            let (key, values) = ((self.key)(info), (self.values)(info));
            let meaning = (self.meaning)(info);
            text += &format!("| `{key}` | {meaning} | {values} | {} |\n", (self.default)(info));
        }
        text
    }
}

/// The values of a setting.
fn values(info: &SettingInfo) -> String {
    match info.kind {
        SettingKind::Word(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        SettingKind::Switch => "`on`, `off`".to_owned(),
        SettingKind::Number | SettingKind::Duration | SettingKind::Text | SettingKind::List => {
            let expected = info.expected();
            let short = expected.trim_start_matches("a whole number of ");
            short.trim_start_matches("a whole ").to_owned()
        }
    }
}

/// The default in the table of an engine.
fn default(info: &SettingInfo) -> String {
    match (info.default)().is_empty() || !info.default_text.is_empty() {
        true => info.default(),
        false => format!("`{}`", info.default()),
    }
}
