"""verl's weights for tokens that another policy drew, and what it rejects of them."""

import torch

from . import draw, verl_stand_ins  # noqa: F401
from .files import finite
from verl.trainer.ppo import rollout_corr_helper
from .verl_config import VERSION, refused
from .verl_losses import correction

FILE = "verl_rollout_correction"


def other(t):
    """Metrics that mean something else in verl 0.9.1 (compute_offpolicy_metrics): chi2 of log-ratios cut
    at 20, and the extremes of gaps in which a row without tokens counts as 0."""
    names = []
    gap = (t["old_logp"] - t["sampler_logp"]) * t["mask"]
    if max(gap.abs().max(), gap.sum(-1).abs().max()) > 20:
        names += ["rollout_corr/chi2_token", "rollout_corr/chi2_seq"]
    if (t["mask"].sum(-1) == 0).any():
        names += ["rollout_corr/log_ppl_diff_min", "rollout_corr/log_ppl_diff_max", "rollout_corr/chi2_seq"]
    return names


def case(rng, name):
    h = correction(rng)
    del h["loss_type"]
    rows, columns = draw.shape(rng)
    logp = draw.logps(rng, rows, columns)
    b = {"mask": draw.mask(rng, rows, columns), "old_logp": logp, "sampler_logp": draw.near(rng, logp)}
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
    with refused():
        weights, mask, metrics = rollout_corr_helper.compute_rollout_correction_and_rejection_mask(
            t["old_logp"], t["sampler_logp"], t["mask"], **{"rollout_is_threshold": 2.0, **h})
    out = {"mask": mask.tolist(), "metrics": {k: float(v) for k, v in metrics.items() if k not in other(t)}}
    if weights is not None:
        out["weights"] = weights.batch["rollout_is_weights"].tolist()
    return {"name": f"correction/{name}", "source": f"{VERSION}, rollout_corr_helper.compute_rollout_correction_and_rejection_mask",
            "hyper": h, "in": b, "out": finite(out)}
