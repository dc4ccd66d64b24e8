"""Small models, and what mergekit makes of them, in float32.

    python3.11 -m venv VENV && VENV/bin/pip install mergekit==0.1.5 torch==2.15.0 transformers==5.24.0
    cd peers && VENV/bin/python -m golden.weights ../rl/weights/testdata

mergekit is no part of requirements.txt: it wants other versions than the trainers. Of DARE there is no
case: mergekit 0.1.5 rescales what it keeps to the L1 norm of the change (sparsify.py), the paper by
1/(1 - p), and its masks come from a generator of torch.
"""

import pathlib
import shutil
import sys
import tempfile

import torch
import transformers
from mergekit.config import MergeConfiguration
from mergekit.merge import run_merge
from mergekit.options import MergeOptions

SIZES = dict(
    vocab_size=24, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=1, head_dim=4, max_position_embeddings=64, bos_token_id=None, eos_token_id=1,
)


def cases(d):
    base, a, b = (str(d / name) for name in ("base", "a", "b"))
    two = lambda **more: [{"model": m, "parameters": {k: v[i] for k, v in more.items()}} for i, m in enumerate((a, b))]
    return {
        "linear": {"merge_method": "linear", "models": two(weight=(0.25, 0.75))},
        "slerp": {"merge_method": "slerp", "base_model": a, "models": [{"model": a}, {"model": b}], "parameters": {"t": 0.25}},
        "task_arithmetic": {"merge_method": "task_arithmetic", "base_model": base, "models": two(weight=(0.5, 0.25))},
        "ties": {"merge_method": "ties", "base_model": base, "models": two(weight=(1.0, 1.0), density=(0.5, 0.5))},
    }


def main(out):
    for tied in (True, False):
        kind = "tied" if tied else "untied"
        with tempfile.TemporaryDirectory() as tmp:
            d = pathlib.Path(tmp)
            for seed, name in enumerate(("base", "a", "b")):
                torch.manual_seed(seed)
                model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, tie_word_embeddings=tied))
                for p in model.parameters():
                    torch.nn.init.normal_(p)
                model.save_pretrained(d / name)
            for name, text in cases(d).items():
                run_merge(MergeConfiguration.model_validate(text | {"dtype": "float32"}), str(d / name), MergeOptions(copy_tokenizer=False, write_model_card=False))
            for folder in sorted(p for p in d.iterdir() if p.is_dir()):
                to = out / kind / folder.name
                to.mkdir(parents=True, exist_ok=True)
                weights = sorted(folder.glob("*.safetensors"))
                assert len(weights) == 1, weights
                shutil.copy(weights[0], to / "model.safetensors")
                shutil.copy(d / "base" / "config.json", to / "config.json")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
