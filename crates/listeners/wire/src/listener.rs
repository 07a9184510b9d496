//! Where connections come in.

use crate::transport::Transport;
use bobak_core::{Error, ErrorKind, Result};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A door that is open.
pub enum Listener {
    /// Over TCP.
    Tcp(TcpListener),
    /// Over TCP with TLS.
    #[cfg(feature = "tls")]
    Tls(TcpListener, std::sync::Arc<rustls::ServerConfig>),
    /// Over a Unix socket, whose file is removed at the end.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on TCP. `plain` where others than this machine may come without TLS.
    ///
    /// # Errors
    /// `Config` where they may not; `Io`.
    pub fn tcp(address: &str, plain: bool) -> Result<TcpListener> {
        let doing = format!("listen at {address}");
        let addresses: Vec<SocketAddr> =
            address.to_socket_addrs().map_err(|error| Error::io(&doing, error))?.collect();
        if !plain && addresses.iter().any(|address| !address.ip().is_loopback()) {
            let message = format!(
                "{address} is open to other machines: use TLS, or say that passwords and records \
                 may cross the network as they are"
            );
            return Err(Error::new(ErrorKind::Config, message));
        }
        let listener = TcpListener::bind(&*addresses).map_err(|error| Error::io(&doing, error))?;
        listener.set_nonblocking(true).map_err(|error| Error::io(&doing, error))?;
        Ok(listener)
    }

    /// Listens on a Unix socket, which nobody but this user can open.
    ///
    /// # Errors
    /// `Config` where another server listens there, or the file is something else; `Io`.
    pub fn unix(path: &Path) -> Result<Self> {
        let doing = format!("listen at {}", path.display());
        let io = |error| Error::io(&doing, error);
        remove_left_over(path)?;
        let listener = UnixListener::bind(path).map_err(io)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io)?;
        listener.set_nonblocking(true).map_err(io)?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    /// The next connection; `WouldBlock` where there is none.
    pub(crate) fn accept(&self) -> io::Result<Transport> {
        match self {
            Self::Tcp(listener) => Transport::tcp(listener.accept()?.0),
            #[cfg(feature = "tls")]
            Self::Tls(listener, config) => {
                let stream = listener.accept()?.0;
                let stream = crate::tls::TlsStream::new(std::sync::Arc::clone(config), stream)?;
                Ok(Transport::tls(stream))
            }
            Self::Unix(listener, _) => Transport::unix(listener.accept()?.0),
        }
    }

    /// Its address, where it has one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            #[cfg(feature = "tls")]
            Self::Tls(listener, _) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(listener) => listener.as_raw_fd(),
            #[cfg(feature = "tls")]
            Self::Tls(listener, _) => listener.as_raw_fd(),
            Self::Unix(listener, _) => listener.as_raw_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Where somebody has removed it already, it is gone.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the socket of a server that was killed.
fn remove_left_over(path: &Path) -> Result<()> {
    let refuse =
        |what: &str| Error::new(ErrorKind::Config, format!("{what} at {}", path.display()));
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            Err(refuse("there is a file that is no socket"))
        }
        Ok(_) if UnixStream::connect(path).is_ok() => Err(refuse("another server listens")),
        Ok(_) => {
            let doing = format!("remove {}", path.display());
            fs::remove_file(path).map_err(|error| Error::io(&doing, error))
        }
        Err(_) => Ok(()),
    }
}
