//! Backups of a database, for administrators: made, verified, downloaded, and restored to a new file.

use crate::json::error::invalid_json;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use crate::response::compression::ContentCoding;
use crate::response::stream;
use crate::workers::blocking;
use bobak::Db;
use bobak::backup::{
    self, BackupOptions, BackupReport, Compression, backup_file_name, is_backup_of,
};
use bobak::restore::{RecoveryTarget, ReplayOptions, RestoreOptions};
use bobak_core::settings::SettingValue;
use bobak_core::{Error, ErrorKind, Result, Timestamp};
use hyper::StatusCode;
use hyper::header::CONTENT_DISPOSITION;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Where to restore to.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RestoreTarget {
    /// A moment such as `2026-11-22T04:00:00Z`, or the number of a change; without it, that of the backup.
    until: Option<String>,
}

/// `GET /backups`
pub(crate) async fn list(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    request.check_administrator()?;
    let folders = &request.state.backups;
    let (folder, name) = (folders.backups.clone(), request.database.name.clone());
    let archive = folders.archives.as_ref().map(|folder| archive_of(folder, &name));
    let possible = request.database.protected.engine().backup_format().is_some();
    let body = blocking::run(move || {
        let mut files = folder.as_deref().map_or_else(Vec::new, |folder| backups_in(folder, &name));
        // The newest one first: the names differ in the time only.
        files.sort_by(|a, b| b.cmp(a));
        let described: Vec<_> = files.iter().filter_map(|file| describe(file)).collect();
        Ok(json!({
            "possible": possible,
            "folder": folder.map(|folder| folder.display().to_string()),
            "archive": archive.is_some_and(|archive| archive.is_dir()),
            "backups": described,
        }))
    });
    Ok(ResponseBuilder::json(StatusCode::OK, body.await?.to_string() + "\n"))
}

/// `POST /backups`: makes one, and verifies it.
pub(crate) async fn create(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    request.check_administrator()?;
    let database = Arc::clone(&request.database);
    if database.protected.engine().backup_format().is_none() {
        let message = format!("Bobak can't back up {}: use the server's own backup", database.name);
        return Err(Error::new(ErrorKind::Unsupported, message).into());
    }
    let folder = folder(request)?;
    let made = blocking::run(move || {
        let engine = database.protected.engine();
        fs::create_dir_all(&folder).map_err(|error| Error::io("create the folder", error))?;
        let (name, compression) = (&database.name, Compression::None);
        let extension = engine.backup_format().map_or("db", |format| format.extension);
        let name = backup_file_name(name, extension, Timestamp::now(), compression);
        let file = folder.join(&name);
        let report = backup::backup(&**engine, &file, &BackupOptions::new(), &mut |_| Ok(()))?;
        let mut described = describe(&file).unwrap_or_else(|| json!({"name": name}));
        add_report(&mut described, &report);
        Ok(described)
    })
    .await?;
    request.state.log_peer(&request.peer, format_args!("made the backup {}", made["name"]));
    Ok(ResponseBuilder::json(StatusCode::CREATED, made.to_string() + "\n"))
}

/// `GET /backups/{file}`: its bytes.
pub(crate) async fn download(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let path = existing(request, name)?;
    let file = File::open(path).map_err(|error| Error::io("open the backup", error))?;
    let work = move |out: &mut dyn std::io::Write| {
        let mut file = file;
        let copied = std::io::copy(&mut file, out);
        copied.map(drop).map_err(|error| Error::io("send the backup", error))
    };
    let (state, peer) = (Arc::clone(&request.state), Arc::clone(&request.peer));
    let log = move |error| state.log_peer(&peer, format_args!("got an aborted backup: {error}"));
    request.state.log_peer(&request.peer, format_args!("downloaded the backup {name}"));
    // Its bytes as they are: a compressed backup would only take longer.
    let coding = ContentCoding::Identity;
    let media_type = "application/octet-stream";
    let permit = request.stream_permit()?;
    let response = stream::stream(permit, media_type, coding, work, log).await?;
    Ok(response.with(CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\"")))
}

/// `POST /backups/{file}/verify`: reads all of it.
pub(crate) async fn verify(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let path = existing(request, name)?;
    let body = blocking::run(move || match backup::check(&path) {
        Ok(report) => {
            let mut body = json!({"valid": true});
            add_report(&mut body, &report);
            Ok(body)
        }
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            Ok(json!({"valid": false, "problem": error.message()}))
        }
        Err(error) => Err(error.into()),
    });
    Ok(ResponseBuilder::json(StatusCode::OK, body.await?.to_string() + "\n"))
}

/// `POST /backups/{file}/restore`: to a new file next to the backups. The served database stays as it is.
pub(crate) async fn restore(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let path = existing(request, name)?;
    let body = request.body(&["application/json"]).await?;
    let target: RestoreTarget =
        serde_json::from_slice(&body).map_err(|error| invalid_json(&error))?;
    let options = restore_options(request, target.until.as_deref())?;
    let restored = restored_path(&path, &request.database.name);
    let format = request.database.protected.engine().backup_format();
    let scheme = format.map_or("sqlite", |format| format.scheme);
    let url = format!("{scheme}:{}", restored.display());
    let report = blocking::run(move || Ok(Db::restore(&path, &url, &options)?)).await?;
    let shown = restored.display().to_string();
    request.state.log_peer(&request.peer, format_args!("restored the backup {name} to {shown}"));
    let mut body = json!({"file": shown, "command": format!("bobak studio {shown}")});
    add_report(&mut body, &report.backup);
    if let Some(replayed) = &report.replayed {
        body["changes"] = json!(replayed.changes);
        body["changed_at"] = json!(replayed.at.map(|at| at.to_string()));
    }
    Ok(ResponseBuilder::json(StatusCode::CREATED, body.to_string() + "\n"))
}

fn archive_of(folder: &Path, database: &str) -> PathBuf {
    folder.join(format!("{database}.changes"))
}

fn restore_options(
    request: &RequestContext,
    until: Option<&str>,
) -> Result<RestoreOptions, Problem> {
    let Some(until) = until else { return Ok(RestoreOptions::default()) };
    let target = RecoveryTarget::parse(until).filter(|_| !until.is_empty()).ok_or_else(|| {
        Problem::bad_request(format!("expected a time such as 2026-11-22T04:00:00Z, not '{until}'"))
    })?;
    let archives = request.state.backups.archives.as_ref();
    let archives = archives.ok_or_else(|| {
        let message = "there is no archive of changes: start the server with --archive FOLDER, and track tables";
        missing_folder(message)
    })?;
    let archive = archive_of(archives, &request.database.name);
    Ok(RestoreOptions::default().changes(archive, ReplayOptions::new(target)))
}

/// A free name for a restored file: `NAME-restored-1.db`.
fn restored_path(backup: &Path, database: &str) -> PathBuf {
    let extension = if backup.to_string_lossy().contains(".bobak") { "bobak" } else { "db" };
    let path =
        |number: u32| backup.with_file_name(format!("{database}-restored-{number}.{extension}"));
    (1..).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(0))
}

/// The folder of the backups.
fn folder(request: &RequestContext) -> Result<PathBuf, Problem> {
    request.check_administrator()?;
    request.state.backups.backups.clone().ok_or_else(|| {
        let message = "the server has no folder for backups: start it with --backup FOLDER";
        missing_folder(message)
    })
}

/// The problem if the server was started without a folder.
fn missing_folder(message: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, ErrorKind::Config, message)
}

/// The path of a backup of the database. Other files of the folder do not exist for clients.
fn existing(request: &RequestContext, name: &str) -> Result<PathBuf, Problem> {
    let path = folder(request)?.join(name);
    let is_one = is_backup_of(&request.database.name, name) && !name.contains(['/', '\\', '"']);
    if is_one && path.is_file() { Ok(path) } else { Err(Problem::not_found()) }
}

fn backups_in(folder: &Path, database: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str());
        file.is_some_and(|file| is_backup_of(database, file))
    };
    entries.map(|entry| entry.path()).filter(|path| is_one(path) && path.is_file()).collect()
}

fn describe(file: &Path) -> Option<Json> {
    let metadata = fs::metadata(file).ok()?;
    let at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let at = Timestamp::try_from(at).ok()?.to_string();
    let name = file.file_name()?.to_str()?;
    Some(json!({"name": name, "bytes": metadata.len(), "at": at}))
}

fn add_report(body: &mut Json, report: &BackupReport) {
    let rows = report.tables.iter().map(|(_, rows)| rows).sum::<u64>();
    body["tables"] = json!(report.tables.len());
    body["rows"] = json!(rows);
}
