//! What a device says of itself while it runs: for people, never for admission (B-184).

use std::fmt;

use crate::error::ServerError;

/// One device at a moment; what the vendor does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TelemetrySample {
    /// Bytes in use on the device, by whomever.
    pub used_bytes: Option<u64>,
    /// Bytes free on the device.
    pub free_bytes: Option<u64>,
    /// How busy its compute units are, in percent.
    pub compute_percent: Option<u8>,
    /// How busy its memory is, in percent.
    pub memory_percent: Option<u8>,
    /// Its temperature in degrees Celsius.
    pub temperature_celsius: Option<i32>,
    /// The power that it draws, in milliwatts.
    pub power_milliwatts: Option<u64>,
}

/// Who can be asked about one device.
pub trait TelemetrySource: Send + Sync + fmt::Debug {
    /// What the device says now.
    ///
    /// # Errors
    ///
    /// The management library's.
    fn sample(&self) -> Result<TelemetrySample, ServerError>;
}

/// What a look at one device gave.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceTelemetrySnapshot {
    /// The device.
    pub device_ordinal: usize,
    /// The sample, or why there is none.
    pub state: TelemetryState,
}

/// The sample, or why there is none: that is no error of the look.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TelemetryState {
    /// What the device said.
    Available(TelemetrySample),
    /// There is no source, or it did not answer.
    Unavailable {
        /// Why.
        why: String,
    },
}

impl DeviceTelemetrySnapshot {
    /// Look at a device through `source`, if it has one.
    pub fn of(device_ordinal: usize, source: Option<&dyn TelemetrySource>) -> Self {
        let unavailable = |why: String| TelemetryState::Unavailable { why };
        let state = match source.map(TelemetrySource::sample) {
            None => unavailable("the device has no telemetry source".to_owned()),
            Some(Ok(sample)) => TelemetryState::Available(sample),
            Some(Err(error)) => unavailable(error.to_string()),
        };
        Self { device_ordinal, state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Source(Result<TelemetrySample, ServerError>);

    impl TelemetrySource for Source {
        fn sample(&self) -> Result<TelemetrySample, ServerError> {
            self.0.clone()
        }
    }

    /// B-184: a device that cannot be asked is a value, not an error.
    #[test]
    fn a_device_without_an_answer_is_unavailable() {
        let sample = TelemetrySample { compute_percent: Some(93), ..TelemetrySample::default() };
        let snapshot = DeviceTelemetrySnapshot::of(3, Some(&Source(Ok(sample))));
        assert_eq!((snapshot.device_ordinal, snapshot.state), (3, TelemetryState::Available(sample)));
        let broken = Source(Err(ServerError::unsupported("a thermometer", "it has none")));
        for source in [None, Some(&broken as &dyn TelemetrySource)] {
            let TelemetryState::Unavailable { why } = DeviceTelemetrySnapshot::of(0, source).state else {
                panic!("nothing was sampled")
            };
            assert!(!why.is_empty());
        }
    }
}
