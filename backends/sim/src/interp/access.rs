//! Instructions that move values: between slots, and from and to variables of every address space.
//!
//! An address is a constant (`b`) plus what a slot holds (`c`); slot 0 always holds zero. It counts bytes in buffers and
//! slots elsewhere. The value's slots are `dst`, also where it is stored.

use super::inst::{Inst, Lane, Run};
use super::watch::Touch;

/// One slot from `a`.
pub(super) const MOVE: Run = |lane, inst, pc| {
    let value: u64 = lane.get(inst.a);
    lane.set(inst.dst, value);
    pc + 1
};

/// `n` slots from `a`, which may overlap.
pub(super) const MOVE_MANY: Run = |lane, inst, pc| {
    let from = inst.a as usize;
    lane.slots.copy_within(from..from + inst.n as usize, inst.dst as usize);
    pc + 1
};

/// The slot `a`, `n` times.
pub(super) const SPLAT: Run = |lane, inst, pc| {
    let value: u64 = lane.get(inst.a);
    lane.slots[inst.dst as usize..(inst.dst + inst.n) as usize].fill(value);
    pc + 1
};

/// `n` slots from the table of large constants.
pub(super) const TABLE: Run = |lane, inst, pc| {
    let from = address(lane, inst);
    let tables = lane.tables;
    let to = &mut lane.slots[inst.dst as usize..(inst.dst + inst.n) as usize];
    to.copy_from_slice(&tables.constants[from..from + inst.n as usize]);
    pc + 1
};

#[inline(always)]
fn address(lane: &Lane<'_>, inst: &Inst) -> usize {
    inst.b as usize + lane.get::<u64>(inst.c) as usize
}

#[inline(always)]
fn byte(lane: &Lane<'_>, inst: &Inst) -> u64 {
    u64::from(inst.b) + lane.get::<u64>(inst.c)
}

/// The place of index `a` in `b` elements of `n`, from what slot `c` holds.
#[inline(always)]
fn indexed(lane: &mut Lane<'_>, inst: &Inst, pc: usize) -> u64 {
    let index: u32 = lane.get(inst.a);
    let inside = index.min(inst.b - 1);
    if inside != index {
        out_of_range(lane, pc, index, inst.b);
    }
    lane.get::<u64>(inst.c) + u64::from(inside) * u64::from(inst.n)
}

/// The place of index `a` in the runtime-sized array of a binding, whose elements have `n` bytes.
#[inline(always)]
fn indexed_runtime(lane: &mut Lane<'_>, inst: &Inst, binding: u32, pc: usize) -> u64 {
    let index: u32 = lane.get(inst.a);
    let elements = lane.bound[binding as usize].elements;
    let inside = index.min(elements.saturating_sub(1));
    if inside != index {
        out_of_range(lane, pc, index, elements);
    }
    u64::from(inside) * u64::from(inst.n)
}

/// `dst = c + min(a, b - 1) * n`: an index brought into the `b` elements that there are.
pub(super) const INDEX: Run = |lane, inst, pc| {
    let place = indexed(lane, inst, pc);
    lane.set(inst.dst, place);
    pc + 1
};

/// As [`INDEX`], into the runtime-sized array of binding `b`, which begins at no other dynamic place.
pub(super) const INDEX_RUNTIME: Run = |lane, inst, pc| {
    let place = indexed_runtime(lane, inst, inst.b, pc);
    lane.set(inst.dst, place);
    pc + 1
};

/// [`INDEX`] and a load of one slot of the invocation, from `m` on.
pub(super) const LANE_LOAD_AT: Run = |lane, inst, pc| {
    let from = indexed(lane, inst, pc) as usize + inst.m as usize;
    lane.set(inst.dst, lane.slots[from]);
    pc + 1
};

/// [`INDEX`] and a load of one slot of the workgroup, from `m` on.
pub(super) const GROUP_LOAD_AT: Run = |lane, inst, pc| {
    let from = indexed(lane, inst, pc) as usize + inst.m as usize;
    if lane.watch.is_some() {
        watch_group(lane, pc, from, 1, Touch::Read);
    }
    lane.set(inst.dst, lane.group[from]);
    pc + 1
};

/// [`INDEX_RUNTIME`] and a load of one word of binding `b`, from byte `m` on.
pub(super) const WORD_LOAD_AT: Run = |lane, inst, pc| {
    let at = indexed_runtime(lane, inst, inst.b, pc) + u64::from(inst.m);
    if lane.watch.is_some() {
        watch_bytes(lane, pc, inst.b, at, 4, Touch::Read);
    }
    let value = lane.bound[inst.b as usize].word(at);
    lane.set(inst.dst, value);
    pc + 1
};

#[cold]
fn out_of_range(lane: &mut Lane<'_>, pc: usize, index: u32, elements: u32) {
    if let Some(watch) = &mut lane.watch {
        watch.out_of_range(lane.tables, pc, index, elements);
    }
}

/// The elements of a binding's runtime-sized array.
pub(super) const LENGTH: Run = |lane, inst, pc| {
    let elements = lane.bound[inst.b as usize].elements;
    lane.set(inst.dst, elements);
    pc + 1
};

/// Slots of the invocation at a dynamic place.
pub(super) const LANE_LOAD: Run = |lane, inst, pc| {
    let from = address(lane, inst);
    lane.slots.copy_within(from..from + inst.n as usize, inst.dst as usize);
    pc + 1
};

pub(super) const LANE_STORE: Run = |lane, inst, pc| {
    let to = address(lane, inst);
    lane.slots.copy_within(inst.dst as usize..(inst.dst + inst.n) as usize, to);
    pc + 1
};

/// As [`LANE_LOAD`], of one slot.
pub(super) const LANE_LOAD_ONE: Run = |lane, inst, pc| {
    let value = lane.slots[address(lane, inst)];
    lane.set(inst.dst, value);
    pc + 1
};

pub(super) const LANE_STORE_ONE: Run = |lane, inst, pc| {
    let to = address(lane, inst);
    lane.slots[to] = lane.get(inst.dst);
    pc + 1
};

pub(super) const GROUP_LOAD_ONE: Run = |lane, inst, pc| {
    let from = address(lane, inst);
    if lane.watch.is_some() {
        watch_group(lane, pc, from, 1, Touch::Read);
    }
    lane.set(inst.dst, lane.group[from]);
    pc + 1
};

pub(super) const GROUP_STORE_ONE: Run = |lane, inst, pc| {
    let to = address(lane, inst);
    if lane.watch.is_some() {
        watch_group(lane, pc, to, 1, Touch::Write);
    }
    lane.group[to] = lane.get(inst.dst);
    pc + 1
};

pub(super) const GROUP_LOAD: Run = |lane, inst, pc| {
    let from = address(lane, inst);
    if lane.watch.is_some() {
        watch_group(lane, pc, from, inst.n, Touch::Read);
    }
    let to = &mut lane.slots[inst.dst as usize..(inst.dst + inst.n) as usize];
    to.copy_from_slice(&lane.group[from..from + inst.n as usize]);
    pc + 1
};

pub(super) const GROUP_STORE: Run = |lane, inst, pc| {
    let to = address(lane, inst);
    if lane.watch.is_some() {
        watch_group(lane, pc, to, inst.n, Touch::Write);
    }
    let from = &lane.slots[inst.dst as usize..(inst.dst + inst.n) as usize];
    lane.group[to..to + inst.n as usize].copy_from_slice(from);
    pc + 1
};

/// One word of binding `a`.
pub(super) const WORD_LOAD: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    if lane.watch.is_some() {
        watch_bytes(lane, pc, inst.a, at, 4, Touch::Read);
    }
    let value = lane.bound[inst.a as usize].word(at);
    lane.set(inst.dst, value);
    pc + 1
};

pub(super) const WORD_STORE: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    if lane.watch.is_some() {
        watch_bytes(lane, pc, inst.a, at, 4, Touch::Write);
    }
    let value: u32 = lane.get(inst.dst);
    lane.bound[inst.a as usize].set_word(at, value);
    pc + 1
};

/// `n` scalars of `m` bytes of binding `a`, one after the other.
pub(super) const RUN_LOAD: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    load(lane, pc, inst.a, (at, inst.dst, inst.m, inst.n));
    pc + 1
};

pub(super) const RUN_STORE: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    store(lane, pc, inst.a, (at, inst.dst, inst.m, inst.n));
    pc + 1
};

/// A value of shape `m` of binding `a`.
pub(super) const SHAPE_LOAD: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    let tables = lane.tables;
    tables.shapes[inst.m as usize].runs(at, inst.dst, &mut |byte, slot, width, count| {
        load(lane, pc, inst.a, (byte, slot, width, count));
    });
    pc + 1
};

/// Bytes between the scalars of the shape keep what they hold.
pub(super) const SHAPE_STORE: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    let tables = lane.tables;
    tables.shapes[inst.m as usize].runs(at, inst.dst, &mut |byte, slot, width, count| {
        store(lane, pc, inst.a, (byte, slot, width, count));
    });
    pc + 1
};

/// A place in bytes and in slots, a width, a count.
type Scalars = (u64, u32, u32, u32);

fn load(lane: &mut Lane<'_>, pc: usize, binding: u32, (byte, slot, width, count): Scalars) {
    if lane.watch.is_some() {
        watch_bytes(lane, pc, binding, byte, u64::from(width * count), Touch::Read);
    }
    let bound = lane.bound[binding as usize];
    for k in 0..count {
        let value = bound.load(byte + u64::from(k) * u64::from(width), width);
        lane.set(slot + k, value);
    }
}

fn store(lane: &mut Lane<'_>, pc: usize, binding: u32, (byte, slot, width, count): Scalars) {
    if lane.watch.is_some() {
        watch_bytes(lane, pc, binding, byte, u64::from(width * count), Touch::Write);
    }
    let bound = lane.bound[binding as usize];
    for k in 0..count {
        bound.store(byte + u64::from(k) * u64::from(width), width, lane.get(slot + k));
    }
}

#[cold]
fn watch_group(lane: &mut Lane<'_>, pc: usize, slot: usize, count: u32, touch: Touch) {
    if let Some(watch) = &mut lane.watch {
        watch.group(lane.tables, pc, slot, count as usize, touch);
    }
}

#[cold]
fn watch_bytes(lane: &mut Lane<'_>, pc: usize, binding: u32, byte: u64, bytes: u64, touch: Touch) {
    if let Some(watch) = &mut lane.watch {
        watch.buffer(lane.tables, pc, (binding, &lane.bound[binding as usize]), byte..byte + bytes, touch);
    }
}

/// An atomic load of `m` bytes of binding `a`.
pub(super) const ATOMIC_LOAD: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    watch_bytes(lane, pc, inst.a, at, u64::from(inst.m), Touch::AtomicRead);
    let value = lane.bound[inst.a as usize].update(at, inst.m, |_| None);
    lane.set(inst.dst, value);
    pc + 1
};

/// The old scalar of binding `a`, joined with the slot after `dst` by function `m`; `n` bytes.
pub(super) const ATOMIC_JOIN: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    watch_bytes(lane, pc, inst.a, at, u64::from(inst.n), Touch::AtomicWrite);
    let join = lane.tables.joins[inst.m as usize];
    let old = lane.bound[inst.a as usize].join(at, inst.n, join, lane.get(inst.dst + 1));
    lane.set(inst.dst, old);
    pc + 1
};

/// Exchange if equal: new value and comparand are slots 1 and 2 after `dst`; `dst` gets the old value, the slot behind it
/// whether it was exchanged. `n` bytes of binding `a`.
pub(super) const ATOMIC_COMPARE: Run = |lane, inst, pc| {
    let at = byte(lane, inst);
    watch_bytes(lane, pc, inst.a, at, u64::from(inst.n), Touch::AtomicWrite);
    let (new, comparand): (u64, u64) = (lane.get(inst.dst + 1), lane.get(inst.dst + 2));
    let old = lane.bound[inst.a as usize].update(at, inst.n, |old| (old == comparand).then_some(new));
    lane.set(inst.dst, old);
    lane.set(inst.dst + 1, old == comparand);
    pc + 1
};

/// As the three above, in workgroup memory, which one thread runs.
pub(super) const GROUP_ATOMIC_LOAD: Run = |lane, inst, pc| {
    let at = address(lane, inst);
    watch_group(lane, pc, at, 1, Touch::AtomicRead);
    lane.set(inst.dst, lane.group[at]);
    pc + 1
};

pub(super) const GROUP_ATOMIC_JOIN: Run = |lane, inst, pc| {
    let at = address(lane, inst);
    watch_group(lane, pc, at, 1, Touch::AtomicWrite);
    let old = lane.group[at];
    lane.group[at] = (lane.tables.joins[inst.m as usize])(old, lane.get(inst.dst + 1));
    lane.set(inst.dst, old);
    pc + 1
};

pub(super) const GROUP_ATOMIC_COMPARE: Run = |lane, inst, pc| {
    let at = address(lane, inst);
    watch_group(lane, pc, at, 1, Touch::AtomicWrite);
    let old = lane.group[at];
    let equal = old == lane.get::<u64>(inst.dst + 2);
    if equal {
        lane.group[at] = lane.get(inst.dst + 1);
    }
    lane.set(inst.dst, old);
    lane.set(inst.dst + 1, equal);
    pc + 1
};

/// The number `a`, with `b` above it.
pub(super) const NUMBER: Run = |lane, inst, pc| {
    lane.set(inst.dst, u64::from(inst.a) | u64::from(inst.b) << 32);
    pc + 1
};

/// An address as a value: `b` and what slot `c` holds.
pub(super) const ADDRESS: Run = |lane, inst, pc| {
    let place = byte(lane, inst);
    lane.set(inst.dst, place);
    pc + 1
};
