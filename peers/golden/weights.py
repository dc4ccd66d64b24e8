"""Small models, and what mergekit makes of them, in float32. For the committed cases:

    cd peers && .venv/bin/python -m golden.weights ../rl/weights/testdata [SEED]

The committed ones are of seed 0. A set is a folder of models, with what was made of them in folders beside them and merges.json: of each
its name, the formula of rlzero that means the same, by how much the arithmetic multiplies each model at
most ("terms") and how often it rounds a term. Of DARE ("drops": its p) what both keep is the same, as each draws
masks of its own. mergekit 0.1.5 rescales what it keeps to the L1 norm of the change (sparsify.py), the paper by
1/(1 - p): so the rescaling is off, and lambda is that factor.
"""

import json
import pathlib
import shutil
import sys
import tempfile

SIZES = dict(
    vocab_size=24, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=1, head_dim=4, max_position_embeddings=64, bos_token_id=None, eos_token_id=1,
)


class Merge:
    """One merge: text is mergekit's configuration, whose models are names."""

    def __init__(self, name, formula, terms, roundings, text, **more):
        self.name, self.text = name, text
        self.about = {"name": name, "formula": formula, "terms": terms, "roundings": roundings} | more


def weighted(weights):
    return " + ".join(f"{w!r}*{name}" for name, w in weights.items()).replace("+ -", "- ")


def inputs(**by_parameter):
    names = list(next(iter(by_parameter.values())))
    return [{"model": name, "parameters": {k: v[name] for k, v in by_parameter.items()}} for name in names]


def linear(name, weights, normalize=True):
    total = sum(weights.values()) if normalize else 1
    formula = f"({weighted(weights)})/({' + '.join(map(repr, weights.values())).replace('+ -', '- ')})" if normalize else weighted(weights)
    # A weight, its product and the sum of n; their divisor, the sum of n weights, each larger by up to the
    # sum of magnitudes over that of the weights; the quotient; the number that rlzero writes.
    worst = sum(map(abs, weights.values())) / abs(sum(weights.values())) if normalize else 0
    roundings = len(weights) + 3 + (2 * len(weights) * worst if normalize else 0)
    return Merge(name, formula, {m: abs(w / total) for m, w in weights.items()}, roundings,
                 {"merge_method": "linear", "models": inputs(weight=weights), "parameters": {"normalize": normalize}})


def slerp(name, a, b, t):
    return Merge(name, f"slerp({a}, {b}, {t!r})", {a: 1, b: 1}, 8, {"merge_method": "slerp", "base_model": a, "models": [{"model": a}, {"model": b}], "parameters": {"t": t}}, arc=[a, b])


def changes(weights, scale, normalize):
    """Terms and roundings of a sum of weighted changes to base: each is a difference of two numbers, so base is in all of them."""
    total = abs(sum(weights.values())) if normalize else 1
    worst = sum(map(abs, weights.values())) / abs(sum(weights.values())) if normalize else 0
    terms = {m: abs(scale * w) / total for m, w in weights.items()}
    # A difference, a weight, its product, the sum of n; the divisor as above; the factor and its product;
    # the sum with base; the number that rlzero writes.
    return terms | {"base": 1 + sum(terms.values())}, len(weights) + 7 + (2 * len(weights) * worst if normalize else 0)


def arithmetic(name, weights, scale=1.0, normalize=False):
    terms, roundings = changes(weights, scale, normalize)
    summed = " + ".join(f"{w!r}*({m} - base)" for m, w in weights.items()).replace("+ -", "- ")
    divisor = f"/({' + '.join(map(repr, weights.values())).replace('+ -', '- ')})" if normalize else ""
    return Merge(name, f"base + {scale!r}*({summed}){divisor}", terms, roundings,
                 {"merge_method": "task_arithmetic", "base_model": "base", "models": inputs(weight=weights), "parameters": {"normalize": normalize, "lambda": scale}})


def ties(name, models, share, scale=1.0):
    equal = dict.fromkeys(models, 1.0)
    terms, roundings = changes(equal, scale, False)  # where one alone has the sign, its whole change is taken
    return Merge(name, f"base + {scale!r}*(ties(base, {share!r}, {', '.join(models)}) - base)" if scale != 1 else f"ties(base, {share!r}, {', '.join(models)})", terms, roundings + len(models) + 1,
                 {"merge_method": "ties", "base_model": "base", "models": inputs(weight=equal, density=dict.fromkeys(models, share)), "parameters": {"lambda": scale}})


def dare(name, model, p, seed):
    terms, roundings = changes({model: 1.0}, 1 / (1 - p), False)
    return Merge(name, f"dare(base, {p!r}, {seed}, {model})", terms, roundings,
                 {"merge_method": "dare_linear", "base_model": "base", "models": inputs(weight={model: 1.0}, density={model: 1 - p}),
                  "parameters": {"rescale": False, "normalize": False, "lambda": 1 / (1 - p)}}, drops=p)


def draw(folder, config, names, seed, dtype="float32"):
    """Models with random numbers of a deviation of 1."""
    import torch
    import transformers
    for i, name in enumerate(names):
        torch.manual_seed(seed + i)
        model = transformers.AutoModelForCausalLM.from_config(config)
        for p in model.parameters():
            torch.nn.init.normal_(p)
        model.to(getattr(torch, dtype)).save_pretrained(folder / name)


def write(folder, merges):
    """Merges the models of a folder into others beside them, and writes merges.json."""
    from mergekit.config import MergeConfiguration
    from mergekit.merge import run_merge
    from mergekit.options import MergeOptions
    for m in merges:
        text = json.loads(json.dumps(m.text), object_hook=lambda o: {k: str(folder / v) if k in ("model", "base_model") else v for k, v in o.items()})
        run_merge(MergeConfiguration.model_validate(text | {"dtype": "float32"}), str(folder / m.name), MergeOptions(copy_tokenizer=False, write_model_card=False, quiet=True))
    (folder / "merges.json").write_text(json.dumps([m.about for m in merges], indent=1) + "\n")


def main(out, seed):
    import transformers
    for tied in (True, False):
        with tempfile.TemporaryDirectory() as tmp:
            d = pathlib.Path(tmp)
            draw(d, transformers.LlamaConfig(**SIZES, tie_word_embeddings=tied), ("base", "a", "b"), 10 * seed)
            write(d, [linear("linear", {"a": 0.25, "b": 0.75}), slerp("slerp", "a", "b", 0.25),
                      arithmetic("task_arithmetic", {"a": 0.5, "b": 0.25}), ties("ties", ["a", "b"], 0.5), dare("dare", "a", 0.5, seed)])
            kind = out / ("tied" if tied else "untied")
            for folder in sorted(p for p in d.iterdir() if p.is_dir()):
                (kind / folder.name).mkdir(parents=True, exist_ok=True)
                weights = sorted(folder.glob("*.safetensors"))
                assert len(weights) == 1, weights
                shutil.copy(weights[0], kind / folder.name / "model.safetensors")
                shutil.copy(d / "base" / "config.json", kind / folder.name / "config.json")
            shutil.copy(d / "merges.json", kind)


if __name__ == "__main__":
    out, *seed = sys.argv[1:]
    main(pathlib.Path(out), int(*seed))
