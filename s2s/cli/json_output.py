"""JSON output for scripts.  Infinities and NaN are strings, because JSON has no such numbers."""

from __future__ import annotations

import json
import math
from typing import Any


def as_json(data: Any) -> str:
    return json.dumps(_finite(data), indent=2, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return repr(float(data)) if isinstance(data, float) and not math.isfinite(data) else data
