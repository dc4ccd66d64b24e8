"""The losses of pairs and of good and bad examples in TRL: DPOTrainer, KTOTrainer, CPOTrainer,
ORPOTrainer. The functions themselves run, on log-probs in place of a model."""

from collections import defaultdict
from types import SimpleNamespace

import torch
import trl
from trl import DPOTrainer, KTOTrainer
from trl.experimental.cpo import CPOTrainer
from trl.experimental.orpo import ORPOTrainer

from . import draw
from .files import NotComparable, finite
from .trl_losses import Accelerator

FILE = "preference"
KINDS = ["sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm"]
SMOOTHED = ["sigmoid", "robust", "exo_pair"]
DIVERGING = ["sigmoid", "hinge", "ipo", "exo_pair", "robust", "discopop", "sigmoid_norm"]


def side(rng, rows, columns):
    logp = draw.logps(rng, rows, columns)
    mask = draw.mask(rng, rows, columns, draw.weighted(rng, {"ragged": 3, "holes": 2}))
    for row in mask:  # in rlzero a completion without tokens is in no pair; in TRL's ipo it counts as one of one token (dpo_trainer.py:1400)
        row[0] = row[0] or int(not any(row))
    return {"logp": logp, "ref_logp": draw.near(rng, logp, rng.choice([0.0, 0.05, 0.3, 2.0])), "mask": mask,
            "log_sum_sq_probs": draw.matrix(rng, rows, columns, lambda: draw.number(-rng.uniform(0.05, 3)))}


def tensors(b):
    return {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}


def shifted(mask):
    """TRL's masks have a column for the first token, which nothing predicts."""
    return torch.cat([torch.zeros(mask.shape[0], 1, dtype=torch.long), mask.long()], dim=1)


class Model:
    """Gives log-probs of the tokens of a mask, as TRL's fused head does: 0 elsewhere."""

    def __init__(self, logp, mask, squares=None):
        self.logp, self.mask, self.squares = logp, mask, squares

    def __call__(self, **_):
        return SimpleNamespace(log_probs=self.logp * self.mask, log_sum_sq_probs=self.squares, entropy=torch.zeros_like(self.logp),
                               mean_logits=torch.zeros_like(self.logp), is_top1=torch.zeros_like(self.logp, dtype=torch.bool))


def idle():
    """A model that is asked whether it trains and nothing else."""
    model = torch.nn.Module()
    model.is_gradient_checkpointing = False
    return model


def bare(kind, **attributes):
    self = object.__new__(kind)
    for name, value in dict(accelerator=Accelerator(), aux_loss_enabled=False, precompute_ref_logps=False, _total_train_tokens=0, _tp_size=1,
                            model=idle(),
                            _metrics={"train": defaultdict(list)}, **attributes).items():
        setattr(self, name, value)
    return self


def dpo_options(rng):
    pick = rng.choice
    h = {"loss_types": [pick(KINDS)], "beta": pick([0.01, 0.1, 0.5, 2.0])}
    if rng.random() < 0.2:
        h["loss_types"] = pick([["sigmoid", "sft"], ["sigmoid", "bco_pair"], ["sigmoid", "bco_pair", "sft"], ["bco_pair", "sft"]])
        h["loss_weights"] = pick([None, [0.8, 0.2, 1.0][: len(h["loss_types"])]])
    kind = h["loss_types"][0]
    alone = len(h["loss_types"]) == 1
    if alone and kind in SMOOTHED:
        h["label_smoothing"] = pick([0.05, 0.1, 0.3]) if kind != "sigmoid" else 0.0
    if alone and kind == "discopop":
        h["discopop_tau"] = pick([0.05, 0.5, 2.0])
    if alone and kind in DIVERGING and rng.random() < 0.4:
        h["f_divergence"] = pick(["forward_kl", "js_divergence", "alpha_divergence"])
    if h.get("f_divergence") == "alpha_divergence":
        raise NotComparable(f"TRL {trl.__version__} has no alpha divergence in float64 (dpo_trainer.py:1375)")
    if alone and kind == "sigmoid" and rng.random() < 0.2:
        h["use_weighting"] = True
    if kind != "sft" and rng.random() < 0.3:
        h["ld_alpha"] = pick([0.0, 0.3, 0.8, 1.0])
    return h


def dpo(rng, h):
    rows, columns = rng.randint(1, 5), rng.choice([1, 3, 5, 7])
    b = {"chosen": side(rng, rows, columns), "rejected": side(rng, rows, columns)}
    t = {k: torch.cat([torch.tensor(b[s][k], dtype=torch.float64) for s in ("chosen", "rejected")]) for k in b["chosen"]}
    logp, mask = t["logp"].requires_grad_(), t["mask"]
    weights = h.get("loss_weights") or [1.0] * len(h["loss_types"])
    self = bare(DPOTrainer, beta=h["beta"], loss_types=h["loss_types"], loss_weights=weights, label_smoothing=h.get("label_smoothing", 0.0),
                f_divergence_type=h.get("f_divergence", "reverse_kl"), f_alpha_divergence_coef=0.5, ld_alpha=h.get("ld_alpha"),
                use_weighting=h.get("use_weighting", False), args=SimpleNamespace(discopop_tau=h.get("discopop_tau", 0.05), gradient_checkpointing_kwargs=None),
                ref_model=Model(t["ref_logp"], mask))
    inputs = {"input_ids": shifted(mask), "attention_mask": shifted(mask), "completion_mask": shifted(mask)}
    loss = self._compute_loss(Model(logp, mask, t["log_sum_sq_probs"]), inputs, False)
    grad, = torch.autograd.grad(loss, [logp])
    metrics = {k: v[0] for k, v in self._metrics["train"].items() if k.startswith(("rewards/", "logps/"))}
    return b, {"loss": loss.item(), "dlogp_chosen": grad[:rows].tolist(), "dlogp_rejected": grad[rows:].tolist(), "metrics": metrics}


def kto_options(rng):
    return {"loss_type": rng.choice(["kto", "apo_zero_unpaired"]), "beta": rng.choice([0.01, 0.1, 1.0]),
            "desirable_weight": rng.choice([1.0, 0.5, 1.33]), "undesirable_weight": rng.choice([1.0, 2.0])}


def kto(rng, h):
    rows, columns = rng.randint(1, 6), rng.choice([1, 3, 5])
    b = side(rng, rows, columns)
    del b["log_sum_sq_probs"]
    b["label"] = [int(rng.random() < 0.6) for _ in range(rows)]
    b["kl_logp_sum"] = [draw.number(-rng.uniform(0, 9)) for _ in range(rows)]
    b["kl_ref_logp_sum"] = [draw.number(x + rng.gauss(0, 1)) for x in b["kl_logp_sum"]]
    t = tensors(b)
    logp, mask = t["logp"].requires_grad_(), t["mask"]
    model, reference = Model(logp, mask), Model(t["ref_logp"], mask)
    self = bare(KTOTrainer, beta=h["beta"], loss_type=h["loss_type"], desirable_weight=h["desirable_weight"], undesirable_weight=h["undesirable_weight"],
                calculate_KL=h["loss_type"] == "kto", ref_model=reference, args=SimpleNamespace(gradient_checkpointing_kwargs=None))
    self._compute_kl_logps = lambda of, batch: t["kl_ref_logp_sum"] if of is reference else t["kl_logp_sum"]
    inputs = {"input_ids": shifted(mask), "attention_mask": shifted(mask), "completion_mask": shifted(mask), "label": torch.tensor(b["label"])}
    loss = self._compute_loss(model, inputs, False)
    grad, = torch.autograd.grad(loss, [logp])
    metrics = {k: v[0] for k, v in self._metrics["train"].items() if k == "kl" or k.startswith(("rewards/", "logps/"))}
    return b, {"loss": loss.item(), "dlogp": grad.tolist(), "metrics": metrics}


def cpo_options(rng):
    pick = rng.choice
    h = {"loss_type": pick(["simpo", "sigmoid", "hinge", "ipo"]), "beta": pick([0.1, 0.5, 2.0]), "cpo_alpha": pick([0.0, 0.3, 1.0]),
         "label_smoothing": pick([0.0, 0.1]), "simpo_gamma": pick([0.3, 1.0]), "alphapo_alpha": 0.0}
    h["sequence_logp"] = "mean" if h["loss_type"] in ("simpo", "ipo") else "sum"
    if rng.random() < 0.3:
        h["alphapo_alpha"] = pick([0.1, -0.2])
    return h


def sequence_logp(h, t):
    total = (t["logp"] * t["mask"]).sum(-1)
    return total / t["mask"].sum(-1) if h["sequence_logp"] == "mean" else total


def cpo(rng, h):
    """cpo_loss, and what compute_loss adds to it: the likelihood of the chosen tokens."""
    rows, columns = rng.randint(1, 5), rng.choice([1, 3, 5])
    b = {"chosen": side(rng, rows, columns), "rejected": side(rng, rows, columns)}
    good, bad = tensors(b["chosen"]), tensors(b["rejected"])
    good["logp"].requires_grad_(), bad["logp"].requires_grad_()
    self = bare(CPOTrainer, alpha=h["alphapo_alpha"], beta=h["beta"], loss_type=h["loss_type"], simpo_gamma=h["simpo_gamma"], label_smoothing=h["label_smoothing"])
    losses, chosen, rejected = self.cpo_loss(sequence_logp(h, good), sequence_logp(h, bad))
    nll = -(good["logp"] * good["mask"]).sum() / good["mask"].sum()
    loss = losses.mean() + h["cpo_alpha"] * nll
    grads = torch.autograd.grad(loss, [good["logp"], bad["logp"]])
    return b, {"loss": loss.item(), "dlogp_chosen": grads[0].tolist(), "dlogp_rejected": grads[1].tolist(),
               "metrics": {"rewards/chosen": chosen.mean().item(), "rewards/rejected": rejected.mean().item()}}


def orpo_options(rng):
    return {"loss_type": "orpo", "beta": rng.choice([0.05, 0.1, 1.0]), "sequence_logp": "mean"}


def orpo(rng, h):
    """odds_ratio_loss, which computes in float32, and the likelihood of the chosen tokens."""
    rows, columns = rng.randint(1, 5), rng.choice([1, 3, 5])
    b = {"chosen": side(rng, rows, columns), "rejected": side(rng, rows, columns)}
    good, bad = tensors(b["chosen"]), tensors(b["rejected"])
    good["logp"].requires_grad_(), bad["logp"].requires_grad_()
    losses = bare(ORPOTrainer, beta=h["beta"]).odds_ratio_loss(sequence_logp(h, good), sequence_logp(h, bad))[0]
    loss = -(good["logp"] * good["mask"]).sum() / good["mask"].sum() - losses.mean()
    grads = torch.autograd.grad(loss, [good["logp"], bad["logp"]])
    return b, {"loss": loss.item(), "dlogp_chosen": grads[0].tolist(), "dlogp_rejected": grads[1].tolist()}


FAMILIES = {"dpo": (dpo_options, dpo, "DPOTrainer._compute_loss"), "kto": (kto_options, kto, "KTOTrainer._compute_loss"),
            "cpo": (cpo_options, cpo, "experimental CPOTrainer.cpo_loss (mean over pairs + cpo_alpha * NLL of the chosen tokens)"),
            "orpo": (orpo_options, orpo, "experimental ORPOTrainer.odds_ratio_loss")}


def case(rng, name):
    family = draw.weighted(rng, {"dpo": 6, "kto": 3, "cpo": 3, "orpo": 1})
    options, evaluate, source = FAMILIES[family]
    h = options(rng)
    b, out = evaluate(rng, h)
    c = {"name": f"{family}/{name}", "source": f"trl {trl.__version__}, {source}", "hyper": h, "in": b, "out": finite(out)}
    if family == "orpo":
        c["note"] = "float32 inside: rel 1e-5, abs 1e-6"
    return c
