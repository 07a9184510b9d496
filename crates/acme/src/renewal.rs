//! When a certificate is ordered.

use crate::AcmeCertificate;
use bobak_core::{Error, ErrorKind, Result, Timestamp};
use bobak_serving::certificate_validity;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long to wait after the first order that failed, and at most. Let's Encrypt accepts five failures an hour.
const RETRIES: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(6 * 3_600)];

/// How often to look at the certificate: the clock may be set, and a machine may sleep.
const LOOK_INTERVAL: Duration = Duration::from_secs(3_600);

/// Renews a certificate until it is dropped.
#[must_use = "the certificate is renewed until this is dropped"]
pub struct Renewal {
    /// Dropped before the thread is awaited, which stops it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    pub(crate) fn start(certificate: AcmeCertificate) -> Result<Self> {
        let io = |error| Error::io("start a thread", error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(io)?;
        let (stop, stopped) = oneshot::channel();
        let renew = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = certificate.keep_valid() => {}
                }
            });
        };
        let thread = thread::Builder::new().name("acme".to_owned()).spawn(renew).map_err(io)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// The result of an order. If it panics, that is an error: there is a next try.
async fn without_panic(order: impl Future<Output = Result<()>>) -> Result<()> {
    let mut order = pin!(order);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| order.as_mut().poll(context)));
        polled.unwrap_or_else(|_| {
            let message = "the order has panicked";
            Poll::Ready(Err(Error::new(ErrorKind::Unknown, message)))
        })
    })
    .await
}

impl AcmeCertificate {
    async fn keep_valid(&self) {
        let [mut retry, longest] = RETRIES;
        loop {
            if !self.is_due() {
                tokio::time::sleep(LOOK_INTERVAL).await;
                continue;
            }
            let names = self.acme.names.join(", ");
            match without_panic(self.order()).await {
                Ok(()) => {
                    retry = RETRIES[0];
                    (self.log)(&format!("the certificate for {names} was ordered"));
                }
                Err(error) => {
                    let (minutes, authority) = (retry.as_secs() / 60, &self.acme.directory);
                    (self.log)(&format!(
                        "the certificate for {names} could not be ordered from {authority}: {error}; the next try is in \
                         {minutes} min"
                    ));
                    tokio::time::sleep(retry).await;
                    retry = longest.min(retry * 2);
                }
            }
        }
    }

    /// Whether there is no certificate for these names, or at most a third of its lifetime is left.
    fn is_due(&self) -> bool {
        let file = self.acme.certificate();
        let Ok(text) = std::fs::read_to_string(&file) else { return true };
        let Some([from, to]) = certificate_validity(&file) else { return true };
        let [from, to, now] = [from, to, Timestamp::now()].map(Timestamp::as_second);
        text.lines().next() != Some(&self.names_line()) || to - now <= (to - from) / 3
    }

    /// The first line of the file with the certificate, before the PEM text.
    pub(crate) fn names_line(&self) -> String {
        format!("names: {}", self.acme.names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_an_order_is_an_error() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let order = without_panic(async { panic!("a defect") });
        let error = runtime.block_on(order).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
        runtime.block_on(without_panic(async { Ok(()) })).unwrap();
    }
}
