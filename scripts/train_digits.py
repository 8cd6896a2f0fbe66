#!/usr/bin/env python3
"""Trains the two versions of the digits classifier in tests/data/digits.

    scripts/train_digits.py [--out tests/data/digits]

Needs tensorflow and scikit-learn: run it with the interpreter that `scripts/python_env` prints.

Both versions answer the same signature, so that a server can go from one to the other unnoticed:

    image          float [-1, 8, 8, 1], grey levels 0 to 16 as scikit-learn's digits have them
    probabilities  float [-1, 10]
    label          int64 [-1], the index of the largest probability

Version 1 is a linear model, stopped early; version 2 is a small convolutional network and reads
digits that version 1 does not. samples.json holds a few digits of the test part, together with
their labels, as a body that the REST API takes as it is.
"""

import argparse
import json
import os
import shutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def linear_model():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((8, 8, 1), name="image"),
            tf.keras.layers.Rescaling(1 / 16),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10, name="logits"),
        ]
    )


def convolutional_model():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((8, 8, 1), name="image"),
            tf.keras.layers.Rescaling(1 / 16),
            tf.keras.layers.Conv2D(12, 3, padding="same", use_bias=False),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.ReLU(),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dropout(0.3),
            tf.keras.layers.Dense(10, name="logits"),
        ]
    )


def classify(model, image):
    """What the signature computes."""
    probabilities = tf.nn.softmax(model(image, training=False))
    return {"probabilities": probabilities, "label": tf.argmax(probabilities, axis=1)}


def train(build, images, labels, epochs, learning_rate):
    model = build()
    model.compile(
        tf.keras.optimizers.Adam(learning_rate),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.fit(images, labels, batch_size=32, epochs=epochs, verbose=0)
    return model


def save(model, directory):
    shutil.rmtree(directory, ignore_errors=True)
    archive = tf.keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint(
        "serving_default",
        lambda image: classify(model, image),
        input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32, name="image")],
    )
    archive.write_out(directory, verbose=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(REPOSITORY, "tests/data/digits"))
    out = parser.parse_args().out

    tf.keras.utils.set_random_seed(7)
    digits = load_digits()
    images = digits.images.astype(np.float32)[..., np.newaxis]
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, digits.target, test_size=360, random_state=7, stratify=digits.target
    )

    versions = {
        1: train(linear_model, train_images, train_labels, epochs=4, learning_rate=2e-3),
        2: train(convolutional_model, train_images, train_labels, epochs=30, learning_rate=2e-3),
    }
    answers = {}
    for number, model in versions.items():
        save(model, os.path.join(out, str(number)))
        answers[number] = classify(model, test_images)["label"].numpy()
        accuracy = np.mean(answers[number] == test_labels)
        print(f"version {number}: {accuracy:.1%} of {len(test_labels)} test digits right")

    # Digits that version 2 reads; the first two are among those that version 1 gets wrong.
    right = answers[2] == test_labels
    improved = np.flatnonzero(right & (answers[1] != test_labels))[:2]
    both = np.flatnonzero(right & (answers[1] == test_labels))[:4]
    chosen = np.concatenate([improved, both])
    samples = {
        "signature_name": "serving_default",
        "instances": test_images[chosen].astype(int).tolist(),
        "labels": test_labels[chosen].tolist(),
    }
    with open(os.path.join(out, "samples.json"), "w", encoding="utf-8") as file:
        json.dump(samples, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
