"""Chat templates on random conversations, as transformers renders them, and random text, those
renderings among it, as the library tokenizers cuts it into ids and puts it together again."""

import collections
import json
import random
import re
import shutil
import unicodedata
from pathlib import Path

from . import gotest

WORDS = ["the", "of", "Paris", "don't", "I'll", "x=1", "2024", "1,234.5", "naïve", "Straße", "你好世界", "こんにちは", "مرحبا", "한국어", "🙂", "👩‍👩‍👧", "e\u0301", "Ⅻ", "ﬁ", "\u200b", "\u00a0", "\t", "\n", "\n\n", "  ", "    ",
         "\r\n", "def f(x):", "{{ x }}", "{% if %}", "<b>&amp;</b>", "'quoted'", '"said"', "\\n", "<|im_end|>", "<think>", "</think>", "[INST]", "</s>", "<s>", "a" * 40, "!!!", "...", "—", "$5", "%", "_under_", "CamelCaseWord", "\u2028", "\x00", "\x7f", "ﷺ", "ǅ", "ß", "İ"]
# What rlzero does not render, or not with the same words.
DATED = re.compile(r"strftime_now")
CASES = 8  # conversations for each template of a round
LEAST = 5  # texts of a tokenizer, however little is left to compare
VOCABULARY = 800  # tokens of one that is trained here


class Area:
    def __init__(self, scratch):
        trl = gotest.imported("trl")
        self.templates, self.text = gotest.build("model/text/template", scratch), gotest.build("model/text", scratch)
        folders = [Path(trl.__file__).parent / "chat_templates", gotest.FIXTURES / "chat_templates" / "templates"]
        self.sources = {p.stem: p.read_text() for folder in folders if folder.is_dir() for p in sorted(folder.glob("*.jinja"))}
        self.tokenizers = sorted(p.parent for p in (gotest.FIXTURES / "tokenizers").glob("*/tokenizer.json"))

    def round(self, seed, part, count, folder, plant):
        rng, left_out, differ = random.Random(f"{seed}/{part}/texts"), collections.Counter(), []
        rendered = self.render(rng, count // 2, folder / "chat_templates", plant, left_out)
        self.encode(rng, count - count // 2, rendered, folder / "tokenizers", plant)
        made = {}
        for program, package, wanted, name in ((self.templates, "model/text/template", "^TestFixtures$", "chat_templates"), (self.text, "model/text", "^TestTokenizers$", "tokenizers")):
            said, failed = gotest.run(program, package, wanted, folder)
            made[name], differing = gotest.reported(said, name)
            lines = [line for test in failed for line in said[test] if "fixtures:" not in line and line.strip()]
            starts = [i for i, line in enumerate(lines) if not line.lstrip().startswith(("got ", "want "))]
            each = [("texts/" + lines[i][:70], lines[i:j]) for i, j in zip(starts, starts[1:] + [len(lines)])]
            differ += (each + [(f"texts/{name}: one more", [])] * differing)[:max(differing, len(each))]
        return made, differ, left_out

    def render(self, rng, count, folder, plant, left_out):
        """Random conversations with random templates; returns what they became."""
        from jinja2.exceptions import TemplateError
        from transformers.utils import chat_template_utils
        compiled = getattr(chat_template_utils, "_cached_compile_jinja_template", None) or chat_template_utils._compile_jinja_template
        (folder / "templates").mkdir(parents=True)
        scenarios, expected, texts = {}, {}, []
        while (left := count - sum(map(len, expected.values()))) > 0:
            name = rng.choice(sorted(self.sources))
            if DATED.search(self.sources[name]):
                left_out[f"chat_templates: {name} writes the date"] += 1
                continue
            (folder / "templates" / f"{name}.jinja").write_text(self.sources[name])
            for _ in range(min(CASES, left)):
                scenario, c = f"s{len(scenarios)}", conversation(rng)
                given = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None, **json.loads(json.dumps(c))}
                try:
                    out = {"ok": compiled(self.sources[name]).render(**given)}
                    texts.append(out["ok"])
                except TemplateError as err:
                    if type(err) is not TemplateError:  # raised by what the template says
                        left_out[f"chat_templates: {type(err).__name__} of jinja2"] += 1
                        continue
                    out = {"err": f"TemplateError: {err}"}
                except Exception as err:  # what a template does to a value that Python refuses
                    left_out[f"chat_templates: {type(err).__name__} of Python in a template"] += 1
                    continue
                scenarios[scenario] = c
                expected.setdefault(name, {})[scenario] = out
        if plant == "template-text":
            planted = next(out for of in expected.values() for out in of.values() if out.get("ok"))
            planted["ok"] = planted["ok"][:-1]
        (folder / "expected.json").write_text(json.dumps({"scenarios": scenarios, "expected": expected}))
        return texts

    def encode(self, rng, count, rendered, folder, plant):
        """Random texts by a published tokenizer and by one that is trained here."""
        from tokenizers import Tokenizer
        kinds = [None, *([rng.choice(self.tokenizers)] if self.tokenizers else [])]
        for kind in kinds:
            one = folder / (kind.name if kind else "trained")
            one.mkdir(parents=True)
            if kind:
                shutil.copyfile(kind / "tokenizer.json", one / "tokenizer.json")
                tok = Tokenizer.from_file(str(one / "tokenizer.json"))
            else:
                tok = trained(rng)
                tok.save(str(one / "tokenizer.json"))
            cases = []
            for i in range(max(LEAST, count // len(kinds))):
                text = rng.choice(rendered) if rendered and i % 3 == 0 else words(rng, 1, 30)
                ids = tok.encode(text, add_special_tokens=False).ids
                cases.append({"text": text, "ids": ids, "decoded": tok.decode(ids, skip_special_tokens=False)})
            if plant == "template-id" and kind is kinds[-1]:
                planted = next(c for c in cases if c["ids"])
                planted["ids"][0] = (planted["ids"][0] + 1) % tok.get_vocab_size()
            (one / "expected.json").write_text(json.dumps(cases))


def words(rng, least, most):
    out = ""
    for _ in range(rng.randint(least, most)):
        one = chr(rng.choice([rng.randint(32, 0x2FF), rng.randint(0x300, 0xD7FF), rng.randint(0x1F300, 0x1FAFF)]))
        known = unicodedata.category(one) != "Cn"  # to Python, which escapes others where it prints a list; Go knows more of them
        out += rng.choice(WORDS) if rng.random() < 0.9 or not known else one
        out += " " if rng.random() < 0.5 else ""
    return out


def value(rng, depth=0):
    kinds = [lambda: words(rng, 0, 3), lambda: rng.randint(-9, 99), lambda: rng.choice([0.5, 1e-7, 1e16, -2.0]), lambda: rng.choice([True, False, None])]
    if depth < 2:
        kinds += [lambda: [value(rng, depth + 1) for _ in range(rng.randint(0, 3))], lambda: {rng.choice(WORDS[:6]): value(rng, depth + 1) for _ in range(rng.randint(0, 3))}]
    return rng.choice(kinds)()


def conversation(rng):
    """Messages as clients send them, and the other variables that templates know."""
    messages, thinks = [], rng.random() < 0.3
    content = lambda: words(rng, 0, 8) if rng.random() < 0.85 else [{"type": "text", "text": words(rng, 0, 4)} for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.5:
        messages.append({"role": "system", "content": content()})
    for _ in range(rng.randint(1, 4)):
        messages.append({"role": "user", "content": content()})
        if rng.random() < 0.15:
            continue  # two of the user, one after the other
        answer = {"role": "assistant", "content": content()}
        if thinks and rng.random() < 0.6:
            if rng.random() < 0.5:
                answer["reasoning_content"] = words(rng, 0, 5)
            elif isinstance(answer["content"], str):
                answer["content"] = f"<think>\n{words(rng, 0, 4)}\n</think>\n\n{answer['content']}"
        if rng.random() < 0.25:
            calls = [{"type": "function", "id": f"call{len(messages):04d}{i}", "function": {"name": rng.choice(["get", "look_up"]), "arguments": {w: value(rng) for w in rng.sample(WORDS[:6], rng.randint(0, 3))}}} for i in range(rng.randint(1, 2))]
            answer.update(tool_calls=calls, **({"content": rng.choice(["", None])} if rng.random() < 0.6 else {}))
            messages.append(answer)
            messages += [{"role": "tool", "name": c["function"]["name"], "tool_call_id": c["id"], "content": words(rng, 0, 5)} for c in calls]
            if rng.random() < 0.7:
                messages.append({"role": "assistant", "content": content()})
            continue
        messages.append(answer)
    if rng.random() < 0.4 and messages[-1]["role"] == "assistant":
        messages.pop()
    c = {"messages": messages, "add_generation_prompt": rng.random() < 0.6}
    if rng.random() < 0.3:
        c["tools"] = [{"type": "function", "function": {"name": rng.choice(["get", "look_up"]), "description": words(rng, 0, 6), "parameters": {"type": "object", "properties": {
            w: {"type": rng.choice(["string", "integer", "array", "boolean"]), "description": words(rng, 0, 4), **({"enum": [value(rng, 2) for _ in range(2)]} if rng.random() < 0.3 else {})} for w in rng.sample(["a", "b", "city"], rng.randint(0, 3))}, "required": rng.choice([[], ["a"]])}}} for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.3:
        c["enable_thinking"] = rng.random() < 0.5
    return c


def trained(rng):
    """A BPE tokenizer of random parts, trained on random text."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    level = rng.random() < 0.7
    tok = Tokenizer(models.BPE(byte_fallback=not level, unk_token=None if level else "<unk>", fuse_unk=rng.random() < 0.5, ignore_merges=rng.random() < 0.3))
    forms = [normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()]
    space = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")][rng.randrange(2):]
    chosen = ([rng.choice(forms)] if rng.random() < 0.5 else []) + ([] if level else space)
    if chosen:
        tok.normalizer = normalizers.Sequence(chosen) if len(chosen) > 1 or rng.random() < 0.5 else chosen[0]
    behaviors = ["isolated", "removed", "merged_with_previous"]
    patterns = [r"\p{N}{1,3}", r"\p{L}+", r"\s+(?!\S)|\s+", r"'(?i:[sdmt]|ll|ve|re)", r"[^\s\p{L}\p{N}]+"]
    split = lambda: pre_tokenizers.Split(Regex(rng.choice(patterns)), rng.choice(behaviors), invert=rng.random() < 0.2)
    steps = [split() for _ in range(rng.randint(0, 2))] + ([pre_tokenizers.Digits(individual_digits=rng.random() < 0.5)] if rng.random() < 0.3 else [])
    if level:
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=rng.random() < 0.4, use_regex=rng.random() < 0.6))
        tok.decoder = decoders.ByteLevel()
    else:
        tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *([decoders.Strip(" ", 1, 0)] if rng.random() < 0.5 else [])])
    if steps:
        tok.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    special = ["<unk>", *(f"<0x{b:02X}>" for b in range(256))] if not level else []
    tok.train_from_iterator([words(rng, 5, 40) for _ in range(400)], trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if level else [], show_progress=False))
    flag = lambda: rng.random() < 0.3
    tok.add_tokens([AddedToken(w, single_word=flag(), lstrip=flag(), rstrip=flag(), normalized=tok.normalizer is None and flag(), special=flag()) for w in rng.sample(["<|im_end|>", "<think>", "the", "</s>", "[INST]", "é", " of"], 4)])
    return tok
