

import hashlib, re

import gymnasium
import numpy

spaces = gymnasium.spaces
parser.add_argument("--actions", help="names of the actions, with commas between them, in place of numbers")
parser.add_argument("--ask", default="", help="what is said before the first observation")
parser.add_argument("--impure", action="store_true", help="equal seeds and actions do not make equal episodes")
o = options()
names = o.actions.split(",") if o.actions else []


def plain(x):
    """A value of a space as JSON has it, floats with four digits."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)) or isinstance(x, numpy.ndarray) and x.ndim:
        return [plain(value) for value in x]
    x = x.item() if isinstance(x, (numpy.generic, numpy.ndarray)) else x
    return float(f"{x:.4g}") if isinstance(x, float) else x


def shown(env, seen):
    """An observation as a text."""
    if env.render_mode == "ansi":  # what is coloured stands in brackets
        return re.sub("\x1b\\[[0-9;]*m(.*?)\x1b\\[0m", r"[\1]", env.render()).strip("\n")
    return seen if isinstance(seen, str) else json.dumps(plain(seen))


def state(seen):
    """A text that two observations share if they are equal."""
    text = json.dumps(plain(seen))
    return text if len(text) <= 4096 else hashlib.sha256(text.encode()).hexdigest()


def whole(space):
    """Whether its lists are of whole numbers."""
    return space.dtype.kind in "iu"


def accepted(space):
    if names:
        return "Say one of: " + ", ".join(names) + "."
    if isinstance(space, spaces.Discrete):
        return f"Say a whole number from {space.start} to {space.start + space.n - 1}."
    if isinstance(space, spaces.Text):
        return "Say a text."
    return f"Say a list of {'x'.join(map(str, space.shape))} {'whole ' * whole(space)}numbers, as JSON."


def action(space, text):
    """What the last line of a turn asks for; None: nothing that is accepted."""
    text = text.strip().rpartition("\n")[2].strip()
    try:
        if names:
            act = space.start + [name.lower() for name in names].index(text.lower())
        elif isinstance(space, spaces.Text):
            act = text
        elif isinstance(space, spaces.Discrete):
            act = int(text) if text.isascii() and text.lstrip("-").isdigit() else None
        else:
            said = numpy.array(json.loads(text)).reshape(space.shape)
            act = said.astype(space.dtype)
            if whole(space) and not numpy.array_equal(act, said):
                return None
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    return act if act is not None and space.contains(act) else None


class Episode:
    def __init__(self, row):
        self.env = gymnasium.make(o.environment, **o.arguments)
        self.seed, self.total, self.space = seed_of(row), 0.0, self.env.action_space

    def told(self, seen, *before):
        text = "\n".join([*before, shown(self.env, seen)])
        return {"messages": [{"text": text}], "state": state(seen)}

    def first(self):
        seen, _ = self.env.reset(seed=self.seed)
        out = self.told(seen, *[o.ask] * bool(o.ask))
        out["messages"][0]["text"] += "\n" + accepted(self.space)
        return out

    def step(self, text, cut):
        act = action(self.space, text)
        if act is None:
            return {"messages": [{"text": accepted(self.space)}]}
        seen, reward, terminated, truncated, _ = self.env.step(act)
        self.total += float(reward)
        return {"reward": float(reward)} | (self.judge() if terminated or truncated else self.told(seen))

    def judge(self):
        return over(o, self.total)

    def close(self):
        self.env.close()


tried = gymnasium.make(o.environment, **o.arguments)
space = tried.action_space
if not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box, spaces.Text)):
    parser.error(f"the actions of {o.environment} are {space}; accepted: numbers, lists of numbers, texts")
if names and not (isinstance(space, spaces.Discrete) and space.n == len(names)):
    parser.error(f"--actions has {len(names)} names, and the actions are {space}; accepted: a name for each number")
tried.close()
serve(Episode, name="gymnasium", pure=not o.impure, judges=True)
