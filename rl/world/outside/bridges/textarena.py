

import random
from contextlib import contextmanager

import textarena

parser.add_argument("--impure", action="store_true", help="equal seeds and turns do not make equal episodes")
o = options()
numpy = sys.modules.get("numpy")  # where the library has loaded it


def dice():
    """The state of the dice that games draw from: those of the interpreter."""
    return random.getstate(), numpy and numpy.random.get_state()


def put(state):
    random.setstate(state[0])
    if numpy:
        numpy.random.set_state(state[1])


class Episode:
    """A game for one player, with a state of the dice of its own."""

    def __init__(self, row):
        self.seed, outer = seed_of(row), dice()
        random.seed(self.seed)
        if numpy:
            numpy.random.seed(self.seed)
        self.dice = dice()
        put(outer)

    @contextmanager
    def own(self):
        outer = dice()
        put(self.dice)
        try:
            yield
        finally:
            self.dice = dice()
            put(outer)

    def told(self):
        """What the game has said since the turn before. What the player did is known."""
        _, seen = self.env.get_observation()
        texts = [text for _, text, kind in seen if kind != textarena.ObservationType.PLAYER_ACTION]
        return {"messages": [{"text": "\n".join(texts)}]}

    def first(self):
        with self.own():
            self.env = textarena.make(o.environment + "-raw", **o.arguments)  # its wrappers would say all again in each turn
            self.env.reset(num_players=1, seed=self.seed)
            return self.told()

    def step(self, text, cut):
        with self.own():
            done, _ = self.env.step(action=text)
            if not done:
                return self.told()
            rewards, info = self.env.close()
        return {"reward": float(rewards[0])} | over(o, float(rewards[0]), str(info[0].get("reason", "")))

    def close(self):
        pass


Episode({"number": 0}).first()  # a game for more players, or one that needs a file, fails here
serve(Episode, name="textarena", pure=not o.impure)
