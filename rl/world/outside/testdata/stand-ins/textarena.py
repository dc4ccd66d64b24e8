# Stands in for textarena in TestBridges: guess a roll of the interpreter's dice, of which each turn has a new one.
import enum, random


class ObservationType(enum.Enum):
    PROMPT, PLAYER_ACTION, GAME_MESSAGE = range(3)


class Dice:
    def reset(self, num_players, seed):
        random.seed(seed)
        self.seen = [(-1, "Guess.", ObservationType.PROMPT)]

    def get_observation(self):
        seen, self.seen = self.seen, []
        return 0, seen

    def step(self, action):
        rolled = random.randint(1, 1000)
        self.right = action == str(rolled)
        self.seen = [(0, action, ObservationType.PLAYER_ACTION), (-1, f"It was {rolled}.", ObservationType.GAME_MESSAGE)]
        return action == "enough" or self.right, {}

    def close(self):
        return {0: 1 if self.right else -1}, {0: {"reason": "no more"}}


def make(name, **arguments):
    assert name == "Dice-raw"
    return Dice()
