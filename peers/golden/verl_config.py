"""Configurations of verl, and its version."""

import contextlib
from importlib.metadata import version

from . import verl_stand_ins  # noqa: F401
from .files import NotComparable
from verl.workers.config import ActorConfig

VERSION = f"verl {version('verl')}"


class Options(dict):
    """Options by key and by attribute; what is not set is None."""

    def __getattr__(self, name):
        return self.get(name)


class Actor(ActorConfig):
    """An ActorConfig with the given options alone: the losses read it and ask what it is."""

    def __init__(self, options):
        object.__setattr__(self, "options", Options(options))

    def __getattribute__(self, name):
        if name in ("options", "get", "__class__"):
            return object.__getattribute__(self, name)
        return self.options.get(name)

    def get(self, name, default=None):
        return self.options.get(name, default)


def actor(h):
    counts = {k: h[k] for k in ["dp_size", "batch_num_tokens", "global_batch_size", "loss_scale_factor"] if h.get(k) is not None}
    return Actor({**h, "clip_ratio": 0.2, "global_batch_info": counts, "policy_loss": Options(h)})


@contextlib.contextmanager
def refused():
    """verl 0.9.1 breaks off where all weights of the sampler are 0 (rollout_corr_helper.py:758)."""
    try:
        yield
    except ZeroDivisionError:
        raise NotComparable(f"{VERSION} divides by zero where all weights of the sampler are 0") from None
