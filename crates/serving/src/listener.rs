//! Listening sockets: TCP, TCP with TLS, Unix sockets.

use bobak_core::{Error, ErrorKind, Result};
use std::fs;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A socket that listens for clients.
#[non_exhaustive]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// TCP with TLS.
    #[cfg(feature = "tls")]
    Tls(TcpListener, std::sync::Arc<rustls::ServerConfig>),
    /// A Unix socket. Its file is removed on drop.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on TCP. `any_address` allows addresses that other machines can reach.
    ///
    /// # Errors
    /// `Config` for such an address if they are not allowed; `Io`.
    pub fn tcp(address: &str, any_address: bool) -> Result<TcpListener> {
        let doing = format!("listen at {address}");
        let addresses: Vec<SocketAddr> =
            address.to_socket_addrs().map_err(|error| Error::io(&doing, error))?.collect();
        if !any_address && addresses.iter().any(|address| !address.ip().is_loopback()) {
            let message = format!(
                "other machines can reach {address}: use TLS, or allow passwords and records to \
                 cross the network unencrypted"
            );
            return Err(Error::new(ErrorKind::Config, message));
        }
        let listener = TcpListener::bind(&*addresses).map_err(|error| Error::io(&doing, error))?;
        listener.set_nonblocking(true).map_err(|error| Error::io(&doing, error))?;
        Ok(listener)
    }

    /// Listens on a Unix socket that only this user can open.
    ///
    /// # Errors
    /// `Config` if another server listens there, or the file is not a socket; `Io`.
    pub fn unix(path: &Path) -> Result<Self> {
        let doing = format!("listen at {}", path.display());
        let io = |error| Error::io(&doing, error);
        remove_stale_socket(path)?;
        let listener = UnixListener::bind(path).map_err(io)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io)?;
        listener.set_nonblocking(true).map_err(io)?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    /// Its TCP address; `None` for a Unix socket.
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
            // It may already be removed.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the socket file that a killed server left behind.
fn remove_stale_socket(path: &Path) -> Result<()> {
    let config = |what: &str| Error::new(ErrorKind::Config, format!("{} {what}", path.display()));
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
            Err(config("exists and is not a socket"))
        }
        Ok(_) if UnixStream::connect(path).is_ok() => Err(config("is in use by another server")),
        Ok(_) => {
            let doing = format!("remove {}", path.display());
            fs::remove_file(path).map_err(|error| Error::io(&doing, error))
        }
        Err(_) => Ok(()),
    }
}
