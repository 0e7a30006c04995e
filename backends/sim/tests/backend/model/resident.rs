//! A device's resident cache as a list: what is loaded, when it was used last, and how often it is held.

/// The most entries: the cap is so many times one.
pub(crate) const ENTRIES_MAX: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: usize,
    used: u64,
    holders: usize,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PlainCache {
    entries: Vec<Entry>,
    uses: u64,
    pub(crate) hits: u64,
    pub(crate) loads: u64,
    pub(crate) failures: u64,
    pub(crate) evictions: u64,
}

impl PlainCache {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn in_use(&self) -> usize {
        self.entries.iter().filter(|entry| entry.holders > 0).count()
    }

    /// Get or load; false when those in use leave no room.
    pub(crate) fn get(&mut self, key: usize) -> bool {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.holders += 1;
            self.hits += 1;
            return true;
        }
        if self.entries.len() == ENTRIES_MAX {
            let idle = (0..ENTRIES_MAX).filter(|index| self.entries[*index].holders == 0);
            let Some(oldest) = idle.min_by_key(|index| self.entries[*index].used) else {
                self.failures += 1;
                return false;
            };
            self.entries.swap_remove(oldest);
            self.evictions += 1;
        }
        let used = self.next_use();
        self.loads += 1;
        self.entries.push(Entry { key, used, holders: 1 });
        true
    }

    pub(crate) fn let_go(&mut self, key: usize) {
        let used = self.next_use();
        let entry = self.entries.iter_mut().find(|entry| entry.key == key).expect("what is held stays");
        entry.holders -= 1;
        entry.used = used;
    }
}
