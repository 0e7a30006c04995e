//! The network's weights and the test images, read from safetensors and checked.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use super::{DIGITS, PIXEL_MAX, PIXELS};

/// Why a file is not the network or the images.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DigitsError {
    /// It is no safetensors file, or lacks a tensor.
    #[error("{file} of the digits data: {source}")]
    Format {
        /// Which file.
        file: &'static str,
        /// What safetensors says.
        source: SafeTensorError,
    },
    /// A tensor has another type or shape.
    #[error("tensor `{name}` of the digits data is {found}, not {expected}")]
    Tensor {
        /// The tensor.
        name: String,
        /// Type and shape found.
        found: String,
        /// Type and shape needed.
        expected: String,
    },
    /// A value that cannot be.
    #[error("tensor `{name}` of the digits data holds {value} at {index}; {rule}")]
    Value {
        /// The tensor.
        name: String,
        /// The value found.
        value: String,
        /// Where, counted from 0.
        index: usize,
        /// What is allowed.
        rule: &'static str,
    },
}

/// One dense layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    /// Inputs of the layer.
    pub(crate) inputs: usize,
    /// Outputs of the layer.
    pub(crate) outputs: usize,
    /// `outputs` rows of `inputs` weights.
    pub(crate) weights: Vec<f32>,
    /// One for each output.
    pub(crate) biases: Vec<f32>,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
}

/// The layers in order; each takes what the one before it gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    /// At least one; the first takes [`PIXELS`], the last gives [`DIGITS`].
    pub(crate) layers: Vec<Layer>,
}

/// Images with the digits that people wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Images {
    /// [`PIXELS`] for each image, row by row, 0 to [`PIXEL_MAX`].
    pub(crate) pixels: Vec<u8>,
    /// The digit of each image.
    pub(crate) labels: Vec<u8>,
}

impl Network {
    /// Read `layerN.weight` and `layerN.bias`, N from 1 up. ReLU follows every layer but the last.
    pub(crate) fn from_safetensors(bytes: &[u8]) -> Result<Self, DigitsError> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|source| DigitsError::Format { file: "the model", source })?;
        let count = (1..).take_while(|index| file.tensor(&weight_name(*index)).is_ok()).count().max(1);
        let mut layers = Vec::with_capacity(count);
        let mut inputs = PIXELS;
        for index in 1..=count {
            let last = index == count;
            let layer = layer(&file, index, inputs, last)?;
            inputs = layer.outputs;
            layers.push(layer);
        }
        Ok(Self { layers })
    }
}

impl Images {
    /// Read `images` and `labels`.
    pub(crate) fn from_safetensors(bytes: &[u8]) -> Result<Self, DigitsError> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|source| DigitsError::Format { file: "the images", source })?;
        let find = |name| file.tensor(name).map_err(|source| DigitsError::Format { file: "the images", source });
        let (images, labels) = (find("images")?, find("labels")?);
        let count = labels.shape().first().copied().unwrap_or(0);
        expect("labels", &labels, Dtype::U8, &[count])?;
        expect("images", &images, Dtype::U8, &[count, PIXELS])?;
        bounded("images", images.data(), PIXEL_MAX, "pixels are 0 to 16")?;
        bounded("labels", labels.data(), (DIGITS - 1) as u8, "digits are 0 to 9")?;
        Ok(Self { pixels: images.data().to_vec(), labels: labels.data().to_vec() })
    }
}

fn weight_name(index: usize) -> String {
    format!("layer{index}.weight")
}

fn layer(file: &SafeTensors<'_>, index: usize, inputs: usize, last: bool) -> Result<Layer, DigitsError> {
    let find = |name: &str| file.tensor(name).map_err(|source| DigitsError::Format { file: "the model", source });
    let (weight_name, bias_name) = (weight_name(index), format!("layer{index}.bias"));
    let (weight, bias) = (find(&weight_name)?, find(&bias_name)?);
    let outputs = if last { DIGITS } else { weight.shape().first().copied().unwrap_or(0) };
    expect(&weight_name, &weight, Dtype::F32, &[outputs, inputs])?;
    expect(&bias_name, &bias, Dtype::F32, &[outputs])?;
    let (weights, biases) = (floats(&weight_name, &weight)?, floats(&bias_name, &bias)?);
    Ok(Layer { inputs, outputs, weights, biases, relu: !last })
}

fn expect(name: &str, tensor: &TensorView<'_>, dtype: Dtype, shape: &[usize]) -> Result<(), DigitsError> {
    if tensor.dtype() == dtype && tensor.shape() == shape && !shape.contains(&0) {
        return Ok(());
    }
    Err(DigitsError::Tensor {
        name: name.to_owned(),
        found: format!("{:?} {:?}", tensor.dtype(), tensor.shape()),
        expected: format!("{dtype:?} {shape:?}"),
    })
}

fn floats(name: &str, tensor: &TensorView<'_>) -> Result<Vec<f32>, DigitsError> {
    let values: Vec<f32> = tensor
        .data()
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(index) => Err(DigitsError::Value {
            name: name.to_owned(),
            value: values[index].to_string(),
            index,
            rule: "weights are finite",
        }),
    }
}

fn bounded(name: &str, values: &[u8], max: u8, rule: &'static str) -> Result<(), DigitsError> {
    match values.iter().position(|value| *value > max) {
        None => Ok(()),
        Some(index) => Err(DigitsError::Value { name: name.to_owned(), value: values[index].to_string(), index, rule }),
    }
}

#[cfg(test)]
mod tests {
    use safetensors::serialize;

    use super::*;

    #[test]
    fn the_shipped_files_are_as_documented() {
        let network = super::super::network().expect("the shipped model");
        let shape: Vec<_> = network.layers.iter().map(|layer| (layer.inputs, layer.outputs, layer.relu)).collect();
        assert_eq!(shape, [(64, 64, true), (64, 32, true), (32, 10, false)]);
        assert_eq!(super::super::images().expect("the shipped images").labels.len(), 360);
    }

    #[test]
    fn bytes_that_are_no_safetensors_are_refused() {
        let error = Network::from_safetensors(b"nothing").expect_err("no header");
        assert!(matches!(error, DigitsError::Format { file: "the model", .. }), "{error}");
    }

    #[test]
    fn a_wrong_shape_is_named() {
        let data = [0u8; 4 * 63];
        let weight = TensorView::new(Dtype::F32, vec![1, 63], &data).expect("63 floats");
        let bias = TensorView::new(Dtype::F32, vec![1], &data[..4]).expect("one float");
        let bytes = serialize([("layer1.weight", weight), ("layer1.bias", bias)], None).expect("serialises");
        let error = Network::from_safetensors(&bytes).expect_err("63 inputs");
        assert!(error.to_string().contains("layer1.weight"), "{error}");
    }

    #[test]
    fn a_pixel_over_the_range_is_found() {
        let mut pixels = [0u8; 64];
        pixels[5] = 17;
        let images = TensorView::new(Dtype::U8, vec![1, 64], &pixels).expect("one image");
        let labels = TensorView::new(Dtype::U8, vec![1], &[3]).expect("one label");
        let bytes = serialize([("images", images), ("labels", labels)], None).expect("serialises");
        let error = Images::from_safetensors(&bytes).expect_err("17 is too much");
        assert!(matches!(error, DigitsError::Value { index: 5, .. }), "{error}");
    }
}
