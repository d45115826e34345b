"""`tf.keras.mixed_precision`."""

from ...mixed_precision import Policy, global_policy, policy, set_global_policy
from ...optimizers import LossScaleOptimizer

__all__ = ["LossScaleOptimizer", "Policy", "global_policy", "policy", "set_global_policy"]
