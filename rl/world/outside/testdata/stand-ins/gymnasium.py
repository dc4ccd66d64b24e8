# Stands in for gymnasium in TestBridges: a corridor of 4 places, from a place of the seed, with the goal on the right,
# and two switches.
import numpy

class spaces:
    class Discrete:
        start, n = 0, 2

        def contains(self, x):
            return 0 <= x < 2

        def __str__(self):
            return "Discrete(2)"

    class Text: pass
    class MultiDiscrete:
        shape, dtype = (2,), numpy.dtype

        def contains(self, x):
            return len(x.values) == 2 and all(0 <= value < 3 for value in x.values)

    class MultiBinary: pass
    class Box: pass


class Corridor:
    action_space, render_mode = spaces.Discrete(), None

    def __init__(self, long=4, pays=-0.25, before=0):
        self.long, self.pays, self.before = long, pays, before

    def reset(self, seed):
        self.at = seed % self.long
        return self.seen(), {}

    def seen(self):
        return {"before": [0] * self.before, "at": self.at} if self.before else {"at": self.at}

    def step(self, action):
        self.at += 1 if action else -1
        return self.seen(), self.pays, self.at == self.long, False, {}

    def close(self):
        print("closed: this is log, and no answer")


class Switches(Corridor):
    action_space = spaces.MultiDiscrete()

    def step(self, action):
        return action, 0, False, False, {}


def make(name, **arguments):
    return {"Corridor-v0": Corridor, "Switches-v0": Switches}[name](**arguments)
