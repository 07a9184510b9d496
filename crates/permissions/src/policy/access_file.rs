//! Edits of the access file: grants change, everything else stays as written, comments included.

use super::access_policy::Policy;
use super::grant::Grant;
use super::line_parser::LineParser;
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind::{AlreadyExists, NotFound};
use std::io::{self, Write};
use std::path::Path;

/// The text of an access file. It is always valid: edits that would make it invalid are rejected.
/// Lines keep their line breaks, `\n` or `\r\n`; new lines use that of the first.
///
/// ```
/// let mut text = bobak_permissions::AccessFile::parse("role clerk\n    read on products\n")?;
/// assert!(text.grant("clerk", "read, insert on orders where clerk = :user")?);
/// text.revoke("clerk", Some("read on products"))?;
/// assert_eq!(text.to_string(), "role clerk\n    read, insert on orders where clerk = :user\n");
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AccessFile {
    /// Each without its `\n`.
    pub(super) lines: Vec<String>,
    pub(super) policy: Policy,
}

/// What a line contains.
#[derive(PartialEq)]
enum LineKind {
    Role(String),
    Grant(String),
    Other,
}

impl AccessFile {
    /// Parses a text, which may be empty.
    ///
    /// # Errors
    /// `Config`, with the line number.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of(text.split_terminator('\n').map(str::to_owned).collect())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `Io`; `Config`, with the file name and the line number.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| Error::io(&format!("read {shown}"), error))?;
        Self::parse(&text)
            .map_err(|error| Error::new(error.kind(), format!("{shown}: {}", error.message())))
    }

    /// Edits a file, and writes it if `edit` returns `true`; returns what `edit` returns. On Unix,
    /// concurrent edits wait for each other, so none is lost. If `create` is set, a missing file
    /// counts as an empty one.
    ///
    /// # Errors
    /// As [`read`](Self::read) and [`write`](Self::write), and those of `edit`.
    pub fn edit(
        path: &Path,
        create: bool,
        edit: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        let locked = LockedFile::open(path, create)
            .map_err(|error| Error::io(&format!("read {}", path.display()), error))?;
        let apply = || {
            let mut text = Self::read(path)?;
            let changed = edit(&mut text)?;
            if changed {
                text.write(path)?;
            }
            Ok(changed)
        };
        let edited = apply();
        if locked.is_new && !matches!(edited, Ok(true)) {
            // It may already be removed.
            let _ = fs::remove_file(path);
        }
        edited
    }

    /// Replaces a file atomically: readers see the old content or the new. Only the owner may read
    /// a new file.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |error| Error::io(&format!("write {}", path.display()), error);
        let replacement = AtomicFile::create_numbered(path)?;
        let mut file = OpenOptions::new().write(true).open(replacement.path()).map_err(failed)?;
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .map_err(failed)?;
        file.write_all(self.to_string().as_bytes()).map_err(failed)?;
        replacement.commit().map_err(failed)
    }

    pub(super) fn of(lines: Vec<String>) -> Result<Self> {
        let policy = Policy::parse(&lines.join("\n"))?;
        Ok(Self { lines, policy })
    }

    /// Its content.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The grants of a role, in order; none if it does not exist.
    #[must_use]
    pub fn grants(&self, role: &str) -> Vec<String> {
        let grants = self.block(role).into_iter().flat_map(|(_, grants)| grants);
        grants.map(|(_, grant)| grant).collect()
    }

    /// Adds a grant to a role, which is created if it does not exist. Returns whether it is new.
    ///
    /// # Errors
    /// `Config` for an invalid grant or role name.
    pub fn grant(&mut self, role: &str, grant: &str) -> Result<bool> {
        if grant.contains(['\n', '\r']) {
            return Err(Error::new(ErrorKind::Config, "a grant is one line"));
        }
        Grant::parse(grant)?;
        let mut name = LineParser::new(role);
        if name.name("the role's name")? != role {
            return Err(name.expected("a name of letters, digits, _ - . : @ +"));
        }
        let grant = normalize(grant);
        let mut lines = self.lines.clone();
        let end = self.line_end();
        let line = format!("    {grant}{end}");
        match self.block(role) {
            Some((_, grants)) if grants.iter().any(|(_, other)| *other == grant) => {
                return Ok(false);
            }
            Some((index, grants)) => {
                let last = grants.last().map_or(index, |(index, _)| *index);
                lines.insert(last + 1, line);
            }
            None => {
                // The last line may lack its line break.
                if let Some(last) = lines.last_mut().filter(|last| !last.ends_with(end)) {
                    last.push_str(end);
                }
                lines.extend([format!("role {role}{end}"), line]);
            }
        }
        *self = Self::of(lines)?;
        Ok(true)
    }

    /// Removes a grant from a role, or the whole role.
    ///
    /// # Errors
    /// `NotFound` if the role does not exist, or has no such grant; `Config` if an account has the
    /// role that is removed.
    pub fn revoke(&mut self, role: &str, grant: Option<&str>) -> Result<()> {
        let missing = |message: String| Err(Error::new(ErrorKind::NotFound, message));
        let Some((index, grants)) = self.block(role) else {
            return missing(format!("the role '{role}' does not exist"));
        };
        let removed: Vec<usize> = match grant.map(normalize) {
            None => grants.into_iter().map(|(index, _)| index).chain([index]).collect(),
            Some(grant) => match grants.iter().find(|(_, other)| *other == grant) {
                Some((index, _)) => vec![*index],
                None => {
                    let all: Vec<_> = grants.into_iter().map(|(_, grant)| grant).collect();
                    let message = "has no such grant";
                    return missing(format!(
                        "the role '{role}' {message}; it has: {}",
                        all.join("; ")
                    ));
                }
            },
        };
        let kept =
            |(index, line): (usize, &String)| (!removed.contains(&index)).then(|| line.clone());
        *self = Self::of(self.lines.iter().enumerate().filter_map(kept).collect())?;
        Ok(())
    }

    /// Replaces the grants of a role, which is created if it does not exist.
    ///
    /// # Errors
    /// `Config` for an invalid grant or role name.
    pub fn set_grants(&mut self, role: &str, grants: &[String]) -> Result<()> {
        let mut changed = self.clone();
        let wanted: Vec<String> = grants.iter().map(|grant| normalize(grant)).collect();
        if wanted.is_empty() && changed.block(role).is_none() {
            return Err(Error::new(ErrorKind::Config, "a new role needs a grant"));
        }
        for old in changed.grants(role).iter().filter(|old| !wanted.contains(old)) {
            changed.revoke(role, Some(old))?;
        }
        for grant in &wanted {
            changed.grant(role, grant)?;
        }
        *self = changed;
        Ok(())
    }

    /// What precedes the `\n` of a new line.
    pub(super) fn line_end(&self) -> &'static str {
        if self.lines.first().is_some_and(|line| line.ends_with('\r')) { "\r" } else { "" }
    }

    /// The index of a role's line, and those of its grants: all before the next role.
    fn block(&self, role: &str) -> Option<(usize, Vec<(usize, String)>)> {
        let mut kinds = self.lines.iter().map(|line| line_kind(line)).enumerate();
        let wanted = LineKind::Role(role.to_owned());
        let (index, _) = kinds.find(|(_, kind)| *kind == wanted)?;
        let own = kinds.take_while(|(_, kind)| !matches!(kind, LineKind::Role(_)));
        let grants = own.filter_map(|(index, kind)| match kind {
            LineKind::Grant(grant) => Some((index, grant)),
            _ => None,
        });
        Some((index, grants.collect()))
    }
}

impl fmt::Display for AccessFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// A file that nobody else can edit meanwhile.
struct LockedFile {
    /// Locked on Unix only: elsewhere a lock would also block readers.
    _file: File,
    is_new: bool,
}

impl LockedFile {
    fn open(path: &Path, create: bool) -> io::Result<Self> {
        loop {
            let (opened, is_new) = match File::open(path) {
                Err(error) if create && error.kind() == NotFound => (create_private(path), true),
                opened => (opened, false),
            };
            match opened {
                // Another process has just created it.
                Err(error) if is_new && error.kind() == AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) if lock_current(&file, path)? => return Ok(Self { _file: file, is_new }),
                Ok(_) => {}
            }
        }
    }
}

/// Creates an empty file that only its owner may read.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Waits for the lock of a file. Returns whether the path still leads to it: an edit may have replaced
/// it meanwhile.
#[cfg(unix)]
fn lock_current(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    file.lock()?;
    let locked = file.metadata()?;
    match fs::metadata(path) {
        Ok(current) => Ok((current.dev(), current.ino()) == (locked.dev(), locked.ino())),
        Err(error) if error.kind() == NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn lock_current(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// What a line of a valid text contains.
fn line_kind(line: &str) -> LineKind {
    let line = line.trim();
    match line.split_whitespace().next() {
        None | Some("user" | "token") => LineKind::Other,
        Some(word) if word.starts_with('#') => LineKind::Other,
        Some("role") => {
            let mut parser = LineParser::new(line);
            parser.take_word("role");
            parser.name("the role's name").map_or(LineKind::Other, LineKind::Role)
        }
        Some(_) => LineKind::Grant(normalize(line)),
    }
}

/// A grant without its comment, and with single blanks outside quotes.
fn normalize(grant: &str) -> String {
    let (mut text, mut quote) = (String::new(), None);
    for c in LineParser::new(grant).rest().chars() {
        let is_blank = c.is_whitespace() && quote.is_none();
        match quote {
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(mark) if mark == c => quote = None,
            _ => {}
        }
        if !is_blank {
            text.push(c);
        } else if !text.ends_with(' ') {
            text.push(' ');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# ours\nrole clerk # at the till\n  read  on orders # all\n\n# more\n\
        token till ID roles clerk\n  insert on orders\nrole none\nrole reader\n  read on *\n";

    fn text() -> AccessFile {
        AccessFile::parse(&TEXT.replace("ID", &crate::hash_token("0123456789abcdef"))).unwrap()
    }

    #[test]
    fn edits_keep_all_other_lines() {
        let mut text = text();
        let before = text.to_string();
        assert_eq!(text.grants("clerk"), ["read on orders", "insert on orders"]);
        assert!(text.grants("none").is_empty() && text.grants("nobody").is_empty());
        assert!(!text.grant("clerk", "read on  orders").unwrap(), "the grant exists");
        assert!(text.grant("clerk", "update on orders where a = '  x'").unwrap());
        assert!(text.grant("none", "read on a").unwrap());
        assert!(text.grant("new", "all on b").unwrap());
        assert_eq!(text.grants("none"), ["read on a"]);
        let with = text.to_string();
        assert!(
            with.contains("insert on orders\n    update on orders where a = '  x'\nrole none\n")
        );
        assert!(with.ends_with("role new\n    all on b\n"), "{with}");
        text.revoke("new", None).unwrap();
        text.revoke("none", Some("read on a")).unwrap();
        text.revoke("clerk", Some("update  on orders  where a = '  x'")).unwrap();
        assert_eq!(text.to_string(), before);
    }

    #[test]
    fn edits_keep_line_breaks() {
        let mut text = AccessFile::parse("# ours\r\nrole a\r\n  read on x\nrole b\r\n").unwrap();
        text.grant("b", "read on y").unwrap();
        text.grant("c", "read on z").unwrap();
        let more = "    read on y\r\nrole c\r\n    read on z\r\n";
        let all = format!("# ours\r\nrole a\r\n  read on x\nrole b\r\n{more}");
        assert_eq!(text.to_string(), all);
        text.revoke("c", None).unwrap();
        assert!(all.starts_with(&text.to_string()));
    }

    #[test]
    fn concurrent_edits_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.txt");
        std::thread::scope(|scope| {
            for number in 0..20 {
                let (path, role) = (&path, format!("r{number}"));
                scope.spawn(move || {
                    let grant = |text: &mut AccessFile| text.grant(&role, "read on a");
                    assert!(AccessFile::edit(path, true, grant).unwrap());
                });
            }
        });
        let text = AccessFile::read(&path).unwrap();
        assert_eq!(text.policy().roles().count(), 20, "{text}");
        let wrong = folder.path().join("other.txt");
        let rejected = AccessFile::edit(&wrong, true, |text| text.grant("a", "raed on b"));
        assert_eq!(rejected.unwrap_err().kind(), ErrorKind::Config);
        assert!(!wrong.exists(), "a failed edit creates no file");
    }

    #[test]
    fn invalid_edits_are_rejected() {
        let mut text = text();
        let before = text.to_string();
        for (role, grant) in [
            ("clerk", "raed on a"),
            ("clerk", "read"),
            ("a b", "read on a"),
            ("admin", "read on a"),
        ] {
            let error = text.grant(role, grant).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{role} {grant}: {error}");
        }
        for (role, grant, kind) in [
            ("nobody", None, ErrorKind::NotFound),
            ("clerk", Some("delete on orders"), ErrorKind::NotFound),
            ("clerk", None, ErrorKind::Config),
        ] {
            assert_eq!(text.revoke(role, grant).unwrap_err().kind(), kind);
        }
        assert_eq!(text.to_string(), before);
    }
}
