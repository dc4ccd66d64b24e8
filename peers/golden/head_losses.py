"""The losses that train heads: of pairs in TRL's RewardTrainer and in OpenRLHF, of steps in
transformers' *ForTokenClassification, which TRL's PRMTrainer trains by, and in OpenRLHF, and of a
model of outcomes in PRIME. The functions themselves run, on scores in place of a model.

    .venv/bin/python -m golden.head_losses ../testdata/losses/head_losses.json LOSS_PY PRIME_CORE_ALGOS_PY [SEED]

writes the cases of the tree, of seed 1, or others in the same format. PRIME and OpenRLHF's PRMLoss are in no package: the two files are
openrlhf/models/loss.py of github.com/OpenRLHF/OpenRLHF at f5b3f08a05fd6cbd9a5b712ed931bbb72c24f2c4 and
recipe/prime/prime_core_algos.py of github.com/volcengine/verl at 246cac4ca6b0e3ce1009bc48aaa798689e0600af.
"""

import ast
import functools
import random
import sys
from importlib.metadata import PackageNotFoundError, distribution
from types import SimpleNamespace
from typing import Optional

import torch
import transformers
import trl
from transformers.loss.loss_utils import ForTokenClassification
from trl import RewardTrainer

from . import draw, files
from .preference import bare

FILE = "head_losses"
IGNORED = -100


def scores(rng, rows, columns):
    return draw.matrix(rng, rows, columns, lambda: draw.number(rng.gauss(0, draw.weighted(rng, {1.0: 5, 0.01: 1, 20.0: 1}))))


def two(rng):
    """What a head says of both completions of pairs, and the same as leaves of a graph."""
    rows = rng.randint(1, 6)
    b = {side: [x[0] for x in scores(rng, rows, 1)] for side in ("chosen", "rejected")}
    if rng.random() < 0.3:
        b["rejected"][0] = b["chosen"][0]  # a tie
    return b, [torch.tensor(b[side], dtype=torch.float64, requires_grad=True) for side in ("chosen", "rejected")]


def paired(loss, leaves):
    grads = torch.autograd.grad(loss, leaves)
    return {"loss": loss.item(), "dchosen": grads[0].tolist(), "drejected": grads[1].tolist()}


def reward(rng, h):
    b, leaves = two(rng)

    class Model:
        training = True

        def __call__(self, **_):
            return SimpleNamespace(logits=torch.cat(leaves)[:, None])

    self = bare(RewardTrainer, args=SimpleNamespace(center_rewards_coefficient=h["center_rewards_coefficient"]))
    inputs = {"attention_mask": torch.ones(2 * len(b["chosen"]), 1)}
    return b, paired(self.compute_loss(Model(), inputs), leaves)


def step_batch(rng):
    rows, columns = rng.randint(1, 4), rng.choice([1, 3, 6])
    b = {"logits": [[[x, y] for x, y in zip(*pair)] for pair in ((r, s) for r, s in zip(scores(rng, rows, columns), scores(rng, rows, columns)))],
         "label": draw.matrix(rng, rows, columns, lambda: rng.choice([None, None, 0, 1]))}
    b["label"][0][-1] = rng.choice([0, 1])
    return b, torch.tensor(b["logits"], dtype=torch.float64, requires_grad=True)


def of_steps(b, loss, logits):
    grad, = torch.autograd.grad(loss, [logits])
    assert torch.allclose(grad[..., 0], -grad[..., 1], rtol=0, atol=1e-6)  # only their difference counts
    return {"loss": loss.item(), "dscore": grad[..., 1].tolist()}


def token(rng, h):
    """Logits of two labels, wrong and right; a step's label stands at its last token."""
    b, logits = step_batch(rng)
    labels = torch.tensor([[IGNORED if x is None else x for x in row] for row in b["label"]])
    return b, of_steps(b, ForTokenClassification(logits, labels, SimpleNamespace(num_labels=2)), logits)


def pairs(loss):
    def evaluate(rng, _):
        b, leaves = two(rng)
        return b, paired(loss(*leaves), leaves)
    return evaluate


def definitions(path, names):
    """The classes and functions of a file by name, without what the file imports."""
    tree = ast.parse(open(path).read())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "Optional": Optional}
    exec(compile(tree, path, "exec"), space)
    return SimpleNamespace(**{name: space[name] for name in names})


@functools.cache
def packaged():
    """The families of OpenRLHF's package, whose imports want what is built with CUDA; none, if it is not here."""
    try:
        about = distribution("openrlhf")
    except PackageNotFoundError as reason:
        print(f"OpenRLHF's losses of pairs are left out: {reason}", file=sys.stderr)
        return {}
    loss = definitions(about.locate_file("openrlhf/models/loss.py"), ["PairWiseLoss", "LogExpLoss"])
    return {name.lower().removesuffix("loss"): (lambda rng: {}, pairs(getattr(loss, name)()), f"OpenRLHF {about.version}, {name}") for name in vars(loss)}


FAMILIES = {"reward": (lambda rng: {"center_rewards_coefficient": rng.choice([None, 0.01, 0.5])}, reward, f"trl {trl.__version__}, RewardTrainer.compute_loss"),
            "token": (lambda rng: {}, token, f"transformers {transformers.__version__}, ForTokenClassification")}


def case(rng, name):
    families = FAMILIES | packaged()
    family = rng.choice(list(families))
    options, evaluate, source = families[family]
    return made(rng, f"{family}/{name}", options(rng), evaluate, source)


def made(rng, name, h, evaluate, source):
    b, out = evaluate(rng, h)
    c = {"name": name, "source": source, "hyper": h, "in": b, "out": files.finite(out)}
    if name.startswith("token"):
        c["note"] = "float32 inside: rel 1e-5, abs 1e-6"
    return c


def of_files(openrlhf, prime):
    """The families of projects that are no packages."""
    rlhf = definitions(openrlhf, ["PairWiseLoss", "LogExpLoss", "PRMLoss"])
    core = definitions(prime, ["compute_ce_dpo_loss_rm"])
    place, good, bad = 7, 3, 5  # ids of the token after which steps are judged and of the two verdicts

    def prm(soft):
        def evaluate(rng, _):
            b, logits = step_batch(rng)
            if soft:
                b["label"] = [[x if x is None else rng.choice([0.0, 0.25, 0.5, 1.0]) for x in row] for row in b["label"]]
            ids = torch.tensor([[0 if x is None else place for x in row] for row in b["label"]])
            whole = torch.zeros(*logits.shape[:2], 9, dtype=torch.float64)
            whole = whole.index_copy(2, torch.tensor([bad, good]), logits)
            fill = (lambda x: 0.0 if x is None else x) if soft else (lambda x: IGNORED if x is None else (good if x else bad))
            labels = torch.tensor([[fill(x) for x in row] for row in b["label"]])
            return b, of_steps(b, rlhf.PRMLoss(place, [good, bad])(ids, whole, labels), logits)
        return evaluate

    def outcomes(rng, h):
        rows, columns = rng.randint(1, 5), rng.choice([1, 3, 6])
        logp = draw.logps(rng, rows, columns)
        b = {"logp": logp, "ref_logp": draw.near(rng, logp), "mask": draw.mask(rng, rows, columns, "ragged"), "right": [rng.choice([0, 1]) for _ in range(rows)]}
        t = {k: torch.tensor(v, dtype=torch.float64) for k, v in b.items()}
        t["logp"].requires_grad_()
        loss = core.compute_ce_dpo_loss_rm(t["logp"] - t["ref_logp"], t["right"], t["mask"], h["beta"])
        return b, {"loss": loss.item(), "dlogp": torch.autograd.grad(loss, [t["logp"]])[0].tolist()}

    return {"pairwise": ({}, pairs(rlhf.PairWiseLoss()), "OpenRLHF f5b3f08a, PairWiseLoss"), "logexp": ({}, pairs(rlhf.LogExpLoss()), "OpenRLHF f5b3f08a, LogExpLoss"),
            "prm_hard": ({}, prm(False), "OpenRLHF f5b3f08a, PRMLoss"), "prm_soft": ({}, prm(True), "OpenRLHF f5b3f08a, PRMLoss"),
            "prime": ({"beta": 0.05}, outcomes, "PRIME in verl 246cac4c, compute_ce_dpo_loss_rm")}


if __name__ == "__main__":
    out, openrlhf, prime, *seed = sys.argv[1:]
    draws, cases = random.Random(int(*seed) if seed else 1), []
    for name, (options, evaluate, source) in FAMILIES.items():
        cases += [made(draws, f"{name}/{i}", options(draws), evaluate, source) for i in range(6)]
    for name, (h, evaluate, source) in of_files(openrlhf, prime).items():
        cases += [made(draws, f"{name}/{i}", h, evaluate, source) for i in range(4)]
    files.write(out, FILE, cases)
