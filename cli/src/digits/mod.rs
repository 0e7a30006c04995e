//! Real input: a trained network that reads handwritten digits, with the images it is tried on.
//!
//! Weights and images are part of the program. `host` computes the same answers without a device.

mod host;
mod model;
mod plan;

pub(crate) use host::predict;
pub(crate) use model::{DigitsError, Images, Layer, Network};
pub(crate) use plan::{Batches, plan};

/// Pixels of an image.
pub(crate) const PIXELS: usize = 64;
/// Digits there are, and outputs of the network.
pub(crate) const DIGITS: usize = 10;
/// The largest value of a pixel.
pub(crate) const PIXEL_MAX: u8 = 16;

/// The network that ships with the program.
///
/// # Errors
///
/// [`DigitsError`] when its file is not as documented in `data/digits/README.md`.
pub(crate) fn network() -> Result<Network, DigitsError> {
    Network::from_safetensors(include_bytes!("../../data/digits/model.safetensors"))
}

/// The held-out images that ship with the program.
///
/// # Errors
///
/// [`DigitsError`] when their file is not as documented in `data/digits/README.md`.
pub(crate) fn images() -> Result<Images, DigitsError> {
    Images::from_safetensors(include_bytes!("../../data/digits/test.safetensors"))
}

/// Pixels as the network takes them: 0 to 1. Exact, since 16 is a power of two.
pub(crate) fn scaled(pixels: &[u8]) -> Vec<f32> {
    pixels.iter().map(|pixel| f32::from(*pixel) / f32::from(PIXEL_MAX)).collect()
}

/// The share of predictions that equal the labels, 0 to 1.
pub(crate) fn accuracy(predictions: &[u32], labels: &[u8]) -> f64 {
    let right = predictions.iter().zip(labels).filter(|(digit, label)| **digit == u32::from(**label)).count();
    right as f64 / labels.len().max(1) as f64
}
