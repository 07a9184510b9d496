//! Reads a new password: at a terminal it prompts twice without echo; from a pipe or a file it reads
//! the first line without a prompt.

use crate::error::{Error, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io::{self, BufRead, IsTerminal, Read, Write};

/// The maximum length of a password, in bytes.
const MAX_LENGTH: u64 = 4 << 10;

/// Reads the new password of `user`.
///
/// # Errors
/// If the password is empty or too long, the two entries differ, or the input can't be read.
pub fn new_password(user: &str) -> Result<String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return first_line(&mut input.lock());
    }
    let _hidden = HiddenInput::begin()?;
    let first = prompt(&format!("Password for {user}: "))?;
    if first.is_empty() {
        return Err(Error::failed("the password is empty"));
    }
    if prompt("Repeat password: ")? != first {
        return Err(Error::failed("the passwords do not match"));
    }
    Ok(first)
}

/// Prompts at the terminal. Standard output is for the result, so the prompt goes to standard error.
fn prompt(question: &str) -> Result<String> {
    let mut screen = io::stderr();
    let shown = write!(screen, "{question}").and_then(|()| screen.flush());
    shown.map_err(|error| Error::output(&error))?;
    let line = first_line(&mut io::stdin().lock());
    // The line feed that the user typed was not echoed either.
    let _ = writeln!(screen);
    line
}

fn first_line(input: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    let read = input.take(MAX_LENGTH + 2).read_line(&mut line);
    read.map_err(|error| Error::io("read the password", &error))?;
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    if line.len() as u64 > MAX_LENGTH {
        return Err(Error::failed(format!("the password is longer than {MAX_LENGTH} bytes")));
    }
    Ok(line)
}

/// Turns the terminal's echo off until it is dropped or a signal ends the program.
struct HiddenInput {
    before: Termios,
    signals: Handle,
}

impl HiddenInput {
    fn begin() -> Result<Self> {
        let failed = |error: io::Error| Error::io("ask for the password", &error);
        let before = tcgetattr(io::stdin()).map_err(|error| failed(error.into()))?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
        let (handle, original) = (signals.handle(), before.clone());
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                restore_echo(&original);
                std::process::exit(128 + signal);
            }
        });
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        let set = tcsetattr(io::stdin(), OptionalActions::Flush, &hidden);
        set.map_err(|error| failed(error.into()))?;
        Ok(Self { before, signals: handle })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        restore_echo(&self.before);
        self.signals.close();
    }
}

fn restore_echo(before: &Termios) {
    // If the terminal is gone, there is nothing to restore.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_first_line_of_pipe() {
        let read = |bytes: &[u8]| first_line(&mut &*bytes).map_err(|error| error.to_string());
        for (bytes, password) in [
            (&b"secret\nmore\n"[..], "secret"),
            (b"secret", "secret"),
            (b"secret\r\n", "secret"),
            (b" two words \n", " two words "),
            (b"\nsecret\n", ""),
            (b"", ""),
        ] {
            assert_eq!(read(bytes).unwrap(), password);
        }
        assert!(read(b"\xff\xfe\n").is_err());
        assert_eq!(read(&[b'x'; MAX_LENGTH as usize]).unwrap().len() as u64, MAX_LENGTH);
        assert!(read(&[b'x'; 1 << 20]).unwrap_err().contains("longer than 4096 bytes"));
    }
}
