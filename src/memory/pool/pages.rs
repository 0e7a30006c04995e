//! All pages of a pool: where a block is free, and which pages are whole.

use std::collections::BTreeSet;

use super::page::{Block, Page};
use super::{PageId, Slice, class};

/// The pages, their numbers and generations, and indexes over what is free in them.
#[derive(Debug, Default)]
pub(super) struct Pages {
    entries: Vec<Entry>,
    vacant: Vec<usize>,
    /// Free blocks of shared pages: length, page and first byte, so that the first that fits is the best.
    blocks: BTreeSet<(u64, PageId, u64)>,
    /// Free exclusive pages: size and page.
    exclusive: BTreeSet<(u64, PageId)>,
    reserved: u64,
    count: u64,
    epoch: u64,
}

/// A page number: its generation grows when its page is released, so an old reference is told apart from a new one.
#[derive(Debug)]
struct Entry {
    generation: u64,
    page: Option<Page>,
}

impl Pages {
    pub(super) fn reserved(&self) -> u64 {
        self.reserved
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn generation(&self, id: PageId) -> Option<u64> {
        self.entries.get(usize::try_from(id.0).ok()?).map(|entry| entry.generation)
    }

    pub(super) fn add(&mut self, page: Page) -> PageId {
        let index = self.vacant.pop().unwrap_or(self.entries.len());
        let id = PageId(index as u64);
        self.reserved = self.reserved.saturating_add(page.bytes);
        self.count += 1;
        for block in page.blocks() {
            list(&mut self.blocks, &mut self.exclusive, id, &page, block);
        }
        match self.entries.get_mut(index) {
            Some(entry) => entry.page = Some(page),
            None => self.entries.push(Entry { generation: 1, page: Some(page) }),
        }
        id
    }

    /// Take a block of a shared page: the smallest that fits.
    pub(super) fn take_shared(&mut self, bytes: u64) -> Option<Slice> {
        let (found, id, offset) = self.blocks.range((bytes, PageId(0), 0)..).next().copied()?;
        self.blocks.remove(&(found, id, offset));
        if let Some(rest) = self.page_mut(id)?.take(offset, bytes) {
            self.blocks.insert((rest.bytes, id, rest.offset));
        }
        Some(Slice { page: id, offset, bytes })
    }

    /// Take a free exclusive page that wastes little: the smallest that fits.
    pub(super) fn take_exclusive(&mut self, bytes: u64) -> Option<Slice> {
        let (found, id) = self.exclusive.range((bytes, PageId(0))..).next().copied()?;
        if !class::serves(found, bytes) {
            return None;
        }
        self.exclusive.remove(&(found, id));
        self.page_mut(id)?.take(0, bytes);
        Some(Slice { page: id, offset: 0, bytes })
    }

    /// Give a slice's bytes back to its page.
    pub(super) fn give(&mut self, slice: Slice) {
        let Some(page) = self.entries.get_mut(slice.page.0 as usize).and_then(|entry| entry.page.as_mut()) else {
            return;
        };
        let (merged, whole) = page.give(Block { offset: slice.offset, bytes: slice.bytes });
        for part in merged {
            self.blocks.remove(&(part.bytes, slice.page, part.offset));
        }
        list(&mut self.blocks, &mut self.exclusive, slice.page, page, whole);
    }

    /// Note the next user of a slice; whether another account used it before.
    pub(super) fn occupy(&mut self, slice: Slice, account: u64) -> bool {
        let block = Block { offset: slice.offset, bytes: slice.bytes };
        self.page_mut(slice.page).is_some_and(|page| page.occupy(block, account))
    }

    /// Pages that nothing uses, with their sizes, the largest first.
    pub(super) fn empty(&self) -> Vec<(u64, PageId)> {
        let whole = |(id, page): (PageId, &Page)| page.is_empty().then_some((page.bytes, id));
        let mut empty: Vec<(u64, PageId)> = self.iter().filter_map(whole).collect();
        empty.sort_unstable_by(|one, two| two.cmp(one));
        empty
    }

    /// Free bytes in shared pages, and in exclusive ones that are whole.
    pub(super) fn free_bytes(&self) -> u64 {
        let counted = |page: &&Page| !page.exclusive || page.is_empty();
        self.iter().map(|(_, page)| page).filter(counted).map(Page::free_bytes).sum()
    }

    /// Forget an empty page; its generation and the epoch grow.
    pub(super) fn release(&mut self, id: PageId) {
        let Some(entry) = self.entries.get_mut(id.0 as usize) else { return };
        let Some(page) = entry.page.take_if(|page| page.is_empty()) else { return };
        entry.generation += 1;
        self.epoch += 1;
        self.reserved -= page.bytes;
        self.count -= 1;
        self.blocks.remove(&(page.bytes, id, 0));
        self.exclusive.remove(&(page.bytes, id));
        self.vacant.push(id.0 as usize);
    }

    fn iter(&self) -> impl Iterator<Item = (PageId, &Page)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(index, entry)| Some((PageId(index as u64), entry.page.as_ref()?)))
    }

    fn page_mut(&mut self, id: PageId) -> Option<&mut Page> {
        self.entries.get_mut(usize::try_from(id.0).ok()?)?.page.as_mut()
    }
}

/// Enter a free block in the index of its page's kind. An exclusive page is listed once it is whole.
fn list(
    blocks: &mut BTreeSet<(u64, PageId, u64)>,
    exclusive: &mut BTreeSet<(u64, PageId)>,
    id: PageId,
    page: &Page,
    block: Block,
) {
    if !page.exclusive {
        blocks.insert((block.bytes, id, block.offset));
    } else if page.is_empty() {
        exclusive.insert((page.bytes, id));
    }
}
