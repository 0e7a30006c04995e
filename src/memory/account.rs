//! Accounts: every allocation is charged to one, and its limit is checked before the driver is asked.

use std::fmt;

use crate::error::{MemoryLimit, OutOfMemory, ServerError};
use crate::memory::Memory;
use crate::memory::handle::WeakMemory;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

static NEXT_ACCOUNT: AtomicU64 = AtomicU64::new(1);

/// How many allocations an account remembers before it forgets those that are gone.
const HELD_MIN: usize = 16;

/// A payer for device memory, with an optional hard limit. Clones pay from the same account.
#[derive(Clone)]
pub struct Account(Arc<AccountInner>);

struct AccountInner {
    id: u64,
    name: Arc<str>,
    limit: Option<u64>,
    used: AtomicU64,
    peak: AtomicU64,
    /// What it paid for, where it can take that back.
    held: Option<Mutex<Held>>,
    /// Whether a backend made it, of what it manages.
    granted: bool,
}

#[derive(Default)]
struct Held {
    memory: Vec<WeakMemory>,
    /// Look for what is gone once there are this many.
    sweep_at: usize,
    revoked: Option<Arc<str>>,
}

impl Account {
    /// An account named `name`, with a limit in bytes unless it is `None`.
    pub fn new(name: &str, limit: Option<u64>) -> Self {
        Self::make(name, limit, None, false)
    }

    /// An account whose memory [`Account::revoke`] takes back, however many handles on it are left.
    pub fn revocable(name: &str, limit: Option<u64>) -> Self {
        Self::make(name, limit, Some(Mutex::default()), false)
    }

    /// As [`Account::revocable`], for what a backend grants: such accounts alone pay on a device that it manages.
    pub(crate) fn granted(name: &str, limit: Option<u64>) -> Self {
        Self::make(name, limit, Some(Mutex::default()), true)
    }

    fn make(name: &str, limit: Option<u64>, held: Option<Mutex<Held>>, granted: bool) -> Self {
        let id = NEXT_ACCOUNT.fetch_add(1, Ordering::Relaxed);
        let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(AccountInner { id, name: name.into(), limit, used, peak, held, granted }))
    }

    /// Whether its memory can be taken back.
    pub fn is_revocable(&self) -> bool {
        self.0.held.is_some()
    }

    pub(crate) fn is_granted(&self) -> bool {
        self.0.granted
    }

    /// Take back all that it pays for, and pay for nothing more: handles that are left are refused with `why`, and their
    /// device frees the memory at its next call, behind the work that uses it. Nothing for an account that is not
    /// [`Account::revocable`].
    pub fn revoke(&self, why: &str) {
        let Some(held) = &self.0.held else { return };
        let why: Arc<str> = why.into();
        let memory = {
            let mut held = held.lock();
            held.revoked.get_or_insert_with(|| why.clone());
            std::mem::take(&mut held.memory)
        };
        memory.iter().for_each(|memory| memory.revoke(&why));
    }

    /// Remember what it pays for. Taken back at once where the account was revoked meanwhile.
    pub(crate) fn remember(&self, memory: &Memory) {
        let Some(held) = &self.0.held else { return };
        let revoked = {
            let mut held = held.lock();
            if held.memory.len() >= held.sweep_at.max(HELD_MIN) {
                held.memory.retain(WeakMemory::is_held);
                held.sweep_at = held.memory.len() * 2;
            }
            held.memory.push(memory.downgrade());
            held.revoked.clone()
        };
        if let Some(why) = revoked {
            memory.downgrade().revoke(&why);
        }
    }

    /// Its number, never used twice in a process.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its limit in bytes.
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// Bytes charged now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Acquire)
    }

    /// The most bytes ever charged at once.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Acquire)
    }

    /// Charge `bytes` until the charge is dropped.
    ///
    /// # Errors
    ///
    /// [`ServerError::OutOfMemory`] with need, have and limit, [`ServerError::Closed`] once it was revoked; nothing is
    /// charged then.
    pub fn charge(&self, bytes: u64) -> Result<Charge, ServerError> {
        if let Some(why) = self.0.held.as_ref().and_then(|held| held.lock().revoked.clone()) {
            return Err(ServerError::closed(format!("account `{}`", self.0.name), why));
        }
        let limit = self.0.limit.unwrap_or(u64::MAX);
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        match self.0.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits) {
            Ok(before) => {
                self.0.peak.fetch_max(before + bytes, Ordering::AcqRel);
                Ok(Charge { account: self.clone(), bytes })
            }
            Err(used) => Err(ServerError::OutOfMemory(OutOfMemory {
                refused_by: MemoryLimit::Account(self.0.name.clone()),
                need: bytes,
                have: self.0.limit.map(|limit| limit.saturating_sub(used)),
                limit: self.0.limit,
                held: 0,
            })),
        }
    }
}

impl PartialEq for Account {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Account {}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("id", &self.0.id)
            .field("name", &self.0.name)
            .field("limit", &self.0.limit)
            .field("used", &self.used())
            .finish()
    }
}

/// Bytes charged to an account; dropping it gives them back.
#[derive(Debug)]
pub struct Charge {
    account: Account,
    bytes: u64,
}

impl Charge {
    /// Who pays.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.0.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_charge_changes_nothing_and_says_what_was_missing() {
        let account = Account::new("job", Some(100));
        let first = account.charge(60).expect("60 of 100");
        let Err(ServerError::OutOfMemory(refusal)) = account.charge(41) else { panic!("41 of 40 must not fit") };
        assert_eq!((refusal.need, refusal.have, refusal.limit), (41, Some(40), Some(100)));
        assert_eq!(account.used(), 60);
        drop(first);
        assert_eq!((account.used(), account.peak()), (0, 60));
        assert!(Account::new("max", None).charge(u64::MAX).is_ok());
    }
}
