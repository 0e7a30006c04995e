//! Device timestamps around operations: where a figure comes from is said, and what was not measured is absent.

use std::time::Duration;

use graphreel::recording::{NodeTime, TimeSource};

use crate::gpu::Gpu;

/// Queries in one set: wgpu's own bound.
const SET_QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;

/// Bytes of one timestamp.
const STAMP_BYTES: u64 = wgpu::QUERY_SIZE as u64;

/// Two timestamps for each of a fixed number of operations.
#[derive(Debug)]
pub(crate) struct Stamps {
    sets: Vec<wgpu::QuerySet>,
    resolved: wgpu::Buffer,
    /// For each operation, where its pair of timestamps lies once it is written, and what wrote it.
    pairs: Vec<Option<(u32, TimeSource)>>,
    written: u32,
    on_encoder: bool,
    period_ns: f32,
}

impl Stamps {
    /// Stamps for `items` operations; `None` where the device has no timestamps.
    pub(crate) fn new(gpu: &Gpu, items: usize) -> Option<Self> {
        if !gpu.features.contains(wgpu::Features::TIMESTAMP_QUERY) || items == 0 {
            return None;
        }
        let queries = u32::try_from(items).ok()?.checked_mul(2)?;
        let sets = (0..queries.div_ceil(SET_QUERIES)).map(|set| {
            gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("graphreel timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: SET_QUERIES.min(queries - set * SET_QUERIES),
            })
        });
        let sets = sets.collect();
        let resolved = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("graphreel timestamps"),
            size: u64::from(queries) * STAMP_BYTES,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Some(Self {
            sets,
            resolved,
            pairs: vec![None; items],
            written: 0,
            on_encoder: gpu.features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS),
            period_ns: gpu.queue.get_timestamp_period(),
        })
    }

    /// The next free pair, given to `item`: pairs lie without gaps, since an unwritten query cannot be resolved.
    fn claim(&mut self, item: u32, source: TimeSource) -> Option<(&wgpu::QuerySet, u32)> {
        let slot = self.pairs.get_mut(item as usize)?;
        if slot.is_some() {
            return None;
        }
        let pair = self.written;
        *slot = Some((pair, source));
        self.written += 1;
        self.query(pair)
    }

    fn query(&self, pair: u32) -> Option<(&wgpu::QuerySet, u32)> {
        let query = pair * 2;
        self.sets.get((query / SET_QUERIES) as usize).map(|set| (set, query % SET_QUERIES))
    }

    /// The timestamps of a pass that holds just `item`.
    pub(crate) fn pass_writes(&mut self, item: u32) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let (query_set, query) = self.claim(item, TimeSource::PassBoundary)?;
        Some(wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(query),
            end_of_pass_write_index: Some(query + 1),
        })
    }

    /// The timestamp before an operation outside passes, where the device has those.
    pub(crate) fn before(&mut self, encoder: &mut wgpu::CommandEncoder, item: u32) {
        if self.on_encoder
            && let Some((set, query)) = self.claim(item, TimeSource::Timestamp)
        {
            encoder.write_timestamp(set, query);
        }
    }

    /// The timestamp after it.
    pub(crate) fn after(&mut self, encoder: &mut wgpu::CommandEncoder, item: u32) {
        let pair = self.pairs.get(item as usize).copied().flatten();
        if let Some((pair, TimeSource::Timestamp)) = pair
            && let Some((set, query)) = self.query(pair)
        {
            encoder.write_timestamp(set, query + 1);
        }
    }

    /// Make the timestamps bytes.
    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let queries = self.written * 2;
        for (index, set) in self.sets.iter().enumerate() {
            let first = index as u32 * SET_QUERIES;
            let count = queries.saturating_sub(first).min(SET_QUERIES);
            if count > 0 {
                encoder.resolve_query_set(set, 0..count, &self.resolved, u64::from(first) * STAMP_BYTES);
            }
        }
    }

    /// Where the bytes are, and how many; none were measured when it is 0.
    pub(crate) fn buffer(&self) -> (&wgpu::Buffer, u64) {
        (&self.resolved, u64::from(self.written) * 2 * STAMP_BYTES)
    }

    /// How to read the bytes once the stamps themselves are gone.
    pub(crate) fn reader(&self) -> StampReader {
        StampReader { pairs: self.pairs.clone(), period_ns: self.period_ns }
    }
}

/// Turns timestamps into times.
#[derive(Debug)]
pub(crate) struct StampReader {
    pairs: Vec<Option<(u32, TimeSource)>>,
    period_ns: f32,
}

impl StampReader {
    /// Nothing was measured for `items` operations.
    pub(crate) fn absent(items: usize) -> Self {
        Self { pairs: vec![None; items], period_ns: 1.0 }
    }

    /// Each operation's time, and the span from the first start to the last end when all were measured.
    pub(crate) fn read(&self, bytes: &[u8]) -> (Vec<NodeTime>, Option<Duration>) {
        let ticks: Vec<u64> = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        // A clock that was set back between the two measured nothing.
        let nanoseconds = |from: u64, to: u64| Some((to.checked_sub(from)? as f64 * f64::from(self.period_ns)) as u64);
        let mut span: Option<(u64, u64)> = None;
        let mut complete = !self.pairs.is_empty();
        let mut times = Vec::with_capacity(self.pairs.len());
        for (item, pair) in self.pairs.iter().enumerate() {
            let measured = pair.and_then(|(pair, source)| {
                let from = *ticks.get(pair as usize * 2)?;
                let to = *ticks.get(pair as usize * 2 + 1)?;
                let time = nanoseconds(from, to)?;
                let (first, last) = span.unwrap_or((from, to));
                span = Some((first.min(from), last.max(to)));
                Some((time, source))
            });
            complete &= measured.is_some();
            times.push(NodeTime {
                node: item as u32,
                nanoseconds: measured.map(|(time, _)| time),
                source: measured.map_or(TimeSource::None, |(_, source)| source),
            });
        }
        let total = span.filter(|_| complete).and_then(|(from, to)| nanoseconds(from, to)).map(Duration::from_nanos);
        (times, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_absent() {
        let reader = StampReader { pairs: vec![Some((0, TimeSource::PassBoundary)), None], period_ns: 2.0 };
        let bytes: Vec<u8> = [100u64, 150, 7, 9].iter().flat_map(|tick| tick.to_le_bytes()).collect();
        let (times, total) = reader.read(&bytes);
        assert_eq!((times[0].nanoseconds, times[0].source), (Some(100), TimeSource::PassBoundary));
        assert_eq!((times[1].nanoseconds, times[1].source), (None, TimeSource::None));
        assert_eq!(total, None);
        let pairs = vec![Some((1, TimeSource::PassBoundary)), Some((0, TimeSource::Timestamp))];
        let all = StampReader { pairs, period_ns: 1.0 };
        let bytes: Vec<u8> = [100u64, 150, 160, 200].iter().flat_map(|tick| tick.to_le_bytes()).collect();
        assert_eq!(all.read(&bytes).1, Some(Duration::from_nanos(100)));
        let bytes: Vec<u8> = [100u64, 150, 200, 160].iter().flat_map(|tick| tick.to_le_bytes()).collect();
        let (times, total) = all.read(&bytes);
        assert_eq!((times[0].nanoseconds, times[0].source, total), (None, TimeSource::None, None));
        assert_eq!(StampReader::absent(2).read(&[]).0.len(), 2);
    }
}
