//! A new password: asked for at a terminal, twice and without showing it; or the first line of a pipe
//! or a file, without a word.

use crate::error::{Error, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io::{self, BufRead, IsTerminal, Read, Write};

/// The most bytes of a password.
const LONGEST: u64 = 4 << 10;

/// Takes somebody's new password.
///
/// # Errors
/// An empty password, or one that is too long; two that differ; input that can't be read.
pub fn new_password(whose: &str) -> Result<String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return first_line(&mut input.lock());
    }
    let _hidden = Hidden::begin()?;
    let first = ask(&format!("Password of {whose}: "))?;
    if first.is_empty() {
        return Err(Error::failed("the password is empty"));
    }
    if ask("The same once more: ")? != first {
        return Err(Error::failed("the two passwords differ"));
    }
    Ok(first)
}

/// Asks at the terminal. Standard output is for the result, so the question goes to standard error.
fn ask(question: &str) -> Result<String> {
    let mut screen = io::stderr();
    let asked = write!(screen, "{question}").and_then(|()| screen.flush());
    asked.map_err(|error| Error::output(&error))?;
    let line = first_line(&mut io::stdin().lock());
    // The end of the line that was typed did not show either.
    let _ = writeln!(screen);
    line
}

fn first_line(input: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    let read = input.take(LONGEST + 2).read_line(&mut line);
    read.map_err(|error| Error::io("read the password", &error))?;
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    if line.len() as u64 > LONGEST {
        return Err(Error::failed(format!("the password is longer than {LONGEST} bytes")));
    }
    Ok(line)
}

/// A terminal that shows nothing of what is typed, until this is dropped, or a signal ends the
/// program.
struct Hidden {
    before: Termios,
    signals: Handle,
}

impl Hidden {
    fn begin() -> Result<Self> {
        let failed = |error: io::Error| Error::io("ask for the password", &error);
        let before = tcgetattr(io::stdin()).map_err(|error| failed(error.into()))?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
        let (handle, shown) = (signals.handle(), before.clone());
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                show(&shown);
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

impl Drop for Hidden {
    fn drop(&mut self) {
        show(&self.before);
        self.signals.close();
    }
}

fn show(before: &Termios) {
    // Where the terminal is gone, nothing is left to show.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_first_line_of_a_pipe() {
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
        assert_eq!(read(&[b'x'; LONGEST as usize]).unwrap().len() as u64, LONGEST);
        assert!(read(&[b'x'; 1 << 20]).unwrap_err().contains("longer than 4096 bytes"));
    }
}
