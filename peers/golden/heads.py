"""Folders of models with heads, and what the heads say of each token, in float64.

    .venv/bin/python -m golden.heads ../model/hf/testdata/heads [SEED]

The committed ones are of seed 0. Each folder has config.json and model.safetensors as save_pretrained writes them, and expected.json:
ids, and for each label and token what the head says after it, [label][token]. The model is evaluated in
float64 from the stored float32 numbers; "f32" is what the library says in float32. Of a head with
several labels both are the probabilities, the softmax over the labels. "left" and "right" are what is read
of the sequence, [label], where a batch of all is padded on that side: *ForSequenceClassification chooses
the token itself, of the others it is the last that is not padding.

Qwen2ForProcessRewardModel is no part of transformers: its two layers are those of modeling_qwen2_rm.py
of Qwen2.5-Math-PRM-7B. TRL 0.19.1 had the value head, a linear map that is saved as v_head.summary.
"""

import copy
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

SIZES = dict(
    vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=1, head_dim=8, max_position_embeddings=64, initializer_range=0.4,
    bos_token_id=None, eos_token_id=1, pad_token_id=0,
)
IDS = [[5, 9, 2, 31, 7, 7, 4, 1], [3, 30, 11], [8, 0, 6, 6, 1]]

# name: class of the config, class of the model (None: the causal one, with another head), labels
CASES = {
    "llama_sequence_3": ("LlamaConfig", "LlamaForSequenceClassification", 3),
    "qwen2_sequence": ("Qwen2Config", "Qwen2ForSequenceClassification", 1),
    "qwen3_token_2": ("Qwen3Config", "Qwen3ForTokenClassification", 2),
    "gemma3_sequence": ("Gemma3TextConfig", "Gemma3TextForSequenceClassification", 1),
    "mistral_token": ("MistralConfig", "MistralForTokenClassification", 1),
    "smollm3_sequence": ("SmolLM3Config", "SmolLM3ForSequenceClassification", 1),
    "qwen3_sequence": ("Qwen3Config", "Qwen3ForSequenceClassification", 1),
    "mistral_sequence_2": ("MistralConfig", "MistralForSequenceClassification", 2),
    "llama_token": ("LlamaConfig", "LlamaForTokenClassification", 1),
    "qwen2_token_3": ("Qwen2Config", "Qwen2ForTokenClassification", 3),
    "smollm3_token_2": ("SmolLM3Config", "SmolLM3ForTokenClassification", 2),  # Gemma 3 has no such class
    "qwen2_process": ("Qwen2Config", None, 2),  # nor has another family this one
    "qwen2_value": ("Qwen2Config", None, 1),
    "llama_value": ("LlamaConfig", None, 1),
    "qwen3_value": ("Qwen3Config", None, 1),
    "gemma3_value": ("Gemma3TextConfig", None, 1),
    "mistral_value": ("MistralConfig", None, 1),
    "smollm3_value": ("SmolLM3Config", None, 1),
}
CAUSAL = {"Gemma3TextConfig": "Gemma3ForCausalLM"}  # of the others: the name of the config


def linear(out, width):
    layer = torch.nn.Linear(width, out)
    torch.nn.init.normal_(layer.weight, std=0.4)
    torch.nn.init.normal_(layer.bias, std=0.4)
    return layer


def says(model, head, ids):
    states = model(torch.tensor([ids])).last_hidden_state[0]
    x = head(states)
    return x if x.shape[1] == 1 else x.softmax(-1)


def padded(inner, head, whole, side):
    """What is read of each sequence, with all in one batch that is padded on a side."""
    most = max(map(len, IDS))
    pads = [[SIZES["pad_token_id"]] * (most - len(ids)) for ids in IDS]
    rows = torch.tensor([pad + ids if side == "left" else ids + pad for ids, pad in zip(IDS, pads)])
    mask = torch.tensor([[0] * len(pad) + [1] * len(ids) if side == "left" else [1] * len(ids) + [0] * len(pad) for ids, pad in zip(IDS, pads)])
    place = (mask.cumsum(-1) - 1).clamp(min=0)
    if whole is not None:
        x = whole(rows, attention_mask=mask, position_ids=place).logits
    else:
        states = inner(rows, attention_mask=mask, position_ids=place).last_hidden_state
        last = [most - 1 if side == "left" else len(ids) - 1 for ids in IDS]
        x = head(states[torch.arange(len(IDS)), torch.tensor(last)])
    return (x if x.shape[1] == 1 else x.softmax(-1)).tolist()


def write(folder, name, seed):
    torch.manual_seed(sum(name.encode()) + 10000 * seed)
    config_class, model_class, labels = CASES[name]
    config = getattr(transformers, config_class)(**SIZES, num_labels=labels, tie_word_embeddings=False)
    extra = {}
    if model_class:
        whole = getattr(transformers, model_class)(config)
        head, inner = whole.score, whole.model
        torch.nn.init.normal_(head.weight, std=0.4)
        if head.bias is not None:
            torch.nn.init.normal_(head.bias, std=0.4)
    else:
        whole = getattr(transformers, CAUSAL.get(config_class, config_class.replace("Config", "ForCausalLM")))(config)
        inner = whole.model
        if name == "qwen2_process":
            head = torch.nn.Sequential(linear(16, 16), torch.nn.ReLU(), linear(labels, 16))
            extra = {"score." + key: value for key, value in head.state_dict().items()}
        else:
            head = linear(1, 16)
            extra = {"v_head.summary." + key: value for key, value in head.state_dict().items()}
    for parameter in inner.parameters():  # biases and norms that are no zeros and ones
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
    whole.eval().save_pretrained(folder)
    if extra:
        tensors = {key: value for key, value in whole.state_dict().items() if name != "qwen2_process" or key != "lm_head.weight"}
        save_file({key: value.contiguous() for key, value in (tensors | extra).items()}, folder / "model.safetensors")
    if name == "qwen2_process":
        path = folder / "config.json"
        path.write_text(path.read_text().replace("Qwen2ForCausalLM", "Qwen2ForProcessRewardModel"))
    exact = copy.deepcopy(whole).double() if model_class and "Sequence" in model_class else None
    exact_model, exact_head = copy.deepcopy(inner).double(), copy.deepcopy(head).double()
    sequences = []
    with torch.no_grad():
        left, right = (padded(exact_model, exact_head, exact, side) for side in ("left", "right"))
        for i, ids in enumerate(IDS):
            sequences.append({
                "ids": ids,
                "says": says(exact_model, exact_head, ids).T.tolist(),
                "f32": says(inner, head, ids).T.tolist(),
                "left": left[i],
                "right": right[i],
            })
    expected = {"made_with": f"transformers {transformers.__version__}, torch {torch.__version__}", "sequences": sequences}
    (folder / "expected.json").write_text(json.dumps(expected))
    (folder / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    out, *seed = sys.argv[1:]
    for case in CASES:
        directory = pathlib.Path(out) / case
        directory.mkdir(parents=True, exist_ok=True)
        write(directory, case, int(*seed))
