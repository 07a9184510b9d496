//! Limits on password logins.
//!
//! Checking a password is slow on purpose (argon2: 19 MiB and a good part of a CPU), so anybody who
//! can connect could overload the server with logins. This bounds how many wait at a time, and how
//! many wrong passwords one address may try for one name. Listeners check one password at a time, on
//! a thread of its own, so that logins never occupy the workers of clients that are connected.

use crate::quotas::{Permit, Permits, Principal, QuotaLimits};
use crate::rate_limiter::RateLimiter;
use bobak_core::{Error, ErrorKind};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::Duration;

/// How many logins may wait, in total and from one address.
const WAITING: QuotaLimits = QuotaLimits { total: 256, client: 256, address: 16 };

/// The logins that wait for their password check, and recent wrong passwords.
pub struct LoginQueue {
    waiting: Permits,
    wrong_passwords: RateLimiter<LoginKey>,
    hasher: RandomState,
}

/// An address and the hash of a name. Names come from clients and may be long.
type LoginKey = (Option<IpAddr>, u64);

/// A login whose password may be checked. It counts as waiting until this is dropped.
pub struct LoginAttempt {
    key: LoginKey,
    _permit: Permit,
}

impl LoginQueue {
    /// `wrong_passwords` is how many wrong passwords a minute one address may try for one name.
    #[must_use]
    pub fn new(wrong_passwords: u32) -> Self {
        Self {
            waiting: Permits::new(WAITING),
            wrong_passwords: RateLimiter::new(wrong_passwords, Duration::from_secs(60)),
            hasher: RandomState::new(),
        }
    }

    /// Admits a password check for this name.
    ///
    /// # Errors
    /// `Busy`, if there were too many wrong passwords for this name (with the time to wait), or too
    /// many logins wait.
    pub fn admit(
        &self,
        address: Option<IpAddr>,
        name: &str,
    ) -> Result<LoginAttempt, (Error, Option<Duration>)> {
        let principal = Principal::from_address(address);
        let key = (principal.address(), self.hasher.hash_one(name));
        self.wrong_passwords.check(key).map_err(|wait| {
            let message = "too many wrong passwords for this name: wait, then try again";
            (Error::new(ErrorKind::Busy, message), Some(wait))
        })?;
        let permit = self.waiting.acquire(&principal);
        let permit = permit.map_err(|scope| (scope.quota_error("waiting logins"), None))?;
        Ok(LoginAttempt { key, _permit: permit })
    }

    /// Records that the password was wrong.
    pub fn record_wrong_password(&self, attempt: &LoginAttempt) {
        self.wrong_passwords.record(attempt.key);
    }
}
