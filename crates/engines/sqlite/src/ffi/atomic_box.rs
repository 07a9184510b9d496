//! A lock-free slot for one box.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Holds one box or none. All operations are sequentially consistent.
#[derive(Debug)]
pub(crate) struct AtomicBox<T> {
    pointer: AtomicPtr<T>,
}

// SAFETY: it owns its `T` as a `Box<T>` does, and only ever moves it between threads, whole.
unsafe impl<T: Send> Send for AtomicBox<T> {}
// SAFETY: as above; no reference to the `T` is ever made from a shared one to this.
unsafe impl<T: Send> Sync for AtomicBox<T> {}

impl<T> AtomicBox<T> {
    pub(crate) fn new(value: Box<T>) -> Self {
        Self { pointer: AtomicPtr::new(Box::into_raw(value)) }
    }

    /// Takes the box, if there is one.
    #[inline]
    pub(crate) fn take(&self) -> Option<Box<T>> {
        let pointer = self.pointer.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: what is not null came from `Box::into_raw`, and the swap gives it to one only.
        (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
    }

    /// Stores a box; drops the previous one, if any.
    #[inline]
    pub(crate) fn put(&self, value: Box<T>) {
        let old = self.pointer.swap(Box::into_raw(value), Ordering::SeqCst);
        if !old.is_null() {
            // SAFETY: as in `take`.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

impl<T> Drop for AtomicBox<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_box_goes_round_among_many_threads() {
        let place = AtomicBox::new(Box::new(0_u64));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut left = 10_000;
                    while left > 0 {
                        if let Some(mut number) = place.take() {
                            *number += 1;
                            place.put(number);
                            left -= 1;
                        }
                    }
                });
            }
        });
        assert_eq!(place.take().as_deref(), Some(&40_000));
        assert!(place.take().is_none());
        place.put(Box::new(1));
    }
}
