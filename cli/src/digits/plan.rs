//! The network as a plan: a dense kernel for each layer and the largest output of each image, one batch at a time.

use graphreel::kernel::Value;
use graphreel::{KernelSource, Wgsl};

use super::{Images, Layer, Network, PIXELS, predict, scaled};
use crate::bench::plan::{Contents, Expected, Node, Plan};

const DENSE: &str = include_str!("../../../shaders/dense.wgsl");
const ARGMAX: &str = include_str!("../../../shaders/argmax.wgsl");
/// Images of a batch. 360 images end with a batch that is not full.
const BATCH: usize = 64;
/// Rows and columns of the tile of `dense.wgsl`.
const TILE: usize = 16;

/// All batches of the images, for one plan whose input changes before each run.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    /// The buffer of a batch's pixels.
    pub(crate) input: usize,
    /// The buffer of its predictions, a `u32` for each image.
    pub(crate) output: usize,
    /// The pixels of each batch as the network takes them; the last one padded with empty images.
    pub(crate) pixels: Vec<Vec<f32>>,
    /// The host's predictions, for each image.
    pub(crate) predictions: Vec<u32>,
    /// What people wrote.
    pub(crate) labels: Vec<u8>,
}

/// The plan for the first batch, and all batches.
pub(crate) fn plan(network: &Network, images: &Images) -> (Plan, Batches) {
    let pixels: Vec<Vec<f32>> = images.pixels.chunks(BATCH * PIXELS).map(padded).collect();
    let first: Vec<u8> = images.pixels.iter().copied().chain(std::iter::repeat(0)).take(BATCH * PIXELS).collect();
    let input = pixels.first().cloned().unwrap_or_else(|| padded(&[]));
    let mut plan = Plan {
        kernels: vec![KernelSource::from(Wgsl::new(DENSE)), Wgsl::new(ARGMAX).into()],
        buffers: vec![Contents::Input(bytemuck::cast_slice(&input).to_vec())],
        nodes: Vec::new(),
        expected: Vec::new(),
    };
    let mut source = 0;
    for layer in &network.layers {
        source = push_layer(&mut plan, layer, source);
    }
    let output = push(&mut plan, Contents::Result(4 * BATCH as u64));
    let columns = network.layers.last().map_or(1, |layer| layer.outputs as u32);
    plan.nodes.push(Node {
        kernel: 1,
        groups: [BATCH as u32, 1, 1],
        buffers: vec![source, output],
        scalars: vec![columns.into()],
    });
    let digits = predict(network, &first);
    plan.expected.push(Expected { buffer: output, bytes: bytemuck::cast_slice(&digits).to_vec() });
    let predictions = predict(network, &images.pixels);
    (plan, Batches { input: 0, output, pixels, predictions, labels: images.labels.clone() })
}

/// One batch of pixels as the network takes them, empty images at its end.
fn padded(pixels: &[u8]) -> Vec<f32> {
    let mut batch = scaled(pixels);
    batch.resize(BATCH * PIXELS, 0.0);
    batch
}

fn push(plan: &mut Plan, contents: Contents) -> usize {
    plan.buffers.push(contents);
    plan.buffers.len() - 1
}

/// The launch of one layer; the buffer of what it gives.
fn push_layer(plan: &mut Plan, layer: &Layer, source: usize) -> usize {
    let weights = push(plan, Contents::Input(bytemuck::cast_slice(&transposed(layer)).to_vec()));
    let biases = push(plan, Contents::Input(bytemuck::cast_slice(&layer.biases).to_vec()));
    let result = push(plan, Contents::Result(4 * (BATCH * layer.outputs) as u64));
    let scalars = [BATCH as u32, layer.inputs as u32, layer.outputs as u32, u32::from(layer.relu)];
    plan.nodes.push(Node {
        kernel: 0,
        groups: [layer.outputs.div_ceil(TILE) as u32, BATCH.div_ceil(TILE) as u32, 1],
        buffers: vec![source, weights, biases, result],
        scalars: scalars.map(Value::from).to_vec(),
    });
    result
}

/// Weights as `dense.wgsl` takes them: inputs × outputs.
fn transposed(layer: &Layer) -> Vec<f32> {
    let column = |input| (0..layer.outputs).map(move |output| layer.weights[output * layer.inputs + input]);
    (0..layer.inputs).flat_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::{images, network};

    #[test]
    fn the_last_batch_is_padded() {
        let (plan, batches) = plan(&network().expect("shipped"), &images().expect("shipped"));
        assert_eq!((batches.pixels.len(), batches.predictions.len()), (6, 360));
        assert!(batches.pixels.iter().all(|batch| batch.len() == BATCH * PIXELS));
        assert!(batches.pixels[5][40 * PIXELS..].iter().all(|pixel| *pixel == 0.0));
        assert_eq!(plan.nodes.len(), 4);
        assert_eq!(plan.expected[0].bytes, bytemuck::cast_slice::<u32, u8>(&batches.predictions[..BATCH]));
    }

    #[test]
    fn the_kernels_take_what_the_nodes_give() {
        let (plan, _) = plan(&network().expect("shipped"), &images().expect("shipped"));
        for node in &plan.nodes {
            let kernel = graphreel::kernel::reflect(&plan.kernels[node.kernel]).expect("valid");
            assert_eq!(kernel.bindings.len(), node.buffers.len());
            assert_eq!(kernel.immediates.len(), node.scalars.len());
        }
    }

    #[test]
    fn weights_are_turned() {
        let layer =
            Layer { inputs: 3, outputs: 2, weights: vec![1., 2., 3., 4., 5., 6.], biases: vec![0.; 2], relu: false };
        assert_eq!(transposed(&layer), [1., 4., 2., 5., 3., 6.]);
    }
}
