//! Orders a certificate from the authority.

use crate::AcmeCertificate;
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use instant_acme::{
    Account, AccountBuilder, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long the authority may take to connect to the server, and to sign.
const ORDER_TIMEOUT: RetryPolicy = RetryPolicy::new().timeout(Duration::from_secs(120));

/// The account as a file.
#[derive(Serialize, Deserialize)]
struct StoredAccount {
    /// The authority that has it.
    directory: String,
    credentials: AccountCredentials,
}

impl AcmeCertificate {
    /// Orders a certificate, and writes it.
    pub(crate) async fn order(&self) -> Result<()> {
        let ordered = self.ordered().await;
        self.resolver.remove_responses();
        let (chain, key) = ordered?;
        write(&self.acme.certificate(), &format!("{}\n{key}{chain}", self.names_line()))
    }

    /// The chain and the key, as PEM.
    async fn ordered(&self) -> Result<(String, String)> {
        let account = self.account().await?;
        let names = self.acme.names.iter().map(|name| match name.parse() {
            Ok(address) => Identifier::Ip(address),
            Err(_) => Identifier::Dns(name.clone()),
        });
        let names: Vec<_> = names.collect();
        let mut order = account.new_order(&NewOrder::new(&names)).await.map_err(failed)?;
        self.respond(&mut order).await?;
        let status = order.poll_ready(&ORDER_TIMEOUT).await.map_err(failed)?;
        if status != OrderStatus::Ready {
            return Err(reason(&mut order).await);
        }
        let key = order.finalize().await.map_err(failed)?;
        let chain = order.poll_certificate(&ORDER_TIMEOUT).await.map_err(failed)?;
        Ok((chain, key))
    }

    /// The account of the file, or a new one.
    async fn account(&self) -> Result<Account> {
        let path = self.acme.account();
        if let Ok(text) = fs::read_to_string(&path) {
            let stored: StoredAccount = serde_json::from_str(&text).map_err(|error| {
                let message = format!("{} cannot be read: {error}", path.display());
                Error::new(ErrorKind::Config, message)
            })?;
            if stored.directory == self.acme.directory {
                let account = self.builder()?.from_credentials(stored.credentials).await;
                return account.map_err(failed);
            }
        }
        let contact = self.acme.contact.as_ref().map(|email| format!("mailto:{email}"));
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let new = NewAccount {
            contact: &contact,
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let directory = self.acme.directory.clone();
        let made = self.builder()?.create(&new, directory.clone(), None).await;
        let (account, credentials) = made.map_err(failed)?;
        let stored = serde_json::to_string(&StoredAccount { directory, credentials });
        write(&path, &stored.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?)?;
        Ok(account)
    }

    fn builder(&self) -> Result<AccountBuilder> {
        // The client leaves the choice to the process if several are compiled. An earlier choice stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        match &self.acme.root {
            Some(pem) => Account::builder_with_root(pem),
            None => Account::builder(),
        }
        .map_err(failed)
    }

    /// Responds to the challenges of all names that the authority has not seen yet.
    async fn respond(&self, order: &mut Order) -> Result<()> {
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization.map_err(failed)?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
            let mut challenge = challenge.ok_or_else(|| {
                let message = "the authority does not offer the challenge tls-alpn-01";
                Error::new(ErrorKind::Unsupported, message)
            })?;
            let name = challenge.identifier().to_string();
            self.resolver.respond(&name, challenge.key_authorization().digest().as_ref())?;
            challenge.set_ready().await.map_err(failed)?;
        }
        Ok(())
    }
}

/// Why the authority rejected an order: the problem of the first challenge that failed.
async fn reason(order: &mut Order) -> Error {
    let mut authorizations = order.authorizations();
    while let Some(Ok(authorization)) = authorizations.next().await {
        let problem =
            authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref());
        if let Some(problem) = problem {
            return Error::new(ErrorKind::Denied, format!("the authority says: {problem}"));
        }
    }
    Error::new(ErrorKind::Denied, "the authority rejected the order")
}

fn failed(error: instant_acme::Error) -> Error {
    let kind = match error {
        instant_acme::Error::Api(_) => ErrorKind::Denied,
        instant_acme::Error::Timeout(_) => ErrorKind::Timeout,
        _ => ErrorKind::Unreachable,
    };
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    Error::new(kind, message)
}

/// Writes a file that only this user can read.
fn write(path: &Path, text: &str) -> Result<()> {
    let file = AtomicFile::create_private(path)?;
    let written = fs::write(file.path(), text).and_then(|()| file.commit());
    written.map_err(|error| Error::io(&format!("write {}", path.display()), error))
}
