"""The policy losses of verl over its aggregation modes, its bypass mode with rollout correction
and rejection, and what stands beside them: aggregation alone, KL estimators, the value loss."""

import torch

from . import draw, verl_stand_ins  # noqa: F401
from .files import NotComparable, finite
from verl.trainer.ppo import core_algos
from .verl_config import VERSION, actor, refused

FILE = "verl_policy_losses"
DEFAULTS = {"clip_ratio_low": 0.2, "clip_ratio_high": 0.2, "clip_ratio_c": 3.0, "tau_pos": 1.0, "tau_neg": 1.05, "agg": "token-mean", "dp_size": 1}
AGGREGATIONS = ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
MODES = ["vanilla", "dppo_tv", "dppo_kl", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "dro", "cispo", "bypass_mode"]
REJECTIONS = ["token_k1", "token_k2", "token_k3", "seq_sum_k1", "seq_sum_k2", "seq_sum_k3", "seq_mean_k1", "seq_mean_k2", "seq_mean_k3", "seq_max_k2", "seq_max_k3"]


def aggregation(rng):
    """A mode with the counts of all processes, where they are given."""
    h = {"agg": rng.choice(AGGREGATIONS)}
    if rng.random() < 0.3:
        h["batch_num_tokens"], h["global_batch_size"] = rng.randint(1, 100), rng.randint(1, 30)
        h["dp_size"] = rng.choice([1, 2, 4])
    if rng.random() < 0.3:
        h["loss_scale_factor"] = rng.choice([1, 9, 512])
    return h


def correction(rng):
    """rollout_correction of the bypass mode."""
    c = {"loss_type": rng.choice(["ppo_clip", "reinforce"])}
    if rng.random() < 0.7:
        c["rollout_is"] = rng.choice(["token", "sequence"])
        c["rollout_is_threshold"] = rng.choice([1.05, 1.5, 2.0, "0.5_2.0", "0.9_1.1"])
        c["rollout_is_batch_normalize"] = rng.random() < 0.4
    if rng.random() < 0.7:
        names = rng.sample(REJECTIONS, rng.choice([1, 1, 1, 2, 3]))
        bounds = [rng.choice(["0.5_2.0", "0.9_1.1", "1.3"]) if n.endswith("k1") else str(rng.choice([0.01, 0.1, 0.5, 2.0])) for n in names]
        c["rollout_rs"], c["rollout_rs_threshold"] = ",".join(names), ",".join(bounds)
    return c


def options(rng):
    pick = rng.choice
    h = {"loss_mode": pick(MODES), **aggregation(rng)}
    c = h["rollout_correction"] = correction(rng) if h["loss_mode"] == "bypass_mode" else None
    reinforce = c is not None and c["loss_type"] == "reinforce"
    if h["loss_mode"] not in ("sapo", "gpg", "dro", "kl_cov") and not reinforce:
        h["clip_ratio_low"], h["clip_ratio_high"] = pick([0.0, 0.02, 0.1, 0.2, 0.4]), pick([0.0, 0.02, 0.1, 0.2, 0.28, 0.5])
    if not reinforce and rng.random() < 0.4:
        h["clip_ratio_c"] = pick([1.05, 1.5, 5.0, 20.0])
    if h["loss_mode"] == "sapo":
        h["tau_pos"], h["tau_neg"] = pick([0.5, 1.0, 2.0]), pick([0.7, 1.05, 3.0])
    if h["loss_mode"] == "dro":
        h["dro_beta"] = pick([0.01, 0.5, 2.0])
    if h["loss_mode"] == "kl_cov":
        h["kl_cov_ratio"], h["ppo_kl_coef"] = pick([0.01, 0.2, 0.5]), pick([0.1, 1.0])
    if h["loss_mode"] == "clip_cov":
        h["clip_cov_ratio"], h["clip_cov_lb"], h["clip_cov_ub"] = pick([0.01, 0.1, 0.5]), pick([0.01, 0.1, 1.0]), pick([2.0, 5.0])
    if c is None and rng.random() < 0.3:
        h["is_weights"] = True
    return {k: v for k, v in h.items() if v is not None}


def batch(rng, h):
    rows, columns = draw.shape(rng)
    logp = draw.logps(rng, rows, columns)
    per_token = h["loss_mode"] != "geo_mean" and rng.random() < 0.25
    b = {"mask": draw.mask(rng, rows, columns), "logp": logp, "old_logp": draw.near(rng, logp),
         "advantages": draw.advantages(rng, rows, columns, per_token)}
    if h.get("is_weights"):
        b["is_weights"] = draw.matrix(rng, rows, columns, lambda: draw.number(rng.uniform(0.0, 2.5)))
    return b


def tied(h, t, a):
    """Whether equal covariances lie on the border of those that kl_cov takes: verl takes some of them."""
    own = t["mask"] > 0
    cov = (a[own] - a[own].mean()) * (t["logp"].detach()[own] - t["logp"].detach()[own].mean())
    count = max(1, int(len(cov) * h["kl_cov_ratio"]))
    rounding = 2**-48 * a[own].abs().max() * t["logp"].detach()[own].abs().max()  # of equal advantages, too
    return int((cov >= torch.topk(cov, count).values[-1] - rounding).sum()) != count


def evaluate(h, b):
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
    logp = t["logp"].requires_grad_()
    a = t["advantages"] if t["advantages"].dim() == 2 else t["advantages"].unsqueeze(1).expand_as(logp)
    if h["loss_mode"] == "kl_cov" and tied(h, t, a):
        raise NotComparable(f"{VERSION} takes some of equal covariances (core_algos.py:1907), and rlzero all of them")
    drawn = []
    permute, torch.randperm = torch.randperm, lambda n: drawn.append(permute(n)) or drawn[-1]
    try:
        with refused():
            loss, metrics = core_algos.POLICY_LOSS_REGISTRY[h["loss_mode"]](
                t["old_logp"], logp, a.contiguous(), t["mask"], h["agg"], actor(h), t["is_weights"] if h.get("is_weights") else None)
    finally:
        torch.randperm = permute
    if metrics.get("rollout_corr/rollout_rs_masked_fraction", 0) > 1 - 1e-6:
        raise NotComparable("everything is rejected, and rlzero says that nothing is left to learn from")
    grad, = torch.autograd.grad(loss, [logp], allow_unused=True)
    out = {"loss": loss.item(), "dlogp": (torch.zeros_like(logp) if grad is None else grad).tolist(),
           "metrics": {k: float(v) for k, v in metrics.items() if k.startswith("actor/")}}
    if drawn:
        out["permutation"] = drawn[0].tolist()
    return finite(out)


def case(rng, name):
    own = options(rng)
    b = batch(rng, own)
    h = {**DEFAULTS, **own}
    return {"name": f"{h['loss_mode']}/{name}", "source": f"{VERSION}, core_algos POLICY_LOSS_REGISTRY['{h['loss_mode']}']",
            "hyper": own, "in": b, "out": evaluate(h, b)}
