//! The pages that were encrypted last: SQLite writes the same content to the journal before it changes a page again.

/// How many pages are kept: a small transaction changes about two.
const KEPT: usize = 4;

/// Pages with their encrypted form.
#[derive(Default)]
pub(super) struct RecentPages {
    pages: [RecentPage; KEPT],
    next: usize,
}

#[derive(Default)]
struct RecentPage {
    /// 0 for none.
    number: u64,
    content: Vec<u8>,
    sealed: Vec<u8>,
}

impl RecentPages {
    /// The encrypted form of a page with exactly this content.
    pub(super) fn find(&self, number: u64, content: &[u8]) -> Option<&[u8]> {
        let page = self.pages.iter().find(|page| page.number == number)?;
        (page.content == content).then_some(&page.sealed)
    }

    /// Keeps a page instead of the oldest one. `sealed` is exchanged for another buffer.
    pub(super) fn keep(&mut self, number: u64, content: &[u8], sealed: &mut Vec<u8>) {
        let known = self.pages.iter().position(|page| page.number == number);
        let place = known.unwrap_or_else(|| {
            self.next = (self.next + 1) % KEPT;
            self.next
        });
        let Some(page) = self.pages.get_mut(place) else { return };
        page.number = number;
        page.content.clear();
        page.content.extend_from_slice(content);
        std::mem::swap(&mut page.sealed, sealed);
    }
}
