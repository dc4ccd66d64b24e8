"""RLOOTrainer._compute_loss of TRL."""

import torch
import trl
from trl import RLOOTrainer

from . import draw, trl_losses
from .files import finite, nullable

FILE = "trl_sequence_losses"


def case(rng, name):
    h = {"loss_type": "rloo", "epsilon": rng.choice([0.0, 0.1, 0.2, 0.5]), "epsilon_high": rng.choice([0.0, 0.1, 0.28, 1.0])}
    b = trl_losses.batch(rng, per_token=False)
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
    logp = t["logp"].requires_grad_()
    self = trl_losses.trainer({**trl_losses.DEFAULTS, **h}, RLOOTrainer, logp, t["entropy"])
    empty = torch.zeros(logp.shape[0], 0)
    inputs = {"prompt_ids": empty, "prompt_mask": empty, "completion_ids": t["mask"], "completion_mask": t["mask"],
              "advantages": t["advantages"], "old_logps": (t["old_logp"] * t["mask"]).sum(1)}
    loss = RLOOTrainer._compute_loss(self, None, inputs)
    grad, = torch.autograd.grad(loss, [logp])
    out = {"loss": loss.item(), "dlogp": grad.tolist(), "metrics": {k: v[0] for k, v in self._metrics["train"].items() if "mean" in k or k == "entropy"}}
    return {"name": f"rloo/{name}", "source": f"trl {trl.__version__}, RLOOTrainer._compute_loss", "hyper": h,
            "in": {k: nullable(v) for k, v in b.items()}, "out": finite(out)}
