//! Connecting: the pre-login, in which both sides agree on encryption, and the login.

use super::bytes::{ByteSource, SliceSource, push_text};
use super::status::{TdsError, TdsResult, invalid};
use super::stream::{TdsReceiver, TdsSender, kind};
use super::tls::{self, TlsSettings};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// TDS 7.4.
const VERSION: u32 = 0x7400_0004;
/// The packets that the client requests: the largest that a server encrypts in one record.
const PACKET: u32 = 16_000;
/// The size before the login.
pub(super) const FIRST_PACKET: usize = 4_096;

/// How the client logs in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TdsLogin<'s> {
    pub host: &'s str,
    pub port: u16,
    pub database: &'s str,
    pub user: &'s str,
    pub password: &'s str,
    pub application: &'s str,
    /// Without, nothing is encrypted.
    pub tls: Option<TlsSettings<'s>>,
    /// Whether a server that cannot encrypt is an error.
    pub requires_tls: bool,
    pub timeout: Duration,
}

/// Connects to the first address that responses.
pub(super) fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let end = Instant::now() + timeout;
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The server's responses about encryption.
mod encryption {
    pub(super) const OFF: u8 = 0;
    pub(super) const ON: u8 = 1;
    pub(super) const NOT_SUPPORTED: u8 = 2;
}

/// Agrees on encryption, and starts it.
pub(super) fn prelogin(
    receiver: &mut TdsReceiver,
    sender: &TdsSender,
    login: &TdsLogin<'_>,
) -> TdsResult<()> {
    let wanted = if login.tls.is_some() { encryption::ON } else { encryption::NOT_SUPPORTED };
    // Each option: its number, where its value is, and how long that is. Then the values.
    let mut message = vec![0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 4, 0, 23, 0, 1, 255];
    message.extend([0, 1, 0, 0, 0, 0, wanted, 0]);
    sender.send(kind::PRELOGIN, &message, FIRST_PACKET)?;
    let replied = encryption_of(&whole(receiver)?)?;
    match (login.tls, replied) {
        (None, encryption::OFF | encryption::NOT_SUPPORTED) => Ok(()),
        (None, _) => Err(TdsError::Tls(
            "the server requires encryption: connect without encrypt=disable".to_owned(),
        )),
        (Some(_), encryption::OFF | encryption::NOT_SUPPORTED) if login.requires_tls => {
            let message = "the server does not encrypt: give it a certificate, or connect with encrypt=prefer";
            Err(TdsError::Tls(message.to_owned()))
        }
        // "Off" encrypts the login only.
        (Some(_), encryption::OFF | encryption::NOT_SUPPORTED) => Ok(()),
        (Some(settings), _) => receiver.encrypt(tls::client(login.host, settings)?, FIRST_PACKET),
    }
}

/// All bytes of a message.
fn whole(receiver: &mut TdsReceiver) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let part = receiver.fill()?;
        message.extend_from_slice(part);
        let count = part.len();
        receiver.consume(count);
        if receiver.is_at_end() {
            return Ok(message);
        }
    }
}

fn encryption_of(response: &[u8]) -> io::Result<u8> {
    let mut source = SliceSource::new(response);
    loop {
        match source.u8()? {
            255 => return Err(invalid("the server says nothing about encryption")),
            option => {
                let (at, _) = (u16::from_be_bytes(source.array()?), source.u16()?);
                if option == 1 {
                    let value = response.get(usize::from(at)).copied();
                    return value
                        .ok_or_else(|| invalid("the response to the pre-login is too short"));
                }
            }
        }
    }
}

/// The login's message.
pub(super) fn message(login: &TdsLogin<'_>) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(VERSION.to_le_bytes());
    out.extend(PACKET.to_le_bytes());
    out.extend(0x0100_0000_u32.to_be_bytes());
    out.extend(std::process::id().to_le_bytes());
    out.extend([0; 4]);
    // The database must exist; the session has the settings of ODBC, which are those of standard SQL.
    out.extend([0xe0, 0x03, 0, 0]);
    out.extend([0; 8]);
    let texts = [
        "bobak",
        login.user,
        login.password,
        login.application,
        login.host,
        "",
        "bobak",
        "",
        login.database,
    ];
    let mut at = 94_u16;
    let mut data = Vec::new();
    for (place, text) in texts.into_iter().enumerate() {
        let start = data.len();
        push_text(&mut data, text);
        if place == 2 {
            // The password is disguised, not encrypted: that is what TLS is for.
            let password = data.get_mut(start..).unwrap_or_default();
            password.iter_mut().for_each(|byte| *byte = byte.rotate_left(4) ^ 0xa5);
        }
        let bytes = u16::try_from(data.len() - start).unwrap_or(0);
        out.extend(at.to_le_bytes());
        out.extend((bytes / 2).to_le_bytes());
        at = at.saturating_add(bytes);
    }
    out.extend([0; 6]);
    for _ in 0..3 {
        out.extend(at.to_le_bytes());
        out.extend([0; 2]);
    }
    out.extend([0; 4]);
    out.extend(data);
    let length = u32::try_from(out.len()).unwrap_or(0).to_le_bytes();
    out.splice(..4, length);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_has_its_texts_after_94_bytes() {
        let login = TdsLogin {
            host: "db1",
            port: 1433,
            database: "shop",
            user: "ada",
            password: "pä",
            application: "x",
            tls: None,
            requires_tls: false,
            timeout: Duration::from_secs(1),
        };
        let message = message(&login);
        assert_eq!(message.get(..4), Some(&(message.len() as u32).to_le_bytes()[..]));
        // The user: where, and how many characters.
        assert_eq!(message.get(40..44), Some(&[104, 0, 3, 0][..]));
        assert_eq!(message.get(104..110), Some(&b"a\0d\0a\0"[..]));
        let password: Vec<u8> =
            [b'p', 0, 0xe4, 0].iter().map(|byte: &u8| byte.rotate_left(4) ^ 0xa5).collect();
        assert_eq!(message.get(110..114), Some(&password[..]));
        assert!(message.ends_with(b"s\0h\0o\0p\0"));
    }
}
