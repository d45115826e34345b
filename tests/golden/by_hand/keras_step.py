"""A Keras-style step with Dense layers and Adam; model and optimizer are parameters."""

from __future__ import annotations

import numpy as np

import s2s.tf as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(12, activation="tanh")
        self.second = tf.keras.layers.Dense(12, activation="tanh")
        self.out = tf.keras.layers.Dense(2)

    def call(self, inputs):
        hidden = self.first(inputs)
        hidden = hidden + self.second(hidden)  # residual
        return self.out(hidden)


net = Net()
opt = tf.keras.optimizers.Adam(0.01)


@tf.function
def train(images, labels):
    with tf.GradientTape() as tape:
        # predictions of the network
        scores = net(images, training=True)
        cost = tf.reduce_mean(tf.square(scores - labels))
    grads = tape.gradient(cost, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return cost
