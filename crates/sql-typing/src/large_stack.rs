//! Work on a stack that is large enough for the parser, in a thread of its own.

use crate::relations::{Relation, Relations};
use bobak_core::{Error, Result};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Builder};

/// What a thread requests: a schema and a name.
type RelationRequest = (Option<String>, String);

/// The relations of another thread.
struct RemoteRelations {
    requests: Sender<RelationRequest>,
    found: Receiver<Result<Option<Relation>>>,
}

impl Relations for RemoteRelations {
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let sent = self.requests.send((schema.map(str::to_owned), name.to_owned()));
        // The other thread waits for requests until this one ends.
        sent.ok().and_then(|()| self.found.recv().ok()).unwrap_or(Ok(None))
    }
}

/// Runs `work` with a stack of so many bytes. The relations stay in this thread: a connection reads them.
///
/// # Errors
/// Those of `work`; `Io` if no thread can be started.
pub(crate) fn with_stack<R: Send>(
    bytes: usize,
    relations: &dyn Relations,
    work: impl FnOnce(&dyn Relations) -> Result<R> + Send,
) -> Result<R> {
    let (requests, requested) = channel::<RelationRequest>();
    let (send, found) = channel();
    let its_relations = RemoteRelations { requests, found };
    thread::scope(|scope| {
        let builder = Builder::new().name("analyze sql".to_owned()).stack_size(bytes);
        let worker = builder
            .spawn_scoped(scope, move || work(&its_relations))
            .map_err(|error| Error::io("start a thread", error))?;
        for (schema, name) in requested {
            // It is gone only if it has panicked.
            let _ = send.send(relations.relation(schema.as_deref(), &name));
        }
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::ErrorKind;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Relations that stay in their thread.
    #[derive(Default)]
    struct Counted(Cell<u32>);

    impl Relations for Counted {
        fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
            self.0.set(self.0.get() + 1);
            match (schema, name) {
                (Some("main"), "person") => Ok(Some(Relation::Table(Vec::new()))),
                (_, "locked") => Err(Error::new(ErrorKind::Busy, "the schema is locked")),
                _ => Ok(None),
            }
        }
    }

    #[test]
    fn relations_are_read_in_their_thread() {
        let relations = Counted::default();
        let found = with_stack(1 << 20, &relations, |relations| {
            assert!(relations.relation(None, "person")?.is_none());
            relations.relation(Some("main"), "person")
        });
        assert!(matches!(found, Ok(Some(Relation::Table(_)))));
        let failed = with_stack(1 << 20, &relations, |other| other.relation(None, "locked"));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(relations.0.get(), 3);
    }

    #[test]
    fn a_panic_of_the_work_is_one_of_the_call() {
        let relations = Counted::default();
        let work = |_: &dyn Relations| -> Result<()> { panic!("a defect") };
        let call = || with_stack(1 << 20, &relations, work);
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    }
}
