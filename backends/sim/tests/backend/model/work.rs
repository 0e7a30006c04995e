//! What attempts do on their devices, with results that are checked.

use std::path::PathBuf;
use std::sync::LazyLock;

use graphreel::lifecycle::{QueryContext, QueryErrorCode};
use graphreel::{ServerError, Wgsl};

use super::resident::ENTRIES_MAX;
use super::steps::{KEYS, Which};
use super::world::{ENTRY_BYTES, World, assert_refused, eventually, pick};
use crate::rig::LONG;

const INC: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn inc(@builtin(global_invocation_id) id: vec3<u32>) { values[id.x] += 1u; }
";

const WORDS: usize = 256;
const FILE_WORDS: u32 = 4096;

/// A file whose words count up.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("backend-model-{}", std::process::id()));
    let bytes: Vec<u8> = (0..FILE_WORDS).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&path, bytes).unwrap();
    path
});

// The keys do not all fit, so that some have to leave.
const _: () = assert!(KEYS > ENTRIES_MAX);

impl World {
    fn with_context(&self, which: Which) -> Option<usize> {
        let index = pick(which, self.attempts.len(), |index| self.can_work(index))?;
        self.can_work(index).then_some(index)
    }

    fn can_work(&self, index: usize) -> bool {
        self.attempts[index].context.is_some() && self.plain.attempts[index].end.is_none()
    }

    fn device_of(&self, index: usize) -> usize {
        self.plain.attempts[index].placed.expect("an attempt with a context is placed").device
    }

    /// The context of an attempt that works, with its device and whether that is lost.
    fn place_of_work(&self, which: Which) -> Option<(usize, usize, bool)> {
        let index = self.with_context(which)?;
        let device = self.device_of(index);
        Some((index, device, self.plain.devices[device].lost))
    }

    fn context(&self, index: usize) -> &QueryContext {
        self.attempts[index].context.as_ref().expect("it was picked for its context")
    }

    pub(super) fn acquire(&mut self, which: Which) {
        let is_fresh = |index: usize| {
            let attempt = &self.attempts[index];
            attempt.handle.is_some() && attempt.context.is_none() && self.plain.attempts[index].end.is_none()
        };
        let Some(index) = pick(which, self.attempts.len(), is_fresh) else { return };
        let Some(handle) = &self.attempts[index].handle else { return };
        let (is_over, is_taken) = (self.plain.attempts[index].end.is_some(), self.attempts[index].context.is_some());
        let mut acquired = handle.acquire_context();
        assert_eq!(handle.is_over(), is_over);
        if is_over {
            return assert_refused(&acquired.unwrap_err(), QueryErrorCode::Cancelled, "backend_closing");
        }
        if is_taken {
            return assert_refused(&acquired.unwrap_err(), QueryErrorCode::Internal, "context_in_use");
        }
        eventually("the cleanup of the context before", || {
            if let Err(error) = &acquired {
                assert_refused(error, QueryErrorCode::Internal, "context_in_use");
                acquired = handle.acquire_context();
            }
            acquired.is_ok()
        });
        self.attempts[index].context = acquired.ok();
        self.plain.attempts[index].used = true;
    }

    pub(super) fn drop_context(&mut self, which: Which) {
        let found = pick(which, self.attempts.len(), |index| self.attempts[index].context.is_some());
        if let Some(index) = found {
            self.attempts[index].context = None;
        }
    }

    /// Upload, capture, replay, read.
    pub(super) fn work(&mut self, which: Which, value: u32) {
        let Some((index, _, lost)) = self.place_of_work(which) else { return };
        let times = value % 3 + 1;
        let done = (|| -> graphreel::Result<_> {
            let context = self.context(index);
            let kernel = context.kernel(Wgsl::new(INC).entry("inc"))?;
            let buffer = context.upload(&[value; WORDS])?;
            let (graph, copy) = context.capture(|c| {
                let copy = c.alloc((WORDS * 4) as u64)?;
                c.launch(&kernel, [WORDS as u32 / 64, 1, 1], (&buffer,))?;
                c.copy(&buffer, &copy)?;
                Ok(copy)
            })?;
            for _ in 0..times {
                graph.replay_on_stream(context.stream())?.wait()?;
            }
            assert_eq!(context.stream().read::<u32>(&copy)?, [value.wrapping_add(times); WORDS]);
            Ok((buffer, graph))
        })();
        match done {
            Ok(made) => {
                assert!(!lost, "a lost device worked");
                self.attempts[index].made = Some(made);
            }
            Err(error) => assert!(lost && error.is_device_lost(), "{error}"),
        }
    }

    /// More than the grant.
    pub(super) fn overdraw(&mut self, which: Which) {
        let Some((index, _, lost)) = self.place_of_work(which) else { return };
        let bytes = self.plain.attempts[index].placed.expect("it works").bytes;
        let error = self.context(index).alloc(bytes + 4).map(drop).unwrap_err();
        let is_due = if lost { error.is_device_lost() } else { matches!(error, ServerError::OutOfMemory(_)) };
        assert!(is_due, "{error}");
    }

    pub(super) fn source(&mut self, which: Which) {
        let Some((index, _, lost)) = self.place_of_work(which) else { return };
        let (context, bytes) = (self.context(index), u64::from(FILE_WORDS) * 4);
        let done = (|| {
            let buffer = context.alloc(bytes)?;
            let read = context.read_source(0, &*FILE, 0..bytes, &buffer, 0)?;
            read.wait(context.deadline_in(LONG))?;
            Ok::<_, graphreel::lifecycle::QueryError>(context.stream().read::<u32>(&buffer)?)
        })();
        match done {
            Ok(words) => assert!(!lost && words.into_iter().eq(0..FILE_WORDS)),
            Err(error) => assert!(lost, "{error}"),
        }
    }

    pub(super) fn cached(&mut self, which: Which, key: usize, keep: bool) {
        let Some((index, device, lost)) = self.place_of_work(which) else { return };
        if lost {
            return;
        }
        let due = self.caches[device].get(key);
        let context = self.context(index);
        let words = [key as u32; ENTRY_BYTES as usize / 4];
        let entry = context.cached(&format!("weights-{key}"), ENTRY_BYTES, |buffer| buffer.write(&words));
        let entry = match (due, entry) {
            (true, Ok(entry)) => entry,
            (false, Err(error)) => {
                return assert_refused(&error, QueryErrorCode::ServiceOverloaded, "resident_cache_full");
            }
            (due, found) => panic!("an entry was due: {due}, and {found:?} came"),
        };
        assert_eq!(context.stream().read::<u32>(entry.buffer()).unwrap(), words);
        if keep {
            self.entries.push((device, key, entry));
        } else {
            drop(entry);
            self.caches[device].let_go(key);
        }
    }

    pub(super) fn drop_entry(&mut self, which: Which) {
        if let Some(at) = pick(which, self.entries.len(), |_| true) {
            let (device, key, entry) = self.entries.swap_remove(at);
            drop(entry);
            self.caches[device].let_go(key);
        }
    }

    /// Lose the device of an attempt, and have that be known.
    pub(super) fn lose(&mut self, which: Which) {
        let Some((index, device, _)) = self.place_of_work(which) else { return };
        self.factory.probe(device).unwrap().lose("drawn");
        let context = self.context(index);
        let found = context.upload(&[1_u32; 4]).and_then(|buffer| context.stream().read::<u32>(&buffer));
        assert!(found.unwrap_err().is_device_lost());
        self.plain.close_device(device, true);
    }

    /// What is left of an attempt that has ended is refused.
    pub(super) fn assert_over(&self, index: usize) {
        let attempt = &self.attempts[index];
        if let Some(handle) = &attempt.handle {
            assert!(handle.is_over());
            let error = handle.acquire_context().map(drop).unwrap_err();
            assert_refused(&error, QueryErrorCode::Cancelled, "backend_closing");
        }
        if let Some(context) = &attempt.context {
            assert!(context.alloc(4).map(drop).unwrap_err().is_closed());
        }
    }

    /// Once it has reported, also what it made is refused.
    pub(super) fn assert_taken_back(&self, index: usize) {
        if let Some((buffer, graph)) = &self.attempts[index].made {
            let errors = [buffer.read::<u32>().map(drop).unwrap_err(), graph.replay().map(drop).unwrap_err()];
            let is_refused = |error: &ServerError| error.is_closed() || error.is_device_lost();
            assert!(errors.iter().all(is_refused), "{errors:?}");
        }
    }
}
