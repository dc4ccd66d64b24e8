"""The advantage estimators of verl, and the reward with KL in it."""

import statistics

import numpy as np
import torch

from . import draw, verl_stand_ins  # noqa: F401
from .files import NotComparable, finite
from verl.trainer.ppo import core_algos
from .verl_config import VERSION, Options

FILE = "verl_advantages"
TOLERANCE = {"rel": 1e-9, "abs": 1e-11, "metrics_rel": 1e-6}
FLOAT32 = "computed in float32 inside: rel 1e-5"
ESTIMATORS = ["grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "opo", "gpg", "reinforce_plus_plus_baseline",
              "reinforce_plus_plus", "remax", "gae", "optimal_token_baseline", "tir_optimal_token_baseline", "gdpo"]


def options(rng):
    h = {"estimator": rng.choice(ESTIMATORS)}
    if h["estimator"] in ("grpo", "grpo_vectorized", "grpo_passk", "gdpo"):
        h["norm_by_std"] = rng.random() < 0.6
        h["epsilon"] = rng.choice([1e-6, 1e-4, 0.1]) if h["estimator"] == "grpo" else 1e-6
    if h["estimator"] == "gdpo":
        h["weights"] = rng.choice([None, [1.0, 1.0], [0.7, -0.2]])
    if h["estimator"] in ("reinforce_plus_plus", "gae"):
        h["gamma"] = rng.choice([1.0, 0.9, 0.5, 0.0])
    if h["estimator"] == "gae":
        h["lambda"] = rng.choice([1.0, 0.95, 0.3, 0.0])
    if h["estimator"] == "reinforce_plus_plus" and rng.random() < 0.4:
        h["kl_coef"], h["kl"] = rng.choice([0.01, 0.3]), "k1"
    if h["estimator"].endswith("optimal_token_baseline"):
        h["handle_zero_tail"], h["rollout_is_weights"] = rng.random() < 0.5, rng.choice([None, True])
    return h


def batch(rng, h):
    rows, columns = draw.shape(rng)
    mask = draw.mask(rng, rows, columns)
    scores = draw.rewards(rng, rows)
    if h["estimator"] in ("grpo_vectorized", "gdpo"):  # float32 inside
        scores = [draw.number(rng.gauss(0, 1)) for _ in range(rows)]
    pay = [[0.0] * columns for _ in range(rows)]
    spread = not h.get("kl_coef") and h["estimator"] in ("reinforce_plus_plus", "gae", "remax") and rng.random() < 0.5
    for row, own, score in zip(pay, mask, scores):
        last = max([j for j, m in enumerate(own) if m], default=0)
        row[last] = score
        if spread:  # every token is paid
            row[:] = [draw.number(rng.gauss(0, 1)) if m else 0.0 for m in own]
    logp = draw.logps(rng, rows, columns)
    b = {"groups": draw.groups(rng, rows), "mask": mask, "rewards": pay, "old_logp": logp,
         "values": draw.matrix(rng, rows, columns, lambda: draw.number(rng.gauss(0, 1))),
         "sum_pi_squared": draw.matrix(rng, rows, columns, lambda: draw.number(rng.uniform(0.05, 1))),
         "is_weights": draw.matrix(rng, rows, columns, lambda: draw.number(rng.uniform(0.1, 2))),
         "greedy_rewards": [draw.number(rng.gauss(0, 1)) for _ in range(rows)]}
    if h.get("kl_coef"):
        b["ref_logp"] = draw.near(rng, logp)
    if h["estimator"] == "gdpo":
        b["rewards_per_key"] = [[draw.number(rng.gauss(0, 1)) for _ in range(rows)] for _ in range(2)]
    return b


def too_near(h, b):
    """Whether the deviation of a group is so small beside its rewards that float32 gives it no 1e-5."""
    columns = b.get("rewards_per_key") or [[sum(row) for row in b["rewards"]]]
    for rewards in columns if h.get("norm_by_std") else []:
        for prompt in set(b["groups"]):
            own = [x for x, g in zip(rewards, b["groups"]) if g == prompt]
            if len(own) > 1 and 2**-24 * max(map(abs, own)) > 0.5e-5 * statistics.stdev(own):
                return True
    if h["estimator"] == "gdpo":  # the keys of a row may cancel
        sums = [sum(w * standard(rewards, b["groups"], h["norm_by_std"])[i] for w, rewards in zip(h["weights"] or [1.0, 1.0], columns)) for i in range(len(b["groups"]))]
        return len(sums) > 1 and 2**-24 * 4 > 0.5e-5 * statistics.stdev(sums)
    return False


def standard(rewards, groups, by_std):
    """Rewards beside the others of their group."""
    out = []
    for x, prompt in zip(rewards, groups):
        own = [y for y, g in zip(rewards, groups) if g == prompt]
        out.append(x if len(own) == 1 else (x - statistics.mean(own)) / (statistics.stdev(own) + 1e-6 if by_std else 1))
    return out


def evaluate(h, b):
    if h["estimator"] in ("grpo_vectorized", "gdpo") and too_near(h, b):  # core_algos.py, line 430
        raise NotComparable(f"{VERSION} computes in float32 here, in which rewards of a group are too near")
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
    kind, out = h["estimator"], {}
    args = {"token_level_rewards": t["rewards"], "response_mask": t["mask"]}
    config = Options(gamma=h.get("gamma"), lam=h.get("lambda"), norm_adv_by_std_in_grpo=h.get("norm_by_std"))
    if h.get("kl_coef"):
        args["token_level_rewards"] = core_algos.compute_rewards(t["rewards"], t["old_logp"], t["ref_logp"], h["kl_coef"])
        out["token_rewards"] = args["token_level_rewards"].tolist()
    if kind == "gae":
        args.update(values=t["values"], gamma=h["gamma"], lam=h["lambda"])
    else:
        args.update(index=np.array(b["groups"]), config=config)
    if kind in ("grpo", "grpo_vectorized", "gdpo"):
        args.update(epsilon=h["epsilon"], norm_adv_by_std_in_grpo=h["norm_by_std"])
    if kind == "grpo_passk":
        args["epsilon"] = h["epsilon"]
    if kind == "remax":
        args["reward_baselines"] = t["greedy_rewards"]
    if kind.endswith("optimal_token_baseline"):
        args.update(old_log_probs=t["old_logp"], sum_pi_squared=t["sum_pi_squared"], handle_zero_tail=h["handle_zero_tail"],
                    rollout_is_weights=t["is_weights"] if h["rollout_is_weights"] else None)
    if kind == "gdpo":
        rows, columns = t["mask"].shape
        args["config"] = Options(gdpo_reward_keys=["first", "second"], gdpo_reward_weights=h["weights"])
        args["non_tensor_batch"] = dict(zip(["first", "second"], b["rewards_per_key"]))
        # verl puts a reward on the last token, which it counts from what is attended to.
        args["batch"] = {"prompts": torch.zeros(rows, 1), "attention_mask": torch.ones(rows, columns + 1, dtype=torch.long)}
    if kind == "tir_optimal_token_baseline" and not all(map(any, b["mask"])):
        raise NotComparable(f"{VERSION} leaves rows without tokens out of a group in tir_optimal_token_baseline alone (core_algos.py:1074)")
    try:
        advantages, _ = core_algos.ADV_ESTIMATOR_REGISTRY[kind](**args)
    except ValueError as refused:
        if "least 2 samples" not in str(refused):  # nothing to whiten
            raise NotComparable(f"{VERSION}: {str(refused).splitlines()[0]}") from None
        return {"error": str(refused)}
    return finite({**out, "advantages": advantages.tolist()})


def case(rng, name):
    h = options(rng)
    b = batch(rng, h)
    c = {"name": f"{h['estimator']}/{name}", "source": f"{VERSION}, core_algos ADV_ESTIMATOR_REGISTRY['{h['estimator']}']",
         "hyper": h, "in": b, "out": evaluate(h, b)}
    if h["estimator"] in ("grpo_vectorized", "gdpo"):
        c["note"] = FLOAT32
    return c
