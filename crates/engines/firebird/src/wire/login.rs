//! Opening a connection: the protocol's version, authentication, encryption, and the database.

use super::FirebirdChannel;
use super::srp::Srp;
use super::status::{WireError, WireResult};
use super::stream::{Packet, Receiver};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A user, and the database to connect to.
#[derive(Clone, Debug)]
pub(crate) struct Login<'a> {
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
    pub password: &'a str,
    pub role: Option<&'a str>,
    /// Whether the database is created.
    pub creates: bool,
    /// Whether the commits of a new database wait for the disk.
    pub forces_writes: bool,
    pub timeout: Duration,
}

/// The version of the protocol: that of Firebird 3, which later ones speak, too.
const VERSION: i32 = 0x8000 | 13;
const PLUGINS: &str = "Srp256,Srp";

const OP_CONNECT: i32 = 1;
const OP_ACCEPT: i32 = 3;
const OP_REJECT: i32 = 4;
const OP_RESPONSE: i32 = 9;
const OP_ATTACH: i32 = 19;
const OP_CREATE: i32 = 20;
const OP_CONT_AUTH: i32 = 92;
const OP_ACCEPT_DATA: i32 = 94;
const OP_CRYPT: i32 = 96;
const OP_COND_ACCEPT: i32 = 98;

/// What the server says of the authentication.
struct Challenge {
    data: Vec<u8>,
    plugin: String,
    is_done: bool,
}

fn invalid(message: &str) -> WireError {
    WireError::Io(io::Error::new(io::ErrorKind::InvalidData, message))
}

fn connect(login: &Login<'_>) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (login.host, login.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, login.timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A list of tags, each with its value after a length of one byte.
fn push_tagged(list: &mut Vec<u8>, tag: u8, value: &[u8]) {
    let value = value.get(..255).unwrap_or(value);
    list.extend([tag, value.len() as u8]);
    list.extend_from_slice(value);
}

/// The first packet.
fn greeting(login: &Login<'_>, user: &str, public_key: &str) -> Packet {
    let mut identity = Vec::new();
    push_tagged(&mut identity, 9, user.as_bytes());
    push_tagged(&mut identity, 8, b"Srp256");
    push_tagged(&mut identity, 10, PLUGINS.as_bytes());
    for (number, part) in (0_u8..).zip(public_key.as_bytes().chunks(254)) {
        push_tagged(&mut identity, 7, &[&[number], part].concat());
    }
    // Encrypts if the server can.
    push_tagged(&mut identity, 11, &[1, 0, 0, 0]);
    push_tagged(&mut identity, 1, b"bobak");
    push_tagged(&mut identity, 4, b"client");
    push_tagged(&mut identity, 6, b"");
    let mut packet = Packet::default();
    packet.int(OP_CONNECT).int(OP_ATTACH).int(3).int(1).counted(login.database.as_bytes());
    packet.int(1).counted(&identity);
    // One version: on any machine, from remote calls to calls whose answers may come later.
    packet.int(VERSION).int(1).int(2).int(5).int(1);
    packet
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn challenge(receiver: &mut Receiver) -> io::Result<Challenge> {
    let data = receiver.counted()?;
    let plugin = text(receiver.counted()?);
    let is_done = receiver.int()? != 0;
    receiver.counted()?;
    Ok(Challenge { data, plugin, is_done })
}

impl FirebirdChannel {
    /// Connects, and opens or creates the database.
    pub(crate) fn open(login: &Login<'_>) -> WireResult<Self> {
        let user = user_name(login.user);
        let srp = Srp::new().ok_or_else(|| invalid("the system has no random bytes"))?;
        let (receiver, sender) = Receiver::split(connect(login)?)?;
        receiver.limit(Some(login.timeout))?;
        let mut channel = Self::new(receiver, sender);
        channel.packet = greeting(login, &user, &srp.public_key());
        channel.flush()?;
        let operation = channel.receiver.int()?;
        if !matches!(operation, OP_ACCEPT | OP_ACCEPT_DATA | OP_COND_ACCEPT) {
            return Err(channel.rejected(operation));
        }
        let version = channel.receiver.int()?;
        if version & 0xff != VERSION & 0xff {
            return Err(invalid("the server does not speak the protocol of Firebird 3"));
        }
        channel.receiver.int()?;
        channel.receiver.int()?;
        let mut proof = None;
        if operation != OP_ACCEPT {
            let challenge = challenge(&mut channel.receiver)?;
            if operation == OP_COND_ACCEPT {
                let key = channel.authenticate(login, &user, &srp, challenge)?;
                channel.encrypt(&key)?;
            } else if !challenge.is_done {
                let proved = srp.prove(&challenge.plugin, &user, login.password, &challenge.data);
                let (text, _) = proved.ok_or_else(|| not_srp(&challenge.plugin))?;
                proof = Some((challenge.plugin, text));
            }
        }
        channel.attach(login, &user, proof)?;
        channel.receiver.limit(None)?;
        Ok(channel)
    }

    /// The error of a server that does not accept the connection.
    fn rejected(&mut self, operation: i32) -> WireError {
        match operation {
            OP_RESPONSE => match self.response() {
                Err(error) => error,
                Ok(_) => invalid("the server's first answer is none"),
            },
            OP_REJECT => invalid("the server does not speak the protocol of Firebird 3"),
            _ => invalid("what listens there is no Firebird server"),
        }
    }

    /// Proves the password, and returns the session's key.
    fn authenticate(
        &mut self,
        login: &Login<'_>,
        user: &str,
        srp: &Srp,
        mut challenge: Challenge,
    ) -> WireResult<Vec<u8>> {
        let mut key = Vec::new();
        loop {
            let data = if challenge.data.is_empty() {
                srp.public_key()
            } else {
                let proved = srp.prove(&challenge.plugin, user, login.password, &challenge.data);
                let (proof, session) = proved.ok_or_else(|| not_srp(&challenge.plugin))?;
                key = session;
                proof
            };
            if !matches!(challenge.plugin.as_str(), "Srp" | "Srp256") {
                return Err(not_srp(&challenge.plugin));
            }
            self.packet.int(OP_CONT_AUTH).counted(data.as_bytes());
            self.packet.counted(challenge.plugin.as_bytes()).counted(PLUGINS.as_bytes());
            self.packet.counted(b"");
            self.flush()?;
            match self.receiver.int()? {
                OP_RESPONSE => return self.response_body().map(|_| key),
                OP_CONT_AUTH => {
                    let data = self.receiver.counted()?;
                    let plugin = text(self.receiver.counted()?);
                    self.receiver.counted()?;
                    self.receiver.counted()?;
                    challenge = Challenge { data, plugin, is_done: false };
                }
                _ => return Err(invalid("the server's answer is not one of authentication")),
            }
        }
    }

    fn encrypt(&mut self, key: &[u8]) -> WireResult<()> {
        self.packet.int(OP_CRYPT).counted(b"Arc4").counted(b"Symmetric");
        self.flush()?;
        let sender = self.sender.clone();
        self.receiver.encrypt(&sender, key);
        self.response().map(drop)
    }

    fn attach(
        &mut self,
        login: &Login<'_>,
        user: &str,
        proof: Option<(String, String)>,
    ) -> WireResult<()> {
        let mut settings = vec![1];
        push_tagged(&mut settings, 48, b"UTF8");
        push_tagged(&mut settings, 28, user.as_bytes());
        push_tagged(&mut settings, 77, b"");
        push_tagged(&mut settings, 63, &[3]);
        if let Some(role) = login.role {
            push_tagged(&mut settings, 60, role.as_bytes());
        }
        if let Some((plugin, proof)) = proof {
            push_tagged(&mut settings, 86, plugin.as_bytes());
            push_tagged(&mut settings, 85, PLUGINS.as_bytes());
            push_tagged(&mut settings, 84, proof.as_bytes());
        }
        if login.creates {
            // The largest pages of Firebird 3: an index's key may have a quarter of one.
            push_tagged(&mut settings, 4, &16_384_i32.to_le_bytes());
            push_tagged(&mut settings, 68, b"UTF8");
            push_tagged(&mut settings, 24, &[u8::from(login.forces_writes)]);
        }
        self.packet.int(if login.creates { OP_CREATE } else { OP_ATTACH }).int(0);
        self.packet.counted(login.database.as_bytes()).counted(&settings);
        self.database = self.response()?.object;
        Ok(())
    }
}

/// A user's name as the server knows it: in capitals, unless it is in quotes.
fn user_name(user: &str) -> String {
    match user.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => user.to_uppercase(),
    }
}

fn not_srp(plugin: &str) -> WireError {
    invalid(&format!(
        "the server asks for the authentication '{plugin}', and Bobak has Srp and Srp256"
    ))
}
