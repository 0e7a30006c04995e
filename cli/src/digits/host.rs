//! The network on the host, in f64 and one image at a time: what the device's answers are held against.

use super::{Layer, Network, PIXELS, scaled};

/// The digit that the network reads in each image of `pixels` ([`PIXELS`] bytes each): the first of the largest outputs.
pub(crate) fn predict(network: &Network, pixels: &[u8]) -> Vec<u32> {
    pixels.chunks_exact(PIXELS).map(|image| digit(network, image)).collect()
}

fn digit(network: &Network, image: &[u8]) -> u32 {
    let mut values: Vec<f64> = scaled(image).into_iter().map(f64::from).collect();
    for layer in &network.layers {
        values = dense(layer, &values);
    }
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best as u32
}

fn dense(layer: &Layer, inputs: &[f64]) -> Vec<f64> {
    let rows = layer.weights.chunks_exact(layer.inputs);
    let sums = rows.zip(&layer.biases).map(|(row, bias)| {
        row.iter().zip(inputs).fold(f64::from(*bias), |sum, (weight, input)| sum + f64::from(*weight) * input)
    });
    sums.map(|sum| if layer.relu { sum.max(0.0) } else { sum }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::{accuracy, images, network};

    #[test]
    fn the_shipped_network_reads_the_shipped_images() {
        let (network, images) = (network().expect("shipped"), images().expect("shipped"));
        let predictions = predict(&network, &images.pixels);
        // 352 of 360, as the training script printed it.
        assert_eq!((accuracy(&predictions, &images.labels) * 360.0).round(), 352.0);
    }

    #[test]
    fn a_layer_by_hand() {
        let layer =
            Layer { inputs: 2, outputs: 2, weights: vec![1.0, 2.0, -1.0, 0.0], biases: vec![0.5, 0.5], relu: true };
        assert_eq!(dense(&layer, &[3.0, 4.0]), [11.5, 0.0]);
    }
}
