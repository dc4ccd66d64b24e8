"""What others do, one piece of work a process: python -m beside.work NAME [MODEL]. Prints one JSON object:
the seconds of each repetition after one to warm up, and where time is more than one thing, its parts.

MODEL is a folder that rlzero reads too. "make" writes the one of "groups", with random weights; the others are exported
by rlzero. Prompts are those of rlzero bench, token by token, and logprob is what shows that: the mean, in nats, of the
likeliest token after each prompt, or of the tokens of the first update.
"""

import json
import random
import sys
import tempfile
import time
from importlib.metadata import version

import torch
import transformers

THREADS = 2
SECONDS = 6  # how long a short piece of work is repeated


def repeat(work, least=3):
    """Seconds of each repetition, after one that is not counted."""
    work()
    times, began = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - began < SECONDS:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def opened(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def prompts(model, batch, length):
    """Those of rlzero bench (prompt in rl/bench)."""
    return torch.tensor([[(i * 31 + j * 17 + 5) % model.config.vocab_size for j in range(length)] for i in range(batch)])


def likeliest(model, ids):
    with torch.inference_mode():
        return float(model(input_ids=ids, logits_to_keep=1).logits[:, -1].double().log_softmax(-1).max(-1).values.mean())


def decode(folder, batch):
    """One round of decoding for each sequence of a batch: prompts of 16 tokens, 8 new ones; the first comes out of
    the prompt. The faster of transformers' growing and fixed caches."""
    model, rounds = opened(folder).eval(), 7
    ids = prompts(model, batch, 16)

    def generate(new, cache):
        with torch.inference_mode():
            model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0, min_new_tokens=new, max_new_tokens=new,
                           cache_implementation=cache, disable_compile=True)

    best = None
    for cache in ("dynamic", "static"):
        first = min(repeat(lambda: generate(1, cache)))
        times = [(t - first) / rounds for t in repeat(lambda: generate(1 + rounds, cache))]
        if best is None or min(times) < min(best["seconds"]):
            best = {"seconds": times, "detail": f"{cache} cache"}
    return best | {"logprob": likeliest(model, ids)}


def prefill(folder):
    """A prompt of 512 tokens is read, and the logits of its last token computed."""
    model = opened(folder).eval()
    ids = prompts(model, 1, 512)

    def read():
        with torch.inference_mode():
            model(input_ids=ids, use_cache=True, logits_to_keep=1)

    return {"seconds": repeat(read), "logprob": likeliest(model, ids)}


def train(folder):
    """An update of all weights on 2 sequences of 128 tokens: forward, backward, clipping, AdamW."""
    model, losses = opened(folder).train(), []
    ids = prompts(model, 2, 129)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.99), fused=True)

    def update():
        optimizer.zero_grad(set_to_none=True)
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        losses.append(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return {"seconds": repeat(update), "logprob": -losses[0].item()}


def make(folder):
    """A model of 25 million parameters, the shape of that name of rlzero bench, with random weights."""
    # No token pads: torch would give it an embedding of zero, whose gradient each norm makes a thousand times as large, and
    # would leave that gradient out.
    config = transformers.Qwen3Config(
        vocab_size=8192, hidden_size=384, num_hidden_layers=12, num_attention_heads=6, num_key_value_heads=6, head_dim=64, intermediate_size=1024,
        max_position_embeddings=2048, rope_theta=100.0, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    torch.manual_seed(1)
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    return {}


def groups(folder):
    """An update on 16 completions of 100 tokens after one prompt of 1,000: each completion is computed with its prompt, four
    at a time."""
    model, losses = opened(folder).train(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.99), fused=True)
    # Those of rlzero bench (update in rl/bench/groups.go).
    ids = torch.tensor([[(j * 17 + i * (j >= 1000)) % model.config.vocab_size for j in range(1100)] for i in range(16)])

    def update():
        optimizer.zero_grad(set_to_none=True)
        for part in ids.split(4):
            logits = model(input_ids=part[:, :-1], use_cache=False, logits_to_keep=100).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), part[:, 1000:].flatten(), reduction="sum").div(1600)
            loss.backward()
            losses.append(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return {"seconds": repeat(update, least=2), "logprob": -sum(losses[:4]).item()}


def step(folder, problems, steps, cache):
    """Steps of TRL's GRPOTrainer: 32 prompts, 8 completions each of at most 14 tokens, 2 updates on half of them each,
    as stage rl of countdown-tiny. Rewards are drawn by chance and cost nothing, so that every group has advantages; the
    learning rate is 0, which costs as much and leaves the policy what it is. Without a reference model, gradient checkpoints
    or logs. cache is one of transformers' caches."""
    import datasets
    import trl

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    draw, clock = random.Random(1), Steps(every=2)
    prompts = [{"prompt": row["prompt"]} for row in read(problems)]
    with tempfile.TemporaryDirectory() as scratch:
        args = trl.GRPOConfig(
            output_dir=scratch, per_device_train_batch_size=128, gradient_accumulation_steps=1, steps_per_generation=2, num_generations=8,
            max_completion_length=14, temperature=1.0, top_k=0, beta=0.0, epsilon=0.2, epsilon_high=0.28, loss_type="dapo", learning_rate=0.0,
            generation_kwargs={"cache_implementation": cache},
            max_steps=2 * (steps + 1), logging_strategy="no", save_strategy="no", report_to=[], gradient_checkpointing=False, bf16=False, use_cpu=True,
            disable_tqdm=True, dataloader_num_workers=0, seed=1)
        rewards = lambda completions, **kwargs: [float(draw.random() < 0.5) for _ in completions]
        rewards.__name__ = "by_chance"
        trainer = clock.of(trl.GRPOTrainer)(model=model, reward_funcs=rewards, args=args, train_dataset=datasets.Dataset.from_list(prompts),
                                  processing_class=tokenizer, callbacks=[clock])
        trainer.train()
    return clock.said() | {"first": clock.times[0], "tokens": sum(clock.learned) / (128 * len(clock.learned)), "detail": f"{cache} cache"}


class Steps(transformers.TrainerCallback):
    """When each step of a trainer ended, of so many of its own, and how many tokens each update learned from."""

    def __init__(self, every=1):
        self.every, self.times, self.learned = every, [], []

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % self.every == 0:
            self.times.append(time.perf_counter())

    def of(self, trainer):
        """The class of a trainer that counts its tokens."""
        def compute_loss(this, model, inputs, *args, **kwargs):
            mask = inputs["completion_mask"] if "completion_mask" in inputs else inputs["labels"][:, 1:] != -100
            self.learned.append(int(mask.sum()))
            return trainer.compute_loss(this, model, inputs, *args, **kwargs)

        return type(trainer.__name__, (trainer,), {"compute_loss": compute_loss})

    def said(self):
        return {"seconds": [b - a for a, b in zip(self.times, self.times[1:])], "learned": self.learned}


DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
# What trainers write, keep and move, where nothing of it is wanted.
BARE = {"logging_strategy": "no", "save_strategy": "no", "report_to": [], "gradient_checkpointing": False, "bf16": False, "use_cpu": True,
        "disable_tqdm": True, "dataloader_num_workers": 0, "seed": 1}


def read(file):
    with open(file) as f:
        return [json.loads(line) for line in f]


def lora(folder, problems, dtype):
    """Two steps of TRL's GRPOTrainer on an adapter of PEFT: 8 completions of a prompt, 32 tokens each, one update, as
    lora-math does it. Rewards are drawn by chance."""
    import datasets
    import peft
    import trl

    draw, clock = random.Random(1), Steps()
    rewards = lambda completions, **kwargs: [float(draw.random() < 0.5) for _ in completions]
    rewards.__name__ = "by_chance"
    prompts = [{"prompt": [{"role": "user", "content": row["question"]}]} for row in read(problems)]
    with tempfile.TemporaryDirectory() as scratch:
        args = trl.GRPOConfig(
            output_dir=scratch, per_device_train_batch_size=8, gradient_accumulation_steps=1, num_generations=8, max_completion_length=32,
            generation_kwargs={"min_new_tokens": 32}, temperature=1.0, top_k=0, beta=0.0, epsilon=0.2, epsilon_high=0.28, loss_type="grpo",
            learning_rate=1e-4, max_steps=2, **BARE)
        clock.of(trl.GRPOTrainer)(
            model=transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=DTYPES[dtype]), reward_funcs=rewards, args=args,
            train_dataset=datasets.Dataset.from_list(prompts), processing_class=transformers.AutoTokenizer.from_pretrained(folder, padding_side="left"),
            peft_config=peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"), callbacks=[clock]).train()
    return clock.said()


def sft(folder, rows, dtype):
    """Two steps of TRL's SFTTrainer on 4 conversations each, all weights: of answers alone up to their end token, as
    sft-chat does it. From messages TRL would learn the line's end too that the template writes after it."""
    import datasets
    import trl

    clock, tokenizer = Steps(), transformers.AutoTokenizer.from_pretrained(folder)
    shown = []
    for row in read(rows):
        prompt = tokenizer.apply_chat_template(row["messages"][:-1], add_generation_prompt=True, tokenize=False)
        whole = tokenizer.apply_chat_template(row["messages"], tokenize=False).rstrip("\n")
        prompt, whole = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, whole))
        shown.append({"input_ids": whole, "completion_mask": [int(i >= len(prompt)) for i in range(len(whole))]})
    with tempfile.TemporaryDirectory() as scratch:
        args = trl.SFTConfig(
            output_dir=scratch, per_device_train_batch_size=4, gradient_accumulation_steps=1, max_length=1024, packing=False, completion_only_loss=True, learning_rate=1e-5,
            weight_decay=0.01, max_steps=2, **BARE)
        clock.of(trl.SFTTrainer)(
            model=transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=DTYPES[dtype]), args=args, train_dataset=datasets.Dataset.from_list(shown),
            processing_class=tokenizer, callbacks=[clock]).train()
    return clock.said()


# What work uses beside torch and transformers.
TRAINERS = {"step": ["trl"], "lora": ["trl", "peft"], "sft": ["trl"]}


def main():
    torch.set_num_threads(THREADS)
    name, *rest = sys.argv[1:]
    began = time.time() - time.perf_counter()  # of perf_counter, on the clock of the caller
    transformers.utils.logging.set_verbosity_error()
    if name == "step":
        out = step(rest[0], rest[1], int(rest[2]), rest[3])
        out["first"] += began
    elif name in ("lora", "sft"):
        out = {"lora": lora, "sft": sft}[name](*rest)
    else:
        out = {"decode": lambda folder, batch: decode(folder, int(batch)), "prefill": prefill, "train": train, "groups": groups, "make": make}[name](*rest)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__} | {package: version(package) for package in TRAINERS.get(name, [])}
    print(json.dumps(out | {"versions": versions}))


if __name__ == "__main__":
    main()
