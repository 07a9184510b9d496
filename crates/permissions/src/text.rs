//! The text of an access file, whose roles can be changed while all else stays as it was written.

use crate::policy::{Policy, check_grant};
use crate::tokens::Tokens;
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind::{AlreadyExists, NotFound};
use std::io::{self, Write};
use std::path::Path;

/// The text of an access file. It is whole at every moment: a change that would make it wrong is
/// refused. Lines keep their ends, `\n` or `\r\n`; new ones end as the first does.
///
/// ```
/// let mut text = bobak_permissions::AccessText::parse("role clerk\n    read on products\n")?;
/// assert!(text.grant("clerk", "read, insert on orders where clerk = :user")?);
/// text.revoke("clerk", Some("read on products"))?;
/// assert_eq!(text.to_string(), "role clerk\n    read, insert on orders where clerk = :user\n");
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AccessText {
    /// Each without its `\n`.
    lines: Vec<String>,
    policy: Policy,
}

/// What a line is.
#[derive(PartialEq)]
enum Kind {
    Role(String),
    Grant(String),
    Other,
}

impl AccessText {
    /// Takes a text, an empty one too.
    ///
    /// # Errors
    /// `Config`, with the number of the line.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of(text.split_terminator('\n').map(str::to_owned).collect())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `Io`; `Config`, with the file's name and the number of the line.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| Error::io(&format!("read {shown}"), error))?;
        Self::parse(&text)
            .map_err(|error| Error::new(error.kind(), format!("{shown}: {}", error.message())))
    }

    /// Changes a file, and writes it where `change` says so, which is what this gives. On Unix
    /// others who do the same wait meanwhile, so that no change is lost. Where `makes` is set, a file
    /// that is not there is an empty one.
    ///
    /// # Errors
    /// As [`read`](Self::read) and [`write`](Self::write), and those of `change`.
    pub fn edit(
        path: &Path,
        makes: bool,
        change: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        let held = Held::take(path, makes)
            .map_err(|error| Error::io(&format!("read {}", path.display()), error))?;
        let edit = || {
            let mut text = Self::read(path)?;
            let changed = change(&mut text)?;
            if changed {
                text.write(path)?;
            }
            Ok(changed)
        };
        let edited = edit();
        if held.made && !matches!(edited, Ok(true)) {
            // It fails where somebody has removed it, who wanted the same.
            let _ = fs::remove_file(path);
        }
        edited
    }

    /// Puts it in a file's place, whole: who reads the file meanwhile sees what was there, or this.
    /// A new file is for its owner alone.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |error| Error::io(&format!("write {}", path.display()), error);
        let aside = AtomicFile::one_of_many(path)?;
        let mut file = OpenOptions::new().write(true).open(aside.path()).map_err(failed)?;
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .map_err(failed)?;
        file.write_all(self.to_string().as_bytes()).map_err(failed)?;
        aside.put().map_err(failed)
    }

    fn of(lines: Vec<String>) -> Result<Self> {
        let policy = Policy::parse(&lines.join("\n"))?;
        Ok(Self { lines, policy })
    }

    /// What it says.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The grants of a role, in order; none where it is not there.
    #[must_use]
    pub fn grants(&self, role: &str) -> Vec<String> {
        let grants = self.block(role).into_iter().flat_map(|(_, grants)| grants);
        grants.map(|(_, grant)| grant).collect()
    }

    /// Adds a grant to a role, which is made where it is not there; whether it had not got it.
    ///
    /// # Errors
    /// `Config` for what is no grant, a name that no role can have.
    pub fn grant(&mut self, role: &str, grant: &str) -> Result<bool> {
        check_grant(grant)?;
        let mut name = Tokens::of(role);
        if name.name("the role's name")? != role {
            return Err(name.expected("a name of letters, digits, _ - . : @ +"));
        }
        let grant = plain(grant);
        let mut lines = self.lines.clone();
        let end = self.end();
        let line = format!("    {grant}{end}");
        match self.block(role) {
            Some((_, grants)) if grants.iter().any(|(_, other)| *other == grant) => {
                return Ok(false);
            }
            Some((place, grants)) => {
                let last = grants.last().map_or(place, |(place, _)| *place);
                lines.insert(last + 1, line);
            }
            None => {
                // The last line may have had no end.
                if let Some(last) = lines.last_mut().filter(|last| !last.ends_with(end)) {
                    last.push_str(end);
                }
                lines.extend([format!("role {role}{end}"), line]);
            }
        }
        *self = Self::of(lines)?;
        Ok(true)
    }

    /// Takes a grant from a role, or the whole role away.
    ///
    /// # Errors
    /// `NotFound` where there is no such role, or it has no such grant; `Config` where somebody has
    /// the role that is to go.
    pub fn revoke(&mut self, role: &str, grant: Option<&str>) -> Result<()> {
        let missing = |message: String| Err(Error::new(ErrorKind::NotFound, message));
        let Some((place, grants)) = self.block(role) else {
            return missing(format!("there is no role '{role}'"));
        };
        let gone: Vec<usize> = match grant.map(plain) {
            None => grants.into_iter().map(|(place, _)| place).chain([place]).collect(),
            Some(grant) => match grants.iter().find(|(_, other)| *other == grant) {
                Some((place, _)) => vec![*place],
                None => {
                    let all: Vec<_> = grants.into_iter().map(|(_, grant)| grant).collect();
                    let message = "has no such grant, word for word";
                    return missing(format!(
                        "the role '{role}' {message}; it has: {}",
                        all.join("; ")
                    ));
                }
            },
        };
        let stays =
            |(place, line): (usize, &String)| (!gone.contains(&place)).then(|| line.clone());
        *self = Self::of(self.lines.iter().enumerate().filter_map(stays).collect())?;
        Ok(())
    }

    /// What stands before the `\n` of a new line.
    fn end(&self) -> &'static str {
        if self.lines.first().is_some_and(|line| line.ends_with('\r')) { "\r" } else { "" }
    }

    /// Where a role's line is, and each of its grants: all that come before the next role.
    fn block(&self, role: &str) -> Option<(usize, Vec<(usize, String)>)> {
        let mut kinds = self.lines.iter().map(|line| kind(line)).enumerate();
        let wanted = Kind::Role(role.to_owned());
        let (place, _) = kinds.find(|(_, kind)| *kind == wanted)?;
        let own = kinds.take_while(|(_, kind)| !matches!(kind, Kind::Role(_)));
        let grants = own.filter_map(|(place, kind)| match kind {
            Kind::Grant(grant) => Some((place, grant)),
            _ => None,
        });
        Some((place, grants.collect()))
    }
}

impl fmt::Display for AccessText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// A file that nobody else edits at the moment.
struct Held {
    /// Locked, on Unix: the lock of elsewhere would keep readers out too.
    _file: File,
    made: bool,
}

impl Held {
    fn take(path: &Path, makes: bool) -> io::Result<Self> {
        loop {
            let (opened, made) = match File::open(path) {
                Err(error) if makes && error.kind() == NotFound => (new_file(path), true),
                opened => (opened, false),
            };
            match opened {
                // Somebody else has made it just now.
                Err(error) if made && error.kind() == AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) if lock_in_place(&file, path)? => return Ok(Self { _file: file, made }),
                Ok(_) => {}
            }
        }
    }
}

/// An empty file for its owner alone.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Waits for the lock of a file; whether it is in its place still, where another may have been put.
#[cfg(unix)]
fn lock_in_place(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    file.lock()?;
    let mine = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (mine.dev(), mine.ino())),
        Err(error) if error.kind() == NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn lock_in_place(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// What a line is, of a text that can be read.
fn kind(line: &str) -> Kind {
    let line = line.trim();
    match line.split_whitespace().next() {
        None | Some("user" | "token") => Kind::Other,
        Some(word) if word.starts_with('#') => Kind::Other,
        Some("role") => {
            let mut tokens = Tokens::of(line);
            tokens.takes_word("role");
            tokens.name("the role's name").map_or(Kind::Other, Kind::Role)
        }
        Some(_) => Kind::Grant(plain(line)),
    }
}

/// A grant without its comment, and with one blank where several stand outside quotes.
fn plain(grant: &str) -> String {
    let (mut text, mut quote) = (String::new(), None);
    for c in Tokens::of(grant).rest().chars() {
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

    fn text() -> AccessText {
        AccessText::parse(&TEXT.replace("ID", &crate::hash_token("0123456789abcdef"))).unwrap()
    }

    #[test]
    fn grants_come_and_go_and_the_rest_stays() {
        let mut text = text();
        let before = text.to_string();
        assert_eq!(text.grants("clerk"), ["read on orders", "insert on orders"]);
        assert!(text.grants("none").is_empty() && text.grants("nobody").is_empty());
        assert!(!text.grant("clerk", "read on  orders").unwrap(), "it has it");
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
    fn lines_keep_their_ends() {
        let mut text = AccessText::parse("# ours\r\nrole a\r\n  read on x\nrole b\r\n").unwrap();
        text.grant("b", "read on y").unwrap();
        text.grant("c", "read on z").unwrap();
        let more = "    read on y\r\nrole c\r\n    read on z\r\n";
        let all = format!("# ours\r\nrole a\r\n  read on x\nrole b\r\n{more}");
        assert_eq!(text.to_string(), all);
        text.revoke("c", None).unwrap();
        assert!(all.starts_with(&text.to_string()));
    }

    #[test]
    fn edits_at_the_same_time_lose_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.txt");
        std::thread::scope(|scope| {
            for number in 0..20 {
                let (path, role) = (&path, format!("r{number}"));
                scope.spawn(move || {
                    let grant = |text: &mut AccessText| text.grant(&role, "read on a");
                    assert!(AccessText::edit(path, true, grant).unwrap());
                });
            }
        });
        let text = AccessText::read(&path).unwrap();
        assert_eq!(text.policy().roles().count(), 20, "{text}");
        let wrong = folder.path().join("other.txt");
        let refused = AccessText::edit(&wrong, true, |text| text.grant("a", "raed on b"));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Config);
        assert!(!wrong.exists(), "what fails makes no file");
    }

    #[test]
    fn what_would_make_it_wrong_is_refused() {
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
