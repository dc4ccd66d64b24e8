"""Merges by mergekit of random models: linear, slerp, task arithmetic, TIES and DARE with random weights,
shares and factors, by formulas of rl/weights."""

import collections
import random

from golden import weights

from . import gotest

FAMILIES = ["LlamaConfig", "Qwen2Config", "Qwen3Config"]
EACH = 6  # merges of one set of models
LINE = 0.9995  # of the cosine: above it mergekit takes the line (merge_methods/slerp.py, line 24)
APART = 2**-20  # share of a magnitude or sum below which float32 may order two changes otherwise


class Area:
    def __init__(self, scratch):
        gotest.imported("mergekit")
        self.test = gotest.build("rl/weights", scratch)

    def round(self, seed, part, count, folder, plant):
        rng, left_out, made = random.Random(f"{seed}/{part}/weights"), collections.Counter(), 0
        quiet()
        while made < count:
            into = folder / "merges" / f"s{made}"
            made += self.set(rng, into, min(EACH, count - made), left_out)
        if plant == "merge-scale":
            scale_one(rng, folder / "merges" / "s0")
        said, failed = gotest.run(self.test, "rl/weights", "^TestMergekit$", folder)
        differ = [(f"weights/{test}", said[test][:2]) for test in failed if not any(other.startswith(test + "/") for other in failed)]
        return {"weights": gotest.ran(said, r"TestMergekit/(s\d+/m\d+)")}, differ, left_out

    def set(self, rng, folder, count, left_out):
        import transformers
        heads, groups = rng.choice([(2, 1), (2, 2), (4, 2)])
        sizes = dict(vocab_size=rng.choice([24, 33, 50]), hidden_size=8 * heads, intermediate_size=rng.choice([12, 20, 32]), num_hidden_layers=rng.choice([1, 2]),
                     num_attention_heads=heads, num_key_value_heads=groups, head_dim=8, max_position_embeddings=64, bos_token_id=None, eos_token_id=1)
        config = getattr(transformers, rng.choice(FAMILIES))(**sizes, tie_word_embeddings=rng.random() < 0.5)
        names = ["base", *"abc"[:rng.choice([2, 2, 3])]]
        weights.draw(folder, config, names, rng.getrandbits(40), rng.choice(["float32", "float32", "bfloat16", "float16"]))
        tensors, merges = load(folder, names), []
        while len(merges) < count:
            m = merge(rng, f"m{len(merges)}", names[1:])
            if reason := unsure(m, tensors):
                left_out[f"weights: {reason}"] += 1
            else:
                merges.append(m)
        weights.write(folder, merges)
        return count


def quiet():
    """mergekit and transformers show bars and warn of models without a tokenizer."""
    import logging
    from transformers.utils import logging as others
    logging.getLogger("mergekit").setLevel(logging.ERROR)
    others.disable_progress_bar()
    others.set_verbosity_error()


def load(folder, names):
    from safetensors.torch import load_file
    return {name: {k: v.float() for k, v in load_file(folder / name / "model.safetensors").items()} for name in names}


def merge(rng, name, tuned):
    some = rng.sample(tuned, rng.randint(2, len(tuned)))
    given = lambda: {m: rng.choice([1.0, 0.5, 0.1, -0.3, round(rng.uniform(-1, 2), 3)]) for m in some}
    weighted = given()
    while abs(sum(weighted.values())) < 0.3:
        weighted = given()
    scale = rng.choice([1.0, 1.0, 0.5, 1.7, -0.4])
    kind = rng.choice(["linear", "slerp", "arithmetic", "ties", "dare"])
    if kind == "linear":
        return weights.linear(name, weighted, rng.random() < 0.6)
    if kind == "slerp":
        return weights.slerp(name, some[0], some[1], rng.choice([0.0, 0.25, 0.5, 1.0, round(rng.random(), 3)]))
    if kind == "dare":
        return weights.dare(name, some[0], rng.choice([0.1, 0.5, 0.75, round(rng.uniform(0.05, 0.8), 3)]), rng.getrandbits(53))
    if kind == "arithmetic":
        return weights.arithmetic(name, weighted, scale, rng.random() < 0.3)
    return weights.ties(name, some, rng.choice([0.2, 0.5, 0.7, 1.0, round(rng.uniform(0.05, 1), 3)]), scale)


def unsure(m, tensors):
    """Why the two may differ by more than what they round; None: they may not."""
    import torch
    method = m.text["merge_method"]
    if method == "slerp":
        a, b = (tensors[name] for name in m.about["arc"])
        if any(abs(torch.cosine_similarity(a[k].flatten().double(), b[k].flatten().double(), 0).item()) > LINE - 1e-4 for k in a):
            return f"mergekit 0.1.5 takes the line above a cosine of {LINE} (merge_methods/slerp.py:64)"
    if method == "ties":
        share = m.text["models"][0]["parameters"]["density"]
        for k, base in tensors["base"].items():
            kept = []
            for model in m.text["models"]:
                change = (tensors[model["model"]][k].double() - base.double()).flatten()
                order, n = change.abs().sort(descending=True).values, max(1, int(share * change.numel()))
                if n < len(order) and order[n - 1] - order[n] <= APART * order[n - 1]:
                    return "of equal changes at the share's edge mergekit 0.1.5 keeps as many as fit, in the order of a sort (sparsify.py:74)"
                kept.append(torch.where(change.abs() >= order[n - 1], change, 0))
            kept = torch.stack(kept)
            if ((kept.sum(0).abs() <= APART * kept.abs().sum(0)) & (kept.abs().sum(0) > 0)).any():
                return "changes cancel, so that rounding has their sign"
    return None


def scale_one(rng, folder):
    """A factor of 1.01 in one tensor of one merge."""
    from safetensors.torch import load_file, save_file
    file = folder / "m0" / "model.safetensors"
    tensors = load_file(file)
    name = rng.choice(sorted(tensors))
    tensors[name] = tensors[name] * 1.01
    save_file(tensors, file, metadata={"format": "pt"})
