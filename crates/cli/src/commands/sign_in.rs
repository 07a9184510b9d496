//! The links with which browsers sign in to the studio.

use super::serve::SignInLink;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak_permissions::Access;
use std::io::Write;
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

/// Shows a link to the studio that signs in with this code, once, and a new one after each use. Returns the file that the
/// browser opens, which is deleted on drop.
pub fn show(
    studio: &str,
    code: &str,
    access: &Access,
    link: SignInLink,
    screen: Terminal,
) -> Result<Option<NamedTempFile>> {
    let address = link_with(studio, code);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{address}")
        .and_then(|()| output.flush())
        .map_err(|error| Error::output(&error))?;
    drop(output);
    screen.note(
        "Open this link to sign in as the administrator. It works once; Ctrl+C stops the server.",
    );
    let studio = studio.to_owned();
    access.on_sign_in(move |access| {
        if let Ok(code) = access.new_sign_in_code() {
            // If standard output is closed, nobody reads the link.
            let _ = writeln!(std::io::stdout(), "{}", link_with(&studio, &code));
            screen
                .note("A browser has signed in as the administrator. The next one uses this link.");
        }
    });
    match link {
        SignInLink::Open => open(&address, screen).map(Some),
        _ => Ok(None),
    }
}

/// The code is in the fragment, which browsers send to no server and no log.
fn link_with(studio: &str, code: &str) -> String {
    format!("{studio}#sign-in={code}")
}

/// Opens a link in the browser: through a file that only this user can read, because other users see the arguments of
/// processes.
fn open(address: &str, screen: Terminal) -> Result<NamedTempFile> {
    let failed = |error| Error::io("write the page that opens the studio", &error);
    let mut page =
        tempfile::Builder::new().prefix("bobak-").suffix(".html").tempfile().map_err(failed)?;
    write!(page, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\">")
        .and_then(|()| page.flush())
        .map_err(failed)?;
    let preferred = std::env::var_os("BROWSER").filter(|program| !program.is_empty());
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let program = preferred.unwrap_or_else(|| usual.into());
    let started = Command::new(program)
        .arg(page.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_err() {
        screen.note("No browser could be started: open the link above.");
    }
    Ok(page)
}
