//! The operating system's user that a server runs as: the current one, or another one for root, since neither server runs as root.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::{Error, Result};

/// A user and their group; none if the server runs as the current user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// For root the first of `names` that this system has, or else `nobody`; for others the current user.
    pub(crate) fn choose(names: &[&str]) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self(None);
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let known = names.iter().chain(&["nobody"]).find_map(|name| find(&users, name));
        // 65534 is `nobody` on systems without that name.
        Self(Some(known.unwrap_or((65534, 65534))))
    }

    /// The current user, for servers that run as root, too.
    #[cfg(feature = "tls")]
    pub(crate) const fn current() -> Self {
        Self(None)
    }

    /// Whether it differs from the current user.
    pub(crate) fn is_other(self) -> bool {
        self.0.is_some()
    }

    /// Gives a file or folder to this user.
    pub(crate) fn own(self, path: &Path) -> Result<()> {
        let Some((user, group)) = self.0 else { return Ok(()) };
        chown(path, Some(user), Some(group)).map_err(|e| Error::io("give away", path, &e))
    }

    /// A command that runs as this user. Its other groups are dropped by std, as always for root.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}

/// User and group of `name` in a file such as /etc/passwd.
fn find(users: &str, name: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let mut parts = line.split(':');
        (parts.next() == Some(name)).then_some(())?;
        Some((parts.nth(1)?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_user_is_found_by_the_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\npostgres2:x:7:8::/:\npostgres:x:101:104:x:/:/bin/sh\nbad:x\n";
        assert_eq!(find(users, "postgres"), Some((101, 104)));
        assert_eq!(find(users, "bad"), None);
        assert_eq!(find(users, "post"), None);
    }
}
