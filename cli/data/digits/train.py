#!/usr/bin/env python3
"""Train the small network of `graphreel bench --workload digits` and write its weights and test images.

    pip install numpy scikit-learn safetensors
    python train.py            # writes model.safetensors and test.safetensors beside this file

Plain numpy, one seed, float64 throughout: two runs on one machine give the same files. Another BLAS may round
differently, and then the weights differ in their last digits.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from sklearn.datasets import load_digits

SEED = 7
WIDTHS = (64, 64, 32, 10)
TEST_EVERY = 5
EPOCHS = 160
BATCH = 64
PEAK_RATE = 2e-3
DECAY = 1e-4
HERE = Path(__file__).resolve().parent


def split():
    """Every fifth image, the first one included, is held out: 360 of 1,797. No choice above was made by its result."""
    images, labels = load_digits(return_X_y=True)
    held = np.arange(len(images)) % TEST_EVERY == 0
    return images[~held], labels[~held], images[held], labels[held]


def initial(rng):
    """He initialisation: weights as (outputs, inputs), biases zero."""
    layers = []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        layers.append([rng.normal(0.0, np.sqrt(2.0 / inputs), (outputs, inputs)), np.zeros(outputs)])
    return layers


def forward(layers, x):
    """Activations of every layer, the input first. ReLU after all layers but the last."""
    activations = [x]
    for index, (weight, bias) in enumerate(layers):
        x = x @ weight.T + bias
        if index + 1 < len(layers):
            x = np.maximum(x, 0.0)
        activations.append(x)
    return activations


def gradients(layers, x, labels):
    """Gradients of the mean cross-entropy, layer by layer."""
    activations = forward(layers, x)
    logits = activations[-1] - activations[-1].max(axis=1, keepdims=True)
    delta = np.exp(logits)
    delta /= delta.sum(axis=1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1.0
    delta /= len(labels)
    found = []
    for index in reversed(range(len(layers))):
        weight = layers[index][0]
        found.append([delta.T @ activations[index] + DECAY * weight, delta.sum(axis=0)])
        delta = (delta @ weight) * (activations[index] > 0.0)
    return found[::-1]


def jittered(rng, images):
    """Each image moved by at most one pixel in x and y, with empty pixels coming in, and a little noise."""
    padded = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    moves = rng.integers(0, 3, (len(images), 2))
    moved = np.stack([image[dy : dy + 8, dx : dx + 8] for image, (dy, dx) in zip(padded, moves)])
    keep = rng.random(len(images)) < 0.5
    moved[keep] = images.reshape(-1, 8, 8)[keep]
    return moved.reshape(-1, 64) + rng.normal(0.0, 0.05, (len(images), 64))


def train(images, labels):
    """Adam with a cosine rate."""
    rng = np.random.default_rng(SEED)
    layers = initial(rng)
    first = [[np.zeros_like(p) for p in layer] for layer in layers]
    second = [[np.zeros_like(p) for p in layer] for layer in layers]
    steps, step = EPOCHS * (len(images) // BATCH), 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            step += 1
            rate = PEAK_RATE * 0.5 * (1.0 + np.cos(np.pi * step / steps))
            found = gradients(layers, jittered(rng, images[batch]), labels[batch])
            for layer, m, v, g in zip(layers, first, second, found):
                for i in range(2):
                    m[i] = 0.9 * m[i] + 0.1 * g[i]
                    v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2
                    corrected = np.sqrt(v[i] / (1.0 - 0.999**step)) + 1e-8
                    layer[i] -= rate * m[i] / (1.0 - 0.9**step) / corrected
    return layers


def main():
    """Train, measure, write."""
    train_images, train_labels, test_images, test_labels = split()
    layers = train(train_images / 16.0, train_labels)
    model = {}
    for index, (weight, bias) in enumerate(layers, 1):
        model[f"layer{index}.weight"] = np.ascontiguousarray(weight, dtype=np.float32)
        model[f"layer{index}.bias"] = np.ascontiguousarray(bias, dtype=np.float32)
    stored = [[model[f"layer{i}.weight"], model[f"layer{i}.bias"]] for i in range(1, len(WIDTHS))]
    logits = forward(stored, (test_images / 16.0).astype(np.float32))[-1]
    right = int((logits.argmax(axis=1) == test_labels).sum())
    top = np.sort(logits, axis=1)
    print(f"{right} of {len(test_labels)} test images are read right ({right / len(test_labels):.2%})")
    print(f"closest call between the best two digits of an image: {(top[:, -1] - top[:, -2]).min():.4f}")
    save_file(model, HERE / "model.safetensors", metadata={"input": "pixels / 16; weights are outputs x inputs"})
    test = {"images": test_images.astype(np.uint8), "labels": test_labels.astype(np.uint8)}
    save_file(test, HERE / "test.safetensors", metadata={"source": "every fifth image of optdigits.tes"})


if __name__ == "__main__":
    main()
