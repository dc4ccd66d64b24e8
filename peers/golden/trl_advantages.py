"""The advantages of TRL's GRPOTrainer and RLOOTrainer: _generate_and_score_completions itself,
with what generates, scores and asks the reference put in its place."""

import math
from collections import defaultdict
from types import SimpleNamespace

import torch
import trl
from trl import GRPOTrainer, RLOOTrainer

from . import draw
from .files import finite, nullable
from .preference import idle
from .trl_losses import Accelerator

FILE = "trl_advantages"


def options(rng):
    pick = rng.choice
    h = {"estimator": pick(["grpo", "grpo", "gdpo", "rloo", "rloo"]), "group_size": pick([2, 2, 3, 4, 8])}
    functions = pick([1, 2, 3])
    h["reward_weights"] = [1.0] if functions == 1 else [pick([1.0, 0.5, -0.3, 2.0]) for _ in range(functions)]
    if h["estimator"] == "rloo":
        h["normalize_advantages"] = pick([True, False])
        h["reward_clip_range"] = pick([None, None, [-0.5, 0.5], [0.0, 1.0]])
        h["beta"] = pick([0.0, 0.05, 1.0])
    else:
        h["std_eps"] = 1e-4  # TRL's own
        h["multi_objective_aggregation"] = "normalize_then_sum" if h["estimator"] == "gdpo" else "sum_then_normalize"
        if h["estimator"] == "grpo":
            h["scale_rewards"] = pick(["group", "batch", "none"])
    return h


def batch(rng, h):
    rows = h["group_size"] * rng.randint(1, 4)
    columns = [draw.rewards(rng, rows) for _ in h["reward_weights"]]
    unknown = rng.choice([0.0, 0.0, 0.2, 0.7])
    b = {"rewards": [[math.nan if rng.random() < unknown else x for x in row] for row in zip(*columns)]}
    if h["estimator"] == "rloo" and h["beta"]:
        b["mask"] = draw.mask(rng, rows, 4, "ragged")
        b["old_logp"] = draw.logps(rng, rows, 4)
        b["ref_logp"] = draw.near(rng, b["old_logp"])
    return b


def evaluate(h, b):
    rows, size = len(b["rewards"]), h["group_size"]
    mask = torch.tensor(b.get("mask") or [[1]] * rows, dtype=torch.long)
    lengths = mask.sum(1).tolist()
    ids = [list(range(1, n + 1)) for n in lengths]
    kind = RLOOTrainer if h["estimator"] == "rloo" else GRPOTrainer
    self = object.__new__(kind)
    widest = max(lengths)

    def score(model, *_, **__):
        name = "ref_logp" if model == "reference" else "old_logp"
        return torch.tensor(b.get(name) or [[0.0]] * rows, dtype=torch.float64)[:, :widest], None, None

    values = dict(
        accelerator=Accelerator(), model=idle(), ref_model="reference", environment_factories=None, environments=None, tools=None,
        _is_vlm=False, _tokenizer=SimpleNamespace(pad_token_id=0), pad_token_id=0, eos_token_id=1, eos_token_ids=[1], pad_to_multiple_of=None,
        mask_truncated_completions=False, use_vllm=False, vllm_importance_sampling_correction=False, num_iterations=1, beta=h.get("beta", 0.0),
        num_generations=size, num_generations_eval=size, reward_funcs=[None] * len(h["reward_weights"]),
        reward_func_names=[str(i) for i in range(len(h["reward_weights"]))], reward_weights=torch.tensor(h["reward_weights"], dtype=torch.float64),
        multi_objective_aggregation=h.get("multi_objective_aggregation"), scale_rewards=h.get("scale_rewards", "group"),
        reward_clip_range=h.get("reward_clip_range"), normalize_advantages=h.get("normalize_advantages"), log_multimodal=False,
        args=SimpleNamespace(per_device_train_batch_size=rows, per_device_eval_batch_size=rows, gradient_checkpointing_kwargs=None, steps_per_generation=1,
                             gradient_accumulation_steps=1),
        _metrics={"train": defaultdict(list)}, _logs=defaultdict(list, rewards=defaultdict(list), extra=defaultdict(list)), _pending_extra_logs={}, _pending_metrics={},
        _get_per_token_logps_and_entropies=score,
        _calculate_rewards=lambda *a: torch.tensor(b["rewards"], dtype=torch.float64),
    )
    prompts, texts = [[1]] * rows, [""] * rows
    values["_generate"] = lambda _: (prompts, ids, None, texts, None, {}, None, None) if kind is GRPOTrainer else (prompts, ids, texts)
    for name, value in values.items():
        setattr(self, name, value)
    out = self._generate_and_score_completions([{"prompt": ""}] * rows)
    return finite({"advantages": out["advantages"].tolist()})


def case(rng, name):
    h = options(rng)
    b = batch(rng, h)
    out = evaluate(h, b)
    trainer = "RLOO" if h["estimator"] == "rloo" else "GRPO"
    return {"name": f"{h['estimator']}/{name}", "source": f"trl {trl.__version__}, {trainer}Trainer._generate_and_score_completions",
            "hyper": h, "in": {k: nullable(v) for k, v in b.items()}, "out": out}
