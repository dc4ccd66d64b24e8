"""LoRA adapters with every option that PEFT writes: log-probs, entropies, losses, gradients and greedy
continuations by the golden tests of package model, beside the weights and merged into them. What
plain LoRA cannot compute must be refused by the name of its key. Written anew by rlzero export, an
adapter must compute the same bits in PEFT."""

import collections
import json
import math
import random
import shutil
import subprocess
import warnings

import codes

from . import gotest

ENDS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
REGEXES = [r".*\.(q|v)_proj", r"model\.layers\.[02]\.mlp\..*", r".*self_attn.*proj", r".*\.1\..*_proj", r"model.layers.\d+.mlp.(gate|up)_proj"]
PATTERNS = ENDS + ["layers.1.self_attn.q_proj", "1.mlp.up_proj", r"layers\.0\..*", r".*mlp.*", r"self_attn\.[qk]_proj", r"^model.layers.1.mlp.down_proj", r"layers.(0|2).self_attn.v_proj"]

# Options of plain LoRA's config that change what an adapter computes, and what a refusal has to name.
REFUSED = [
    ({"use_dora": True}, ["use_dora"]), ({"bias": "all"}, ["bias"]), ({"bias": "lora_only"}, ["bias"]), ({"lora_bias": True}, ["lora_bias"]),
    ({"modules_to_save": ["embed_tokens"]}, ["embed_tokens"]), ({"trainable_token_indices": [3, 5]}, ["trainable_token_indices"]),
    ({"target_modules": ["embed_tokens"]}, ["embed_tokens"]), ({"target_modules": ["q_proj", "lm_head"]}, ["lm_head"]),
    ({"layer_replication": [[0, 2], [1, 2]]}, ["layer_replication"]), ({"target_parameters": ["self_attn.q_proj.weight"]}, ["target_parameters"]),
    ({"init_lora_weights": "pissa"}, ["init_lora_weights"]), ({"init_lora_weights": "olora"}, ["init_lora_weights"]),
    ({"use_qalora": True}, ["use_qalora"]), ({"alora_invocation_tokens": [3, 5]}, ["alora_invocation_tokens"]), ({"init_lora_weights": "pissa_niter_4"}, ["init_lora_weights"]),
    ({"init_lora_weights": "loftq"}, ["init_lora_weights"]), ({"init_lora_weights": "corda"}, ["init_lora_weights"]),
    ({"peft_type": "LoHaConfig"}, ["peft_type"]), ({"peft_type": "LoKrConfig"}, ["peft_type"]), ({"peft_type": "IA3Config"}, ["peft_type"]),
    ({"peft_type": "VeraConfig"}, ["peft_type"]), ({"peft_type": "OFTConfig"}, ["peft_type"]), ({"peft_type": "PromptTuningConfig"}, ["peft_type"]),
]
# Inits that change no weight of the model: the adapter is plain LoRA.
INITS = [True, True, "gaussian", "orthogonal"]
GREEDY = 16  # tokens of a continuation
ROOM = 16  # how many times the error of float32 the bounds are, as for the fixtures in models
NATS, GRADIENTS = 8 * 2.0**-24, 64 * 2.0**-24  # floors of the bounds, likewise
FLOOR = 1e-3  # share of the largest gradient below which a gradient counts as that


class NotPossible(Exception):
    """PEFT makes no adapter of the options: the reason."""


def end_tokens(config):
    ends = config.eos_token_id
    return ends if isinstance(ends, list) else [] if ends is None else [ends]


class Area:
    def __init__(self, scratch):
        self.model, self.hf = gotest.build("model", scratch), gotest.build("model/hf", scratch)
        self.rlzero = scratch / "rlzero"
        made = subprocess.run(["go", "build", "-o", self.rlzero, "."], cwd=gotest.ROOT, capture_output=True, text=True)
        if made.returncode != 0:
            raise codes.Broken(f"rlzero does not build: {codes.last(made.stderr)}")
        self.bases = sorted((p.parent for folder in (gotest.ROOT / "testdata" / "models", gotest.FIXTURES / "models") if folder.is_dir()
                             for p in folder.glob("*/expected.json") if plain_rope(p.parent)), key=lambda p: p.name)

    def round(self, seed, part, count, folder, plant):
        quiet()
        rng, left_out, differ = random.Random(f"{seed}/{part}/adapters"), collections.Counter(), []
        source = rng.choice(self.bases)
        base = folder / "models" / source.name
        shutil.copytree(source, base, ignore=shutil.ignore_patterns("adapters"), copy_function=shutil.copyfile)
        base.chmod(0o755)
        case, made = Base(base), 0
        while made < count:
            try:
                one = base / "adapters" / f"a{made}"
                case.adapter(rng, one)
            except NotPossible as reason:
                left_out[f"adapters: {reason}"] += 1
                shutil.rmtree(one, ignore_errors=True)
                continue
            made += 1
            if said := case.again(self.rlzero, one):
                differ.append((f"adapters/{one.name} of {source.name}, exported", [said, shown(one)]))
        if plant == "tensor-scale":
            scale_one(rng, base / "adapters" / "a0")
        refused = rng.sample(REFUSED, min(len(REFUSED), max(1, count // 2)))
        for i, (options, names) in enumerate(refused):
            case.refused(rng, options, names, folder / "models_bad" / f"r{i}", left_out)
        compared = collections.Counter()
        for program, package, wanted, sets in ((self.model, "model", "^TestParity$/^full$|^TestMerge$", True), (self.hf, "model/hf", "^TestModelsBad$/^full$", False)):
            said, failed = gotest.run(program, package, wanted, folder)
            compared["adapters"] += gotest.ran(said, r"TestParity/full/.*_with_(a\d+)")
            compared["adapters, refused"] += gotest.reported(said, "models_bad")[0]
            for test in failed:
                if sets and not any(other.startswith(test + "/") for other in failed):
                    name = test.rsplit("/", 1)[1]
                    one = base / "adapters" / name.rsplit("_", 1)[-1]
                    differ.append((f"adapters/{test}", said[test][:2] + ([shown(one)] if one.is_dir() else [])))
            if not sets:
                differ += [(f"adapters/refused: {line[:80]}", [line]) for line in said[wanted.strip("^$").split("$")[0] + "/full"] if ": must " in line or "error:" in line]
        return compared, differ, left_out


def quiet():
    """PEFT and transformers say much about options that are drawn at random."""
    from transformers.utils import logging
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    warnings.filterwarnings("ignore")


def plain_rope(folder):
    config = json.loads((folder / "config.json").read_text())
    return not config.get("rope_scaling") and config["model_type"] != "gemma3_text"  # whose angles are remade below


def shown(one):
    config = json.loads((one / "adapter_config.json").read_text())
    return json.dumps({k: v for k, v in config.items() if v not in (None, {}, [], False) and k in (
        "r", "lora_alpha", "use_rslora", "target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "rank_pattern", "alpha_pattern", "modules_to_save", "init_lora_weights", "layer_replication")})


def scale_one(rng, one):
    """A factor of 1.01 in one tensor."""
    from safetensors.torch import load_file, save_file
    tensors = load_file(one / "adapter_model.safetensors")
    name = rng.choice(sorted(n for n in tensors if "lora_B" in n))
    tensors[name] = tensors[name] * 1.01
    save_file(tensors, one / "adapter_model.safetensors", metadata={"format": "pt"})


def options(rng, modules):
    """Of LoraConfig; modules are the whole names of the model's linear layers."""
    pick = rng.choice
    some = lambda names, most: rng.sample(names, rng.randint(1, min(most, len(names))))
    h = {"r": pick([1, 2, 3, 4, 8, 16]), "lora_alpha": pick([1, 3, 8, 16, 32, 6.5]), "use_rslora": rng.random() < 0.3,
         "lora_dropout": pick([0.0, 0.1]), "init_lora_weights": pick(INITS)}
    kind = pick(["ends", "ends", "ends", "names", "regex", "all-linear"])
    h["target_modules"] = {"ends": some(ENDS, 7), "names": some(modules, 6), "regex": pick(REGEXES), "all-linear": "all-linear"}[kind]
    if kind == "ends" and rng.random() < 0.5:
        h["layers_to_transform"] = pick([0, 1, [0], [0, 1], [1, 2], [0, 2]])
        if rng.random() < 0.5:
            h["layers_pattern"] = pick(["layers", ["h", "layers"], ["layers", "blocks"], "layer"])
    if rng.random() < 0.3:
        h["exclude_modules"] = pick([some(ENDS, 2), some(modules, 3), pick(REGEXES)])
    for key, values in (("rank_pattern", [1, 2, 5, 7, 16]), ("alpha_pattern", [1, 2, 12, 0.5, 33])):
        if rng.random() < 0.4:
            h[key] = {pattern: pick(values) for pattern in some(PATTERNS, 3)}
    if rng.random() < 0.2:
        h["modules_to_save"] = ["lm_head"]
    return h


class Base:
    """A model, and the sequences that its expected.json has."""

    def __init__(self, folder):
        self.folder, self.want = folder, json.loads((folder / "expected.json").read_text())
        import torch
        self.modules = [n for n, m in self.load("float32").named_modules() if isinstance(m, torch.nn.Linear) and n != "lm_head"]

    def load(self, dtype):
        import torch
        from transformers import AutoModelForCausalLM
        model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=getattr(torch, dtype), attn_implementation="eager").eval()
        if dtype == "float64":
            exact_angles(model)
        return model

    def adapter(self, rng, one):
        """Writes a random adapter with what it computes."""
        import torch
        from peft import LoraConfig, PeftModel, get_peft_model
        h, plain = options(rng, self.modules), self.load("float32")
        try:
            model = get_peft_model(plain, LoraConfig(task_type="CAUSAL_LM", **h))
        except ValueError as err:
            raise NotPossible(str(err).split("\n")[0].split(":")[0][:90]) from err
        randomize(rng, model)
        dtype = rng.choice(["float32", "float32", "bfloat16", "float16"])
        model.to(getattr(torch, dtype)).save_pretrained(one)
        try:
            right = PeftModel.from_pretrained(self.load("float64"), one, is_trainable=True).eval().double()
        except ValueError as err:  # of a rank that rank_pattern gives
            raise NotPossible(str(err).split("\n")[0][:90]) from err
        except RuntimeError as err:
            if h.get("rank_pattern") and "size mismatch for" in str(err):
                raise NotPossible("PEFT 0.21.2 does not load what it wrote: the first pattern of rank_pattern counts, and config.py, line 163, sorts them") from err
            raise
        beside = PeftModel.from_pretrained(self.load("float32"), one, is_trainable=True).eval().float()
        merged = PeftModel.from_pretrained(self.load("float32"), one).float().merge_and_unload().eval()
        ref, f32, third = self.measure(right), self.measure(beside), self.measure(merged, gradients=False)
        bounds = bounds_of(ref, [f32, third], self.want)
        modules = {n.removeprefix("base_model.model."): {"r": m.r["default"], "scale": m.scaling["default"]} for n, m in right.named_modules() if hasattr(m, "lora_A") and "default" in m.lora_A}
        if h.get("modules_to_save"):
            modules["lm_head"] = {}
        (one / "expected.json").write_text(json.dumps({
            "schema": 1, "base": self.folder.name, "adapter": one.name, "modules": modules, "bounds": bounds,
            "l1": {"value": ref["l1"], "tokens": ref["tokens"]}, "l2": {"value": ref["l2"]},
            "greedy": [g for g in (self.greedy(right, g["prompt"], 2 * bounds["bound_logits"]) for g in self.want["greedy"]) if g["continuation"]],
            "sequences": [{k: [None, *s[k].tolist()] for k in ("logprob", "entropy", "meanlogsoftmax")} for s in ref["sequences"]],
        }))
        from safetensors.torch import save_file
        for loss in ("l1", "l2"):
            save_file({n: g.float().contiguous() for n, g in ref["grads_" + loss].items()}, one / f"grads_{loss}.safetensors")

    def measure(self, model, gradients=True):
        import torch
        sequences, l1, l2, tokens = [], 0.0, 0.0, 0
        for s in self.want["sequences"]:
            logits = model(torch.tensor([s["ids"]])).logits[0, :-1]
            logs = logits.log_softmax(-1)
            chosen = logs.gather(-1, torch.tensor(s["ids"][1:], dtype=torch.long)[:, None])[:, 0]
            one = {"logits": logits, "logprob": chosen, "entropy": -(logs.exp() * logs).sum(-1), "meanlogsoftmax": logs.mean(-1)}
            a, b, c = (torch.tensor(s[k][1:], dtype=logits.dtype) for k in "abc")
            l1, l2, tokens = l1 - chosen.sum(), l2 + (a * chosen + b * one["entropy"] + c * one["meanlogsoftmax"]).sum(), tokens + len(chosen)
            sequences.append({k: v.detach().double() for k, v in one.items()})
        out = {"sequences": sequences, "l1": (l1 / tokens).item(), "l2": l2.item(), "tokens": tokens}
        if gradients:
            named = {n.replace(".default", ""): p for n, p in model.named_parameters() if "lora_" in n}
            for loss, value in (("l1", l1 / tokens), ("l2", l2)):
                found = torch.autograd.grad(value, list(named.values()), retain_graph=True, allow_unused=True)
                out["grads_" + loss] = {n: torch.zeros_like(p) if g is None else g for (n, p), g in zip(named.items(), found)}
        return out

    def greedy(self, model, prompt, gap):
        """The model's own continuation, up to an end token, or to where the two largest logits are nearer than gap: that can
        be its first token, and then nothing is left to compare."""
        import torch
        ids, ends = list(prompt), end_tokens(model.config)
        with torch.no_grad():
            for _ in range(GREEDY):
                best = model(torch.tensor([ids])).logits[0, -1].topk(2)
                if (best.values[0] - best.values[1]).item() <= gap:
                    break
                ids.append(best.indices[0].item())
                if ids[-1] in ends:
                    break
        return {"prompt": prompt, "continuation": ids[len(prompt):]}

    def again(self, rlzero, one):
        """What is wrong with the adapter as rlzero writes it, for PEFT; None: nothing."""
        import torch
        from peft import PeftModel
        out = one.parent.parent / "again" / one.name
        made = subprocess.run([rlzero, "export", self.folder, "--adapter", one, "--format", "peft", "--out", out], capture_output=True, text=True)
        if made.returncode != 0:
            return made.stderr.strip().split("\n")[0]
        ids = torch.tensor([self.want["sequences"][-1]["ids"]])
        with torch.no_grad():
            logits = [PeftModel.from_pretrained(self.load("float32"), folder).eval().float()(ids).logits for folder in (one, out)]
        return None if torch.equal(*logits) else f"its logits differ by up to {(logits[0] - logits[1]).abs().max().item():.3g}"

    def refused(self, rng, more, names, folder, left_out):
        """An adapter that plain LoRA would misread, with what the refusal has to name."""
        import peft
        h = {"task_type": "CAUSAL_LM", "target_modules": ["q_proj", "down_proj"], **more}
        kind = h.pop("peft_type", "LoraConfig")
        if kind == "PromptTuningConfig":
            h = {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}
        if kind == "IA3Config":
            h["feedforward_modules"] = ["down_proj"]
        try:
            model = peft.get_peft_model(self.load("float32"), getattr(peft, kind)(**h))
        except (ValueError, TypeError, AttributeError, RuntimeError, ImportError) as err:
            left_out[f"adapters: {kind} {more}: {str(err).splitlines()[0][:90]}"] += 1
            return
        model.save_pretrained(folder)
        (folder / "expect.json").write_text(json.dumps({"what": f"{kind} {more}", "base": f"../../models/{self.folder.name}", "must_mention": names, "must_mention_any": []}))


def randomize(rng, model):
    """Numbers in place of what adapters begin with: so that each changes what the model computes, by
    about the third part of what a matrix does."""
    import torch
    torch.manual_seed(rng.getrandbits(60))
    with torch.no_grad():
        for module in model.modules():
            if not hasattr(module, "lora_A") or "default" not in module.lora_A:
                continue
            a, b = module.lora_A["default"].weight, module.lora_B["default"].weight
            a.copy_(torch.randn(a.shape) / math.sqrt(a.shape[1]))
            b.copy_(torch.randn(b.shape) * 0.3 / (module.scaling["default"] * math.sqrt(a.shape[0])))
        for name, p in model.named_parameters():
            if "modules_to_save" in name:
                p.add_(torch.randn(p.shape) * 0.1 * p.std())


def exact_angles(model):
    """Rotary angles in float64: transformers computes them in float32 whatever the model's type."""
    import torch
    config = model.config
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    theta = getattr(config, "rope_theta", None) or config.rope_parameters["rope_theta"]

    def forward(x, position_ids, *_):
        angles = position_ids[:, :, None].double() * theta ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()
    for module in model.modules():
        if type(module).__name__.endswith("RotaryEmbedding"):
            module.forward = forward


def bounds_of(ref, others, want):
    """Absolute bounds for float32: ROOM times the largest error of two runs in it."""
    centred = max((s["logits"] - s["logits"].mean(-1, keepdim=True)).abs().max().item() for s in ref["sequences"] if len(s["logits"]))
    out = {"grad_norm_floor": FLOOR}
    errors = {k: [(a[k] - b[k]).flatten() for other in others for a, b in zip(ref["sequences"], other["sequences"])] for k in ("logits", "logprob", "entropy", "meanlogsoftmax")}
    for k, all_of in errors.items():
        out["bound_" + k] = ROOM * max([e.abs().max().item() for e in all_of if len(e)] + [NATS / ROOM * centred])
    weights = [sum(abs(x) for k in "abc" for x in s[k][1:]) for s in want["sequences"]]
    n = len(ref["sequences"])
    by_run = lambda k: [sum(e.square().sum().item() for e in errors[k][i * n:(i + 1) * n]) for i in range(len(others))]
    l1 = [abs(ref["l1"] - o["l1"]) for o in others] + [math.sqrt(x) / ref["tokens"] for x in by_run("logprob")]
    out["bound_l1"] = ROOM * max(l1 + [NATS / ROOM * centred])
    squares = [sum(by_run(k)[i] for k in ("logprob", "entropy", "meanlogsoftmax")) for i in range(len(others))]
    out["bound_l2"] = ROOM * max([abs(ref["l2"] - o["l2"]) for o in others] + [math.sqrt(x) for x in squares] + [NATS / ROOM * centred * math.sqrt(sum(weights))])
    for loss, key in (("grads_l1", "bound_grad_rel"), ("grads_l2", "bound_grad_rel_l2")):
        largest = max(g.norm().item() for g in ref[loss].values())
        out[key] = ROOM * max([(g - others[0][loss][n].double()).norm().item() / max(g.norm().item(), FLOOR * largest) for n, g in ref[loss].items()] + [GRADIENTS / ROOM])
    return out
