"""GRPOTrainer._compute_loss and GMPOTrainer._compute_loss of TRL, over the product of their
options. The functions themselves run, on a trainer that is a bare object with the attributes
that they read; log-probs and entropies are given in place of a model."""

import math
from collections import defaultdict
from types import SimpleNamespace

import torch
import trl
from trl import GRPOTrainer
from trl.experimental.gmpo import GMPOTrainer

from . import draw
from .files import NotComparable, finite, nullable

FILE = "trl_losses"
DEFAULTS = {
    "loss_type": "dapo", "importance_sampling_level": "token", "epsilon": 0.2, "epsilon_high": 0.2, "delta": None, "beta": 0.0,
    "use_bias_correction_kl": False, "sapo_temperature_pos": 1.0, "sapo_temperature_neg": 1.05, "vespo_k_pos": 2.0,
    "vespo_lambda_pos": 3.0, "vespo_k_neg": 3.0, "vespo_lambda_neg": 2.0, "top_entropy_quantile": 1.0, "entropy_coef": 0.0,
    "off_policy_mask_threshold": None, "is_mode": None, "is_min": None, "is_max": None, "gradient_accumulation_steps": 1,
    "steps_per_generation": 1, "num_items_in_batch": None, "max_completion_length": 16, "mode": "train", "old": "given",
}


class Accelerator:
    """One process."""

    num_processes, process_index, sync_gradients, device = 1, 0, True, "cpu"

    def gather(self, x):
        return x

    gather_for_metrics = gather

    def reduce(self, x, reduction="sum"):
        return x

    def pad_across_processes(self, x, dim=0, pad_index=0):
        return x


def options(rng, per_token):
    pick = rng.choice
    kind = pick(["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"] + ["gmpo"] * (not per_token))
    h = {"loss_type": kind, "importance_sampling_level": "token" if kind == "gmpo" else pick(["token", "token", "sequence"])}
    h["epsilon"] = pick([0.0, 0.1, 0.2, 0.4, 3e-4])
    h["epsilon_high"] = pick([0.5, 1.0, 2.0, 5.0]) if kind == "cispo" else pick([0.0, 0.1, 0.2, 0.28, 0.5, 4e-4, 10.0])
    if rng.random() < 0.3:
        h["delta"] = pick([1.05, 1.2, 2.0, 4.0])
    if rng.random() < 0.5:
        h["beta"] = pick([0.001, 0.04, 0.5])
        h["use_bias_correction_kl"] = rng.random() < 0.5
    if rng.random() < 0.3:
        h["top_entropy_quantile"] = pick([0.2, 0.5, 0.8, 0.05])
    if rng.random() < 0.3:
        h["entropy_coef"] = pick([0.001, 0.02, 0.3])
    if rng.random() < 0.3:
        h["off_policy_mask_threshold"] = pick([-0.05, 0.0, 0.02, 0.1, 1.0])
    if rng.random() < 0.5:
        h["is_mode"] = pick(["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"])
        h["is_min"], h["is_max"] = pick([None, 0.5, 0.9]), pick([1.05, 1.5, 3.0])
    if kind == "sapo":
        h["sapo_temperature_pos"], h["sapo_temperature_neg"] = pick([0.5, 1.0, 2.0]), pick([0.7, 1.05, 3.0])
    if kind == "vespo":
        for key in ["vespo_k_pos", "vespo_k_neg", "vespo_lambda_pos", "vespo_lambda_neg"]:
            h[key] = pick([0.5, 1.0, 2.0, 3.0])
    if rng.random() < 0.4:
        h["gradient_accumulation_steps"] = pick([2, 4])
        h["steps_per_generation"] = h["gradient_accumulation_steps"] * pick([1, 2])
    if rng.random() < 0.3:
        h["num_items_in_batch"] = rng.randint(1, 200)
    if rng.random() < 0.3:
        h["max_completion_length"] = pick([1, 7, 512])
    if rng.random() < 0.15:
        h["mode"] = "eval"
    if h.get("is_mode") is None and rng.random() < 0.15:
        h["old"] = "detached policy"
    return h


def batch(rng, per_token):
    rows, columns = draw.shape(rng)
    logp = draw.logps(rng, rows, columns)
    old = draw.near(rng, logp)
    sampler = draw.near(rng, old, draw.weighted(rng, {0.0: 1, 0.02: 3, 0.3: 3, 3.0: 1}))
    if rng.random() < 0.1:
        sampler[rng.randrange(rows)][rng.randrange(columns)] = math.nan
    return {
        "mask": draw.mask(rng, rows, columns), "logp": logp, "old_logp": old, "sampler_logp": sampler, "ref_logp": draw.near(rng, logp),
        "advantages": draw.advantages(rng, rows, columns, per_token),
        "entropy": draw.matrix(rng, rows, columns, lambda: rng.randint(0, 8192) / 4096),
    }


def sampler_ratio(h, old, sampler, mask):
    """The correction of _generate_and_score_completions, a part of it that cannot be called."""
    gap = torch.nan_to_num((old - sampler) * mask, nan=0.0)
    if h["is_mode"].startswith("sequence"):
        gap = gap.sum(-1, keepdim=True)
    ratio = torch.exp(gap)
    if h["is_mode"].endswith("truncate"):
        return torch.clamp(ratio, min=h["is_min"], max=h["is_max"])
    low = -math.inf if h["is_min"] is None else h["is_min"]
    return ratio.masked_fill((ratio < low) | (ratio > h["is_max"]), 0.0)


def trainer(h, kind, log_probs, entropy):
    self = object.__new__(kind)
    self.accelerator = Accelerator()
    self.model = SimpleNamespace(training=h["mode"] == "train")
    self.args = SimpleNamespace(**{k: h[k] for k in ["delta", "use_bias_correction_kl", "sapo_temperature_pos", "sapo_temperature_neg",
                                                     "vespo_k_pos", "vespo_k_neg", "vespo_lambda_pos", "vespo_lambda_neg", "steps_per_generation"]})
    self.aux_loss_enabled = self.use_adaptive_entropy = False
    self.entropy_coef, self._entropy_bonus_enabled = h["entropy_coef"], h["entropy_coef"] != 0
    self.epsilon_low, self.epsilon_high, self.beta, self.loss_type = h["epsilon"], h["epsilon_high"], h["beta"], h["loss_type"]
    self.importance_sampling_level, self.top_entropy_quantile = h["importance_sampling_level"], h["top_entropy_quantile"]
    self.off_policy_mask_threshold, self.max_completion_length = h["off_policy_mask_threshold"], h["max_completion_length"]
    self.use_vllm = self.vllm_importance_sampling_correction = h["is_mode"] is not None
    self.current_gradient_accumulation_steps = h["gradient_accumulation_steps"]
    self._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}
    self._get_per_token_logps_and_entropies = lambda *a, **k: (log_probs, entropy, None)
    return self


def clear_of_threshold(h, b):
    """TRL finds the quantile in float32: no entropy may lie so near it that rounding decides."""
    if h["top_entropy_quantile"] == 1.0:
        return True
    values = torch.tensor([e for row, m in zip(b["entropy"], b["mask"]) for e, own in zip(row, m) if own], dtype=torch.float64)
    bound = torch.quantile(values, 1 - h["top_entropy_quantile"])
    return bool(((values - bound).abs() > 1e-4).all())


def evaluate(h, b):
    """What TRL makes of options, with the defaults, and a batch: loss, gradients, metrics."""
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
    t["logp"].requires_grad_(), t["entropy"].requires_grad_()
    kind = GMPOTrainer if h["loss_type"] == "gmpo" else GRPOTrainer
    self = trainer(h, kind, t["logp"], t["entropy"])
    items = t["mask"].sum() if h["num_items_in_batch"] is None else torch.tensor(float(h["num_items_in_batch"]), dtype=torch.float64)
    empty = torch.zeros(t["mask"].shape[0], 0)
    inputs = {"prompt_ids": empty, "prompt_mask": empty, "completion_ids": t["mask"], "completion_mask": t["mask"],
              "advantages": t["advantages"], "num_items_in_batch": items, "ref_per_token_logps": t["ref_logp"]}
    if h["old"] == "given":
        inputs["old_per_token_logps"] = t["old_logp"]
    out = {}
    if h["is_mode"] is not None and h["loss_type"] != "gmpo":
        inputs["sampling_per_token_logps"] = t["sampler_logp"]
        ratio = inputs["importance_sampling_ratio"] = sampler_ratio(h, t["old_logp"], t["sampler_logp"], t["mask"])
        out["importance_sampling_ratio"] = ratio.tolist()
    loss = kind._compute_loss(self, None, inputs)
    if h["beta"] and h["use_bias_correction_kl"] and abs(loss.item()) > 100:
        raise NotComparable("a KL term whose rounding is larger than the tolerance")
    dlogp, dentropy = torch.autograd.grad(loss, [t["logp"], t["entropy"]], allow_unused=True)
    zeros = torch.zeros_like(t["logp"])
    out["loss"], out["dlogp"] = loss.item(), (zeros if dlogp is None else dlogp).tolist()
    if h["entropy_coef"] != 0 and h["loss_type"] != "gmpo":
        out["dentropy"] = (zeros if dentropy is None else dentropy).tolist()
    # TRL 1.16.0 counts rows without tokens in its metrics where completions have one column, as it
    # takes that for one value a row (grpo_trainer.py:3260).
    if t["mask"].shape[1] > 1:
        out["metrics"] = {k: v[0] for k, v in self._metrics[h["mode"]].items() if "min" not in k and "max" not in k}
    return finite(out)


def case(rng, name):
    per_token = rng.random() < 0.25
    own, b = options(rng, per_token), batch(rng, per_token)
    h = {**DEFAULTS, **own}
    if not clear_of_threshold(h, b):
        raise NotComparable("an entropy at the quantile, where float32 decides")
    if h["off_policy_mask_threshold"] is not None and h["is_mode"] is not None and any(map(math.isnan, sum(b["sampler_logp"], []))):
        raise NotComparable("TRL takes a log-prob that its sampler lacks for the policy's own in the off-policy mask (grpo_trainer.py:2961), and rlzero's sampler has all")
    return {"name": f"{h['loss_type']}/{name}", "source": f"trl {trl.__version__}, {'GMPO' if h['loss_type'] == 'gmpo' else 'GRPO'}Trainer._compute_loss",
            "hyper": own, "in": {k: nullable(v) for k, v in b.items()}, "out": evaluate(h, b)}
