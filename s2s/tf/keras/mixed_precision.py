"""`tf.keras.mixed_precision`: re-exports the precision policies and the loss-scale optimizer."""

from ...mixed_precision import Policy, global_policy, policy, set_global_policy
from ...optimizers import LossScaleOptimizer
from ...public_names import listing

__all__ = ["LossScaleOptimizer", "Policy", "global_policy", "policy", "set_global_policy"]
__dir__ = listing(__name__)
