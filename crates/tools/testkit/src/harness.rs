//! What the suite needs of an engine's tests: new, empty stores, and the way to open one again.

use bobak_core::{Engine, Result};

/// Makes new, empty stores. Any closure that gives a [`Fixture`] is one.
///
/// Set a busy timeout of some tenths of a second: some cases wait until it has passed.
pub trait Harness {
    /// A store without tables that nothing else uses.
    ///
    /// # Errors
    /// Those of opening the engine.
    fn fresh(&self) -> Result<Fixture>;

    /// As [`fresh`](Self::fresh), for several threads that write to the same row.
    ///
    /// # Errors
    /// Those of opening the engine.
    fn for_writers(&self) -> Result<Fixture> {
        self.fresh()
    }
}

impl<F: Fn() -> Result<Fixture>> Harness for F {
    fn fresh(&self) -> Result<Fixture> {
        self()
    }
}

type Open = Box<dyn Fn() -> Result<Box<dyn Engine>>>;

/// One store under test, open.
pub struct Fixture {
    // Dropped before `open`, which may own the folder that the engine's file is in.
    engine: Option<Box<dyn Engine>>,
    open: Option<Open>,
}

impl Fixture {
    /// A store that lives and dies with its engine.
    #[must_use]
    pub fn volatile(engine: impl Engine) -> Self {
        Self { engine: Some(Box::new(engine)), open: None }
    }

    /// A store that outlives its engine: `open` opens the same one each time. What it owns, such
    /// as a folder for the file, lives as long as the fixture.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn persistent(open: impl Fn() -> Result<Box<dyn Engine>> + 'static) -> Result<Self> {
        Ok(Self { engine: Some(open()?), open: Some(Box::new(open)) })
    }

    /// The same store behind another engine, such as one that injects faults; at each opening.
    ///
    /// # Errors
    /// None of its own.
    pub fn wrapped(
        mut self,
        wrap: impl Fn(Box<dyn Engine>) -> Box<dyn Engine> + 'static,
    ) -> Result<Self> {
        self.engine = self.engine.take().map(&wrap);
        self.open = self.open.take().map(|open| -> Open { Box::new(move || open().map(&wrap)) });
        Ok(self)
    }

    /// The engine.
    ///
    /// # Panics
    /// After a [`reopen`](Fixture::reopen) that failed.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_deref().expect("a store whose opening failed is not used again")
    }

    /// Flushes, closes and opens the store again; returns `false` and does nothing if the store is not persistent.
    ///
    /// # Errors
    /// Those of flushing and opening.
    pub fn reopen(&mut self) -> Result<bool> {
        let Some(open) = &self.open else {
            return Ok(false);
        };
        self.engine().flush()?;
        self.engine = None;
        self.engine = Some(open()?);
        Ok(true)
    }
}
