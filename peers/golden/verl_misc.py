"""verl's aggregation alone, its KL estimators, and its value loss."""

import torch

from . import draw, verl_stand_ins  # noqa: F401
from .files import finite
from verl.trainer.ppo import core_algos
from .verl_config import VERSION
from .verl_losses import aggregation

FILE = "verl_misc"
DEFAULTS = {"dp_size": 1}
KINDS = ["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "k1+", "abs+", "k3+", "low_var_kl+"]


def counts(h):
    return {k: h[k] for k in ["dp_size", "batch_num_tokens", "global_batch_size", "loss_scale_factor"] if h.get(k) is not None}


def case(rng, name):
    op = rng.choice(["agg", "kl_loss", "value"])
    rows, columns = draw.shape(rng)
    logp = draw.logps(rng, rows, columns)
    own = {"op": op, **aggregation(rng)}
    b = {"mask": draw.mask(rng, rows, columns)}
    values = lambda: draw.matrix(rng, rows, columns, lambda: draw.number(rng.gauss(0, 1)))
    if op == "agg":
        b["x"] = values()
    elif op == "kl_loss":
        own["kind"], own["reference"] = rng.choice(KINDS), "ref_logp"
        b["logp"], b["ref_logp"] = logp, draw.near(rng, logp)
    else:
        own["cliprange_value"] = rng.choice([0.05, 0.2, 0.5, 5.0])
        b["vpred"], b["values"], b["returns"] = values(), values(), values()
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
    if op == "agg":
        x = t["x"].requires_grad_()
        loss = core_algos.agg_loss(x, t["mask"], own["agg"], **counts(own))
        out = {"dx": torch.autograd.grad(loss, x)[0].tolist()}
    elif op == "kl_loss":
        x = t["logp"].requires_grad_()
        loss = core_algos.agg_loss(core_algos.kl_penalty(x, t["ref_logp"], own["kind"]), t["mask"], own["agg"], **counts(own))
        out = {"dlogp": torch.autograd.grad(loss, x)[0].tolist()}
    else:
        x = t["vpred"].requires_grad_()
        loss, share = core_algos.compute_value_loss(x, t["returns"], t["values"], t["mask"], own["cliprange_value"], own["agg"], **counts(own))
        out = {"dvpred": torch.autograd.grad(loss, x)[0].tolist(), "metrics": {"vf_clipfrac": share.item()}}
    source = {"agg": "agg_loss", "kl_loss": "kl_penalty then agg_loss", "value": "compute_value_loss"}[op]
    return {"name": f"{op}/{name}", "source": f"{VERSION}, core_algos.{source}", "hyper": own, "in": b, "out": finite({"loss": loss.item(), **out})}
