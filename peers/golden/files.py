"""Golden files: the format that the tests of package rl/algo read (rlzero-losses/1). A case holds
inputs, options, and what the named implementation made of them."""

import json
import math

TOLERANCE = {"rel": 1e-9, "abs": 1e-12, "metrics_rel": 1e-6}


class NotComparable(Exception):
    """The implementation gives no finite answer, or refuses: the reason."""


def finite(value):
    """The value as JSON has it; NotComparable if a number in it is none."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise NotComparable("a value that is not finite")
    return value


def nullable(value):
    """Inputs in which NaN is "not known"."""
    if isinstance(value, list):
        return [nullable(v) for v in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def write(path, name, cases, defaults=None, tolerance=None):
    text = {"format": "rlzero-losses/1", "file": name, "tolerance": tolerance or TOLERANCE, "count": len(cases), "cases": cases}
    if defaults:
        text["defaults"] = defaults
    with open(path, "w") as out:
        json.dump(text, out, allow_nan=False)
