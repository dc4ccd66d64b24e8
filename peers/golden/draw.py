"""Random batches in the shapes that losses trip over: holes in the mask, rows without tokens,
ratios of exactly 1, very large ones and infinite ones, advantages of 0, groups of one, equal rewards."""

import random

# What a batch is like, and how often.
MASKS = {"full": 2, "ragged": 4, "holes": 4, "empty": 2}
# Standard deviation of what separates two log-probs of one token, in nats.
DISTANCES = {0.0: 1, 0.05: 3, 0.3: 5, 2.0: 2, 12.0: 1, 900.0: 0.25}


def weighted(rng: random.Random, choices: dict):
    return rng.choices(list(choices), list(choices.values()))[0]


def number(x: float) -> float:
    """Inputs have six decimals, so that a file gives back the same float64."""
    return round(x, 6)


def mask(rng, rows, columns, kind=None):
    """0 and 1, [row][column]; some token counts."""
    kind = kind or weighted(rng, MASKS)
    out = []
    for _ in range(rows):
        length = columns if kind == "full" else rng.randint(1, columns)
        out.append([1] * length + [0] * (columns - length))
    if kind in ("holes", "empty"):
        out = [[m and rng.random() < 0.75 for m in row] for row in out]
    if kind == "empty":
        out[rng.randrange(rows)] = [0] * columns
    if not any(map(any, out)):
        out[rng.randrange(rows)][0] = 1
    return [[int(m) for m in row] for row in out]


def logps(rng, rows, columns):
    return [[number(-rng.expovariate(1.0) - 1e-6) for _ in range(columns)] for _ in range(rows)]


def near(rng, base, distance=None):
    """Log-probs of the same tokens by another policy; ties stay ties."""
    if distance is None:
        distance = weighted(rng, DISTANCES)
    tied = 0.3 if rng.random() < 0.3 else 0.0
    return [[x if rng.random() < tied else number(min(-1e-6, x + rng.gauss(0, distance))) for x in row] for row in base]


def matrix(rng, rows, columns, value):
    return [[value() for _ in range(columns)] for _ in range(rows)]


def advantages(rng, rows, columns, per_token):
    def one():
        return 0.0 if rng.random() < 0.1 else number(rng.gauss(0, weighted(rng, {1.0: 5, 1e-3: 1, 50.0: 1})))
    if per_token:
        return matrix(rng, rows, columns, one)
    return [one() for _ in range(rows)]


def shape(rng):
    return rng.randint(1, 8), weighted(rng, {1: 1, 3: 2, 5: 3, 7: 3})


def groups(rng, rows):
    """Prompt of each row: interleaved, of any size, one among them."""
    prompts = rng.randint(1, rows)
    return [rng.randrange(prompts) for _ in range(rows)]


def rewards(rng, rows):
    """Of rows; binary, equal, or any."""
    kind = rng.choice(["binary", "binary", "equal", "any", "any", "large"])
    if kind == "equal":  # with an exact mean, as TRL divides what rounding leaves of it by 1e-4
        return [round(rng.gauss(0, 64)) / 64] * rows
    one = {"binary": lambda: float(rng.random() < 0.5), "any": lambda: number(rng.gauss(0, 1)), "large": lambda: round(rng.gauss(0, 1e4)) / 1.0}[kind]
    return [one() for _ in range(rows)]
