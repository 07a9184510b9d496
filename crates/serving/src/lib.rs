//! What all listeners of Bobak share, whatever protocol they speak.
//!
//! * [`ServerBuilder`] collects databases, accounts, addresses and settings, opens the listening
//!   sockets ([`Listener`]), and starts a [`ProtocolServer`].
//! * [`LoginQueue`] limits password checks, [`RateLimiter`] how often a client may ask.
//!   Authentication itself, with wrong passwords and expired tokens, is
//!   [`Access::authenticate`](bobak_permissions::Access::authenticate).
//! * [`Quotas`] divide what is scarce (workers, connections, memory) between [`Principal`]s, so that
//!   no client and no address takes all of it. [`FairQueue`] queues the waiters for a quota;
//!   [`ConnectionLimiter`] is the quota of connections.
//! * With the feature `tls`, `CertificateFiles` reads a certificate, also when it was renewed.
//! * [`AuditLog`] records which clients were rejected or disconnected, and why.
//!
//! The listeners are `bobak-server` (the binary protocol) and `bobak-http`. Neither knows the
//! other, and this crate knows neither.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg(unix)]

mod audit_log;
mod builder;
mod connection_limiter;
mod fair_queue;
mod listener;
mod login_queue;
mod process;
mod quotas;
mod rate_limiter;
#[cfg(feature = "tls")]
mod tls;

pub use audit_log::{AuditLog, LogSink, with_cause};
pub use builder::{BackupFolders, ProtocolServer, ServerBuilder, ServerParts};
pub use connection_limiter::ConnectionLimiter;
pub use fair_queue::FairQueue;
pub use listener::Listener;
pub use login_queue::{LoginAttempt, LoginQueue};
pub use process::{memory_in_use, raise_file_limit};
pub use quotas::{Permit, Permits, Principal, QuotaLimits, Quotas, Scope};
pub use rate_limiter::RateLimiter;
#[cfg(feature = "tls")]
pub use tls::{CertificateFiles, certificate_validity, tls_config};
