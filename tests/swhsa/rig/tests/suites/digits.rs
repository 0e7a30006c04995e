//! A trained network reads handwritten digits on the device, as a graph that is replayed for each batch: image for image the digits
//! that the host computes from the same weights.

use graphreel::device::ArgList;
use graphreel::recording::Tier;
use graphreel::{Buffer, Capture, Device, Grid, Kernel, Result};
use graphreel_testkit::watched::Live;
use graphreel_testkit::{announce, kernels};
use safetensors::SafeTensors;

use super::ground::{self, TIERS, settled};

const DENSE: &str = include_str!("../../../../../shaders/dense.wgsl");
const ARGMAX: &str = include_str!("../../../../../shaders/argmax.wgsl");
const MODEL: &[u8] = include_bytes!("../../../../../cli/data/digits/model.safetensors");
const IMAGES: &[u8] = include_bytes!("../../../../../cli/data/digits/test.safetensors");

/// Pixels of an image, each 0 to 16.
const PIXELS: usize = 64;
/// Images of a batch.
const BATCH: usize = 24;
/// All batches: 360 images.
const BATCHES: usize = 15;
/// Rows and columns of the tile of `dense.wgsl`.
const TILE: usize = 16;
/// Images that the network reads as people do, by `cli/data/digits/README.md`.
const READ_RIGHT: usize = 352;

/// A layer: `outputs` rows of `inputs` weights.
struct Layer {
    inputs: usize,
    outputs: usize,
    weights: Vec<f32>,
    biases: Vec<f32>,
    relu: bool,
}

fn floats(file: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    let tensor = file.tensor(name).expect("the model has it");
    tensor.data().chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

fn network() -> Vec<Layer> {
    let file = SafeTensors::deserialize(MODEL).expect("the model is one");
    let layer = |index: usize| {
        let (weights, biases) =
            (floats(&file, &format!("layer{index}.weight")), floats(&file, &format!("layer{index}.bias")));
        let outputs = biases.len();
        Layer { inputs: weights.len() / outputs, outputs, weights, biases, relu: index < 3 }
    };
    (1..=3).map(layer).collect()
}

/// Pixels as the network takes them, and what people wrote.
fn images() -> (Vec<f32>, Vec<u32>) {
    let file = SafeTensors::deserialize(IMAGES).expect("the images are some");
    let bytes = |name: &str| file.tensor(name).expect("it is there").data().to_vec();
    let pixels = bytes("images").into_iter().map(|pixel| f32::from(pixel) / 16.0).collect();
    (pixels, bytes("labels").into_iter().map(u32::from).collect())
}

/// The digit of one image, by the host: the first of the largest outputs.
fn digit(network: &[Layer], image: &[f32]) -> u32 {
    let mut values: Vec<f64> = image.iter().copied().map(f64::from).collect();
    for layer in network {
        let rows = layer.weights.chunks_exact(layer.inputs).zip(&layer.biases);
        let sum = |(row, bias): (&[f32], &f32)| {
            row.iter().zip(&values).fold(f64::from(*bias), |sum, (weight, value)| sum + f64::from(*weight) * value)
        };
        values = rows.map(sum).map(|sum| if layer.relu { sum.max(0.0) } else { sum }).collect();
    }
    let best = (0..values.len()).reduce(|best, at| if values[at] > values[best] { at } else { best });
    best.expect("it has outputs") as u32
}

/// The network on a device.
struct Reader {
    dense: Kernel,
    argmax: Kernel,
    increment: Kernel,
    input: Buffer,
    /// Weights as the kernel takes them, biases, results and scalars of each layer.
    layers: Vec<(Buffer, Buffer, Buffer, [u32; 4])>,
    output: Buffer,
    replays: Buffer,
}

impl Reader {
    fn new(device: &Device, network: &[Layer]) -> Result<Self> {
        let layer = |layer: &Layer| {
            let Layer { inputs, outputs, weights, biases, relu } = layer;
            let column = |input| (0..*outputs).map(move |output| weights[output * inputs + input]);
            let turned: Vec<f32> = (0..*inputs).flat_map(column).collect();
            let scalars = [BATCH as u32, *inputs as u32, *outputs as u32, u32::from(*relu)];
            Ok((device.upload(&turned)?, device.upload(biases)?, device.alloc(4 * (BATCH * outputs) as u64)?, scalars))
        };
        Ok(Self {
            dense: device.kernel(DENSE)?,
            argmax: device.kernel(ARGMAX)?,
            increment: device.kernel(kernels::INC)?,
            input: device.upload(&[0f32; BATCH * PIXELS])?,
            layers: network.iter().map(layer).collect::<Result<_>>()?,
            output: device.upload(&[u32::MAX; BATCH])?,
            replays: device.upload(&[0u32])?,
        })
    }

    fn record(&self, c: &mut Capture) -> Result<()> {
        let mut source = &self.input;
        let mut columns = 0;
        for (weights, biases, result, scalars) in &self.layers {
            columns = scalars[2];
            let grid = [(columns as usize).div_ceil(TILE) as u32, BATCH.div_ceil(TILE) as u32, 1];
            let buffers = ArgList::new().with(source).with(weights).with(biases).with(result);
            c.launch(&self.dense, grid, scalars.iter().fold(buffers, |args, scalar| args.with(*scalar)))?;
            source = result;
        }
        c.launch(&self.argmax, [BATCH as u32, 1, 1], (source, &self.output, columns))?;
        c.launch(&self.increment, Grid::groups(1), (&self.replays,))
    }
}

/// Read so many batches on a device of one tier.
fn read(tier: Tier, network: &[Layer], pixels: &[f32], batches: usize) -> Result<Vec<u32>> {
    let (device, watch) = ground::device(&[tier], Vec::new())?;
    let reader = Reader::new(&device, network)?;
    let (graph, ()) = device.capture(|c| reader.record(c))?;
    assert_eq!((graph.report().tier, graph.report().nodes), (tier, 5));
    let mut digits = Vec::new();
    for batch in pixels.chunks_exact(BATCH * PIXELS).take(batches) {
        reader.input.write(batch)?;
        // What an earlier batch left is no digit of this one.
        reader.output.fill(u32::MAX)?;
        graph.replay()?.wait()?;
        digits.extend(reader.output.read::<u32>()?);
    }
    assert_eq!(reader.replays.read::<u32>()?, [batches as u32], "{tier:?}: each batch is one replay");
    drop((graph, reader, device));
    assert_eq!(settled(&watch), Live::default(), "{tier:?}");
    Ok(digits)
}

#[test]
fn each_image_is_read_as_the_host_reads_it() -> Result<()> {
    const TEST: &str = "digits::each_image_is_read_as_the_host_reads_it";
    if !ground::there(TEST) {
        return Ok(());
    }
    let batches = if ground::thorough() { BATCHES } else { 2 };
    let (network, (pixels, labels)) = (network(), images());
    assert_eq!((pixels.len(), labels.len()), (BATCHES * BATCH * PIXELS, BATCHES * BATCH));
    let expected: Vec<u32> = pixels.chunks_exact(PIXELS).map(|image| digit(&network, image)).collect();
    let right = expected.iter().zip(&labels).filter(|(digit, label)| digit == label).count();
    assert_eq!(right, READ_RIGHT, "the host reads them as the training did");
    for tier in TIERS {
        let found = read(tier, &network, &pixels, batches)?;
        let pairs = found.iter().zip(&expected);
        let wrong: Vec<usize> =
            pairs.enumerate().filter(|(_, (found, host))| found != host).map(|(at, _)| at).collect();
        assert_eq!((found.len(), &wrong[..]), (batches * BATCH, &[][..]), "{tier:?}: images that are read otherwise");
    }
    announce(&format!("{TEST}: {} of {} images, on both tiers", batches * BATCH, labels.len()));
    Ok(())
}
