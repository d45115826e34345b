"""The code blocks of the five documents that were this project's first specification, in order.

`before` defines names that a document assumes (data, a model); `records` are the names whose values
are compared with TensorFlow's after the block has run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    document: str
    name: str
    code: str
    records: tuple[str, ...]
    before: str = ""

    @property
    def id(self) -> str:
        return f"{self.document}-{self.name}"


_DATA_000 = """
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)
x = tf.constant([[1.0], [2.0], [3.0]])
y = tf.constant([[2.0], [4.0], [6.0]])
"""

DOCUMENT_000 = [
    Block("000", "simple_descent", '''\
import tensorflow as tf

# Define a simple model
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)

# Training data
x = tf.constant([[1.0], [2.0], [3.0]])
y = tf.constant([[2.0], [4.0], [6.0]])

# Training loop
epochs = 1000
for epoch in range(epochs):
    with tf.GradientTape() as tape:
        predictions = model(x)
        loss = tf.reduce_mean(tf.square(predictions - y))  # MSE loss

    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    if epoch % 100 == 0:
        print(f"Epoch {epoch}, Loss: {loss.numpy()}")
''', ("loss", "model.trainable_variables")),
    Block("000", "several_losses", '''\
import tensorflow as tf

# ... (Model definition and data as in Example 1) ...

# Define multiple loss functions
def loss_mse(y_true, y_pred):
  return tf.reduce_mean(tf.square(y_true - y_pred))

def loss_l1(y_true, y_pred):
  return tf.reduce_mean(tf.abs(y_true - y_pred))


# Training loop
epochs = 1000
for epoch in range(epochs):
    with tf.GradientTape() as tape:
        predictions = model(x)
        mse_loss = loss_mse(y, predictions)
        l1_loss = loss_l1(y, predictions)
        total_loss = mse_loss + 0.1 * l1_loss # Combining losses with a weight

    gradients = tape.gradient(total_loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    if epoch % 100 == 0:
        print(f"Epoch {epoch}, Total Loss: {total_loss.numpy()}")
''', ("total_loss", "model.trainable_variables"), _DATA_000),
    Block("000", "accumulation", '''\
import tensorflow as tf

# ... (Model definition and data as in Example 1) ...
batch_size = 1
accumulation_steps = 3

# Training loop
epochs = 1000
for epoch in range(epochs):
    accumulated_gradients = [tf.zeros_like(v) for v in model.trainable_variables]
    for batch in range(accumulation_steps):
        with tf.GradientTape(persistent=True) as tape:
            predictions = model(x[batch*batch_size:(batch+1)*batch_size])
            loss = tf.reduce_mean(tf.square(predictions - y[batch*batch_size:(batch+1)*batch_size]))

        gradients = tape.gradient(loss, model.trainable_variables)
        accumulated_gradients = [tf.add(a, g) for a, g in zip(accumulated_gradients, gradients)]
        del tape #Explicitly release the tape after each batch


    optimizer.apply_gradients(zip(accumulated_gradients, model.trainable_variables))


    if epoch % 100 == 0:
        print(f"Epoch {epoch}, Loss: {loss.numpy()}")
''', ("loss", "accumulated_gradients", "model.trainable_variables"), _DATA_000),
]  # fmt: skip

DOCUMENT_001 = [
    Block("001", "linear_regression", '''\
import tensorflow as tf
import numpy as np

# 1. Define a simple model
class LinearModel(tf.keras.Model):
    def __init__(self):
        super(LinearModel, self).__init__()
        # Use a single Dense layer for y = mx + b
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)

# Instantiate the model
model = LinearModel()

# 2. Generate some synthetic data
np.random.seed(42)
X_train = np.linspace(-1, 1, 100).astype(np.float32)
y_train = 2 * X_train - 1 + np.random.randn(*X_train.shape).astype(np.float32) * 0.2

# Reshape X_train for the model (needs to be [samples, features])
X_train = X_train.reshape(-1, 1)
y_train = y_train.reshape(-1, 1)

# 3. Define loss function and optimizer
loss_fn = tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1) # Stochastic Gradient Descent

# 4. The Custom Training Loop
EPOCHS = 50
BATCH_SIZE = 32

# Create a tf.data.Dataset for efficient batching
train_dataset = tf.data.Dataset.from_tensor_slices((X_train, y_train))
train_dataset = train_dataset.shuffle(buffer_size=1024).batch(BATCH_SIZE)

print("Starting custom training loop...")
for epoch in range(EPOCHS):
    total_loss = 0.0
    num_batches = 0
    for x_batch, y_batch in train_dataset:
        with tf.GradientTape() as tape:
            # Forward pass: get model predictions
            predictions = model(x_batch, training=True)
            # Calculate the loss
            loss = loss_fn(y_batch, predictions)

        # Compute gradients
        # tape.watched_variables() by default watches all trainable variables
        gradients = tape.gradient(loss, model.trainable_variables)

        # Apply gradients to update model weights
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        total_loss += loss.numpy()
        num_batches += 1

    avg_loss = total_loss / num_batches
    if (epoch + 1) % 10 == 0:
        print(f"Epoch {epoch + 1}/{EPOCHS}, Loss: {avg_loss:.4f}")

print("Custom training loop finished.")

# 5. Inspect the trained weights
# The model has one Dense layer with weights (kernel) and biases
trained_kernel, trained_bias = model.dense.get_weights()
print(f"\\nLearned m (kernel): {trained_kernel[0][0]:.4f}")
print(f"Learned b (bias): {trained_bias[0]:.4f}")
''', ("avg_loss", "trained_kernel", "trained_bias")),
]  # fmt: skip

_MODEL_002 = """
import numpy as np
_rng = np.random.default_rng(5)
_x = _rng.normal(size=(20, 4)).astype(np.float32)
_y = _rng.integers(0, 3, size=20)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"),
                             tf.keras.layers.Dense(3, activation="softmax")])
dataset = tf.data.Dataset.from_tensor_slices((_x, _y)).batch(8)
num_epochs = 3
"""

_TWO_PARTS_002 = """
import numpy as np
_rng = np.random.default_rng(6)
x = _rng.normal(size=(10, 4)).astype(np.float32)
y = _rng.normal(size=(10, 2)).astype(np.float32)

class _Parts(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.backbone = self.layer_a = tf.keras.layers.Dense(5, activation="tanh")
        self.head = self.layer_b = tf.keras.layers.Dense(2)

    def call(self, inputs):
        return self.head(self.backbone(inputs))

model = _Parts()
model(x)

def compute_loss(predictions, targets):
    return tf.reduce_mean(tf.square(predictions - targets))
"""

DOCUMENT_002 = [
    Block("002", "square", '''\
import tensorflow as tf
x = tf.Variable(3.0)

with tf.GradientTape() as tape:
    y = x ** 2  # Forward pass recorded on the tape

dy_dx = tape.gradient(y, x)  # dy/dx = 2x = 6.0
''', ("dy_dx",)),
    Block("002", "watched_constant", '''\
import tensorflow as tf
x = tf.constant(3.0)

with tf.GradientTape() as tape:
    tape.watch(x)
    y = x ** 2

dy_dx = tape.gradient(y, x)
''', ("dy_dx",)),
    Block("002", "nested", '''\
import tensorflow as tf
x = tf.Variable(3.0)

with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        y = x ** 3
    dy_dx = inner.gradient(y, x)      # First derivative: 3x²

d2y_dx2 = outer.gradient(dy_dx, x)   # Second derivative: 6x
''', ("dy_dx", "d2y_dx2")),
    Block("002", "compiled_step", '''\
import tensorflow as tf
optimizer = tf.keras.optimizers.Adam(learning_rate=1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy()

@tf.function  # Compile to a graph for speed
def train_step(x_batch, y_batch):
    with tf.GradientTape() as tape:
        predictions = model(x_batch, training=True)
        loss = loss_fn(y_batch, predictions)

    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

for epoch in range(num_epochs):
    for x_batch, y_batch in dataset:
        loss = train_step(x_batch, y_batch)
''', ("loss", "model.trainable_variables"), _MODEL_002),
    Block("002", "clipping", '''\
import tensorflow as tf
gradients, _ = tf.clip_by_global_norm(gradients, clip_norm=1.0)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
''', ("gradients", "_", "model.trainable_variables"), _MODEL_002 + """
optimizer = tf.keras.optimizers.SGD(0.1)
model(_x)
gradients = [10.0 * v for v in model.trainable_variables]
"""),
    Block("002", "accumulation", '''\
import tensorflow as tf
accumulated_gradients = [tf.Variable(tf.zeros_like(v))
                         for v in model.trainable_variables]

for micro_batch in micro_batches:
    with tf.GradientTape() as tape:
        loss = loss_fn(model(micro_batch), labels) / num_micro_batches
    grads = tape.gradient(loss, model.trainable_variables)
    for acc_grad, grad in zip(accumulated_gradients, grads):
        acc_grad.assign_add(grad)

optimizer.apply_gradients(zip(accumulated_gradients, model.trainable_variables))
''', ("loss", "accumulated_gradients", "model.trainable_variables"), _MODEL_002 + """
model(_x)
loss_fn = tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.SGD(0.1)
micro_batches = [_x[:5], _x[5:10], _x[10:15]]
labels = np.ones((5, 3), np.float32)
num_micro_batches = 3
"""),
    Block("002", "two_rates", '''\
import tensorflow as tf
# Different learning rates for different layer groups
optimizer_backbone = tf.keras.optimizers.Adam(1e-5)
optimizer_head = tf.keras.optimizers.Adam(1e-3)

backbone_vars = model.backbone.trainable_variables
head_vars = model.head.trainable_variables

with tf.GradientTape(persistent=True) as tape:
    loss = compute_loss(model(x), y)

backbone_grads = tape.gradient(loss, backbone_vars)
head_grads = tape.gradient(loss, head_vars)

optimizer_backbone.apply_gradients(zip(backbone_grads, backbone_vars))
optimizer_head.apply_gradients(zip(head_grads, head_vars))
''', ("loss", "backbone_grads", "head_grads", "model.trainable_variables"), _TWO_PARTS_002),
    Block("002", "persistent", '''\
import tensorflow as tf
with tf.GradientTape(persistent=True) as tape:
    loss = compute_loss(model(x), y)

grad_a = tape.gradient(loss, model.layer_a.trainable_variables)
grad_b = tape.gradient(loss, model.layer_b.trainable_variables)

del tape  # Manually release resources
''', ("loss", "grad_a", "grad_b"), _TWO_PARTS_002),
]  # fmt: skip

_DATA_003 = """
import numpy as np
_rng = np.random.default_rng(7)
x_train = _rng.normal(size=(12, 4)).astype(np.float32)
y_train = _rng.normal(size=(12, 10)).astype(np.float32)
"""

_MORE_003 = (
    _DATA_003
    + """
model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
loss_fn = tf.keras.losses.MeanSquaredError()
epochs = 10
model1 = tf.keras.Sequential([tf.keras.layers.Dense(10)])
model2 = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="tanh")])
loss_fn1 = tf.keras.losses.MeanSquaredError()
loss_fn2 = tf.keras.losses.MeanAbsoluteError()
y_train1, y_train2 = y_train, 0.5 * y_train
"""
)

DOCUMENT_003 = [
    Block("003", "basic_loop", '''\
import tensorflow as tf

# Define a simple model
model = tf.keras.Sequential([tf.keras.layers.Dense(10)])

# Define optimizer and loss
optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
loss_fn = tf.keras.losses.MeanSquaredError()

# Training loop
epochs = 10
for epoch in range(epochs):
    with tf.GradientTape() as tape:
        predictions = model(x_train) # x_train is your training data
        loss = loss_fn(y_train, predictions) # y_train are your labels
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print(f"Epoch {epoch+1}, Loss: {loss.numpy()}")
''', ("loss", "gradients", "model.trainable_variables"), _DATA_003),
    Block("003", "two_models", '''\
import tensorflow as tf

# ... (model, optimizer, losses defined as before) ...

for epoch in range(epochs):
    with tf.GradientTape() as tape:
        predictions1 = model1(x_train)
        loss1 = loss_fn1(y_train1, predictions1)
        predictions2 = model2(x_train)
        loss2 = loss_fn2(y_train2, predictions2)
        total_loss = loss1 + loss2 #Combining Multiple Losses

    gradients = tape.gradient(total_loss, model1.trainable_variables + model2.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model1.trainable_variables + model2.trainable_variables))
    print(f"Epoch {epoch+1}, Total Loss: {total_loss.numpy()}")
''', ("total_loss", "model1.trainable_variables", "model2.trainable_variables"), _MORE_003),
    Block("003", "clipping", '''\
import tensorflow as tf

# ... (model, optimizer, loss defined as before) ...

for epoch in range(epochs):
    with tf.GradientTape() as tape:
        predictions = model(x_train)
        loss = loss_fn(y_train, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    # Gradient clipping to prevent exploding gradients
    clipped_gradients = [tf.clip_by_norm(grad, 1.0) for grad in gradients]
    optimizer.apply_gradients(zip(clipped_gradients, model.trainable_variables))
    print(f"Epoch {epoch+1}, Loss: {loss.numpy()}")
''', ("loss", "clipped_gradients", "model.trainable_variables"), _MORE_003),
]  # fmt: skip

DOCUMENT_004 = [
    Block("004", "basic", '''\
import tensorflow as tf

# Define variables
x = tf.Variable(3.0, name='x', dtype=tf.float32)
y = tf.Variable(2.0, name='y', dtype=tf.float32)

# Define operations
with tf.GradientTape() as tape:
  z = x**2 + y*x - 3*y

# Calculate gradients of z with respect to x and y
gradients = tape.gradient(z, [x, y])

print(f"Gradient of z with respect to x: {gradients[0]}")
print(f"Gradient of z with respect to y: {gradients[1]}")
''', ("z", "gradients")),
    Block("004", "network", '''\
import tensorflow as tf

# Define a simple model
model = tf.keras.models.Sequential([
  tf.keras.layers.Dense(units=10, activation='relu', input_shape=(5,)),
  tf.keras.layers.Dense(units=2)
])

# Define some dummy data
input_data = tf.random.normal((32, 5))
labels = tf.random.normal((32, 2))

# Define the loss function
loss_function = tf.keras.losses.MeanSquaredError()

# Calculate the loss and gradients
with tf.GradientTape() as tape:
    predictions = model(input_data)
    loss = loss_function(labels, predictions)

gradients = tape.gradient(loss, model.trainable_variables)

# Apply gradients
optimizer = tf.keras.optimizers.Adam(learning_rate=0.001)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))

# Output a few gradients to illustrate the calculation
for g in gradients[:3]:
   print(g)
''', ("loss", "gradients", "model.trainable_variables")),
    Block("004", "custom_gradient", '''\
import tensorflow as tf

@tf.custom_gradient
def custom_relu(x):
    def grad(dy):
        return dy * tf.cast(x > 0, tf.float32) * 2 # Example Custom Gradient
    return tf.nn.relu(x), grad


# Define variable
x = tf.Variable(tf.random.normal((3,)))

# Perform calculations
with tf.GradientTape() as tape:
  y = custom_relu(x)
  z = tf.reduce_sum(y)

# Calculate gradients
gradients = tape.gradient(z, x)

print(f"Gradient of z with respect to x:\\n {gradients}")
''', ("z", "gradients")),
]  # fmt: skip

BLOCKS = [*DOCUMENT_000, *DOCUMENT_001, *DOCUMENT_002, *DOCUMENT_003, *DOCUMENT_004]
