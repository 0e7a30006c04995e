//! The two agents, what they are, their instruction set, and their pools of memory.
#![expect(unsafe_code, reason = "exports functions by name, and calls back by address")]

use std::ffi::c_void;

use crate::abi::{Agent, Isa, OutAny, Pool, Status};
use crate::agent::{
    CPU, DEVICE_BYTES, GPU, GROUP_BYTES, HOST_BYTES, ISA, PAGE, POOL_COARSE, POOL_DEVICE, POOL_FINE, POOL_GROUP,
    POOL_KERNARG,
};
use crate::{memory, report, settings, signal};

type Each<T> = unsafe extern "C" fn(T, *mut c_void) -> Status;

/// Call back for each, until one says to stop.
fn each<T: Copy>(all: &[T], callback: Option<Each<T>>, data: *mut c_void) -> Status {
    let Some(callback) = callback else { return Status::INVALID_ARGUMENT };
    for one in all {
        // SAFETY: the callback and its data were given for exactly this call.
        let status = unsafe { callback(*one, data) };
        if status != Status::SUCCESS {
            return status;
        }
    }
    Status::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn hsa_iterate_agents(callback: Option<Each<Agent>>, data: *mut c_void) -> Status {
    each(&[CPU, GPU], callback, data)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_agent_iterate_isas(agent: Agent, callback: Option<Each<Isa>>, data: *mut c_void) -> Status {
    let all: &[Isa] = if agent == GPU { &[ISA] } else { &[] };
    each(all, callback, data)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: Agent,
    callback: Option<Each<Pool>>,
    data: *mut c_void,
) -> Status {
    match agent {
        CPU => each(&[POOL_FINE, POOL_KERNARG, POOL_COARSE], callback, data),
        GPU => each(&[POOL_DEVICE, POOL_GROUP], callback, data),
        _ => Status::INVALID_AGENT,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_agent_get_info(agent: Agent, attribute: u32, value: OutAny) -> Status {
    match agent {
        CPU => processor(attribute, value),
        GPU => device(attribute, value).or_else(|| device_amd(attribute, value)).unwrap_or_else(|| {
            report::fail(&format!("attribute {attribute:#x} of the device is unknown"));
            Status::INVALID_ARGUMENT
        }),
        _ => Status::INVALID_AGENT,
    }
}

fn processor(attribute: u32, value: OutAny) -> Status {
    match attribute {
        0 | 0xA009 => value.text("Graphreel software host", 64),
        1 => value.text("Graphreel", 64),
        // No queues: features, wave, most queues.
        2 | 6 | 12 | 17 => value.set(0u32),
        3 => value.set(1u32),
        16 => value.set(0u32),
        0xA001 => value.set(64u32),
        0xA002 => value.set(2u32),
        0xA003 => value.set(3000u32),
        0xA004 | 0xA006 | 0xA00F => value.set(0u32),
        0xA011 => value.text("CPU-XX", 21),
        other => {
            report::fail(&format!("attribute {other:#x} of the processor is unknown"));
            Status::INVALID_ARGUMENT
        }
    }
}

/// Attributes of the base interface.
fn device(attribute: u32, value: OutAny) -> Option<Status> {
    let personality = settings::get().personality;
    Some(match attribute {
        0 => value.text(personality.name, 64),
        1 => value.text("AMD", 64),
        // It runs kernels; large machine model, base profile, rounding to nearest.
        2 | 3 => value.set(1u32),
        4 => value.set(0u32),
        5 | 23 => value.set(2u32),
        24 => value.set(true),
        6 => value.set(personality.wave),
        7 => value.set([1024u16; 3]),
        8 => value.set(1024u32),
        9 => value.set([u32::MAX; 3]),
        10 => value.set(u32::MAX),
        11 => value.set(32u32),
        12 => value.set(128u32),
        13 => value.set(64u32),
        14 => value.set(131_072u32),
        // Several producers.
        15 => value.set(0u32),
        16 | 17 => value.set(1u32),
        18 => value.set([32u32 << 10, 4 << 20, 0, 0]),
        19 => value.set(ISA),
        20 => value.text("", 128),
        21 | 22 => value.set(1u16),
        _ => return None,
    })
}

/// Attributes of AMD's interface.
fn device_amd(attribute: u32, value: OutAny) -> Option<Status> {
    let personality = settings::get().personality;
    Some(match attribute {
        0xA000 => value.set(personality.chip),
        0xA001 => value.set(128u32),
        0xA002 | 0xA014 => value.set(personality.compute_units),
        // Megahertz.
        0xA003 => value.set(2000u32),
        0xA004 => value.set(1u32),
        0xA005 => value.set(4u32),
        // Bus 3, device 0, function 0; domain 0.
        0xA006 => value.set(3u32 << 8),
        0xA00F => value.set(0u32),
        0xA007 => value.set(384u32),
        0xA008 => value.set(1200u32),
        0xA009 => value.text(personality.product, 64),
        0xA00A => value.set(personality.waves_per_unit),
        0xA00B => value.set(personality.simds_per_unit),
        0xA00C => value.set(4u32),
        0xA00D => value.set(1u32),
        // Nothing flushes the path from the host: it has none.
        0xA00E => value.set([0usize; 2]),
        0xA010 => value.set(true),
        0xA011 => value.text("GPU-6772617068726565", 21),
        0xA012 => value.set(0u32),
        0xA013 => value.set(false),
        0xA015 => value.set(memory::available()),
        // Ticks are nanoseconds.
        0xA016 => value.set(1_000_000_000u64),
        0xA107 => value.set(personality.family),
        0xA108 | 0xA109 => value.set(1u32),
        0xA10A => value.set(u32::try_from(crate::copy::ENGINES).unwrap_or(1)),
        0xA10B => value.set(0u32),
        0xA110 => value.set(0u32),
        0xA111 => value.set(1u32),
        0xA112 => value.set(0u32),
        0xA113 => value.set(CPU),
        0xA114 | 0xA115 => value.set(0u64),
        0xA116 | 0xA117 => value.set(0u64),
        0xA118 => value.set([signal::now(), signal::now(), signal::now(), 1_000_000_000]),
        _ => return None,
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_isa_get_info_alt(isa: Isa, attribute: u32, value: OutAny) -> Status {
    if isa != ISA {
        return Status::INVALID_ISA;
    }
    let name = settings::get().personality.isa;
    match attribute {
        0 => value.set(u32::try_from(name.len() + 1).unwrap_or(u32::MAX)),
        1 => value.text(name, name.len() + 1),
        2 => value.set(1u32),
        3 => value.set(settings::get().personality.wave),
        12 => value.set([1024u16; 3]),
        13 => value.set(1024u32),
        other => {
            report::fail(&format!("attribute {other:#x} of the instruction set is unknown"));
            Status::INVALID_ARGUMENT
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_pool_get_info(pool: Pool, attribute: u32, value: OutAny) -> Status {
    let global = pool != POOL_GROUP;
    match (attribute, pool) {
        // The segment: global, or group.
        (0, _) => value.set(if global { 0u32 } else { 3 }),
        // For arguments, fine-grained, coarse-grained.
        (1, POOL_KERNARG) => value.set(3u32),
        (1, POOL_FINE) => value.set(2u32),
        (1, POOL_COARSE | POOL_DEVICE) => value.set(4u32),
        (1, _) => value.set(0u32),
        (2, POOL_DEVICE) | (16, POOL_DEVICE) => value.set(DEVICE_BYTES),
        (2 | 16, POOL_GROUP) => value.set(GROUP_BYTES),
        (2 | 16, _) => value.set(HOST_BYTES),
        (5, _) => value.set(global),
        (6 | 7, _) => value.set(if global { PAGE } else { 0 }),
        (15, _) => value.set(global && pool != POOL_DEVICE),
        (17, _) => value.set(u32::from(pool == POOL_DEVICE || pool == POOL_GROUP)),
        (18, _) => value.set(if global { 2usize << 20 } else { 0 }),
        (other, _) => {
            report::fail(&format!("attribute {other:#x} of a pool is unknown"));
            Status::INVALID_ARGUMENT
        }
    }
}

/// `hsa_amd_memory_pool_link_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Link {
    latency: [u32; 2],
    bandwidth: [u32; 2],
    atomics_and_coherence: [bool; 3],
    kind: u32,
    distance: u32,
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_agent_memory_pool_get_info(agent: Agent, pool: Pool, attribute: u32, value: OutAny) -> Status {
    let own = (agent == GPU) == (pool == POOL_DEVICE || pool == POOL_GROUP);
    match attribute {
        // The host never reaches memory of the device: there is no large window into it. The device must be allowed first.
        0 => value.set(match (agent, own) {
            (_, true) => 1u32,
            (CPU, false) => 0,
            _ => 2,
        }),
        1 => value.set(u32::from(!own)),
        2 if own => Status::SUCCESS,
        2 => value.set(Link {
            latency: [0; 2],
            bandwidth: [16_000; 2],
            atomics_and_coherence: [true; 3],
            // PCI Express.
            kind: 2,
            distance: 20,
        }),
        other => {
            report::fail(&format!("attribute {other:#x} of an agent's pool is unknown"));
            Status::INVALID_ARGUMENT
        }
    }
}
