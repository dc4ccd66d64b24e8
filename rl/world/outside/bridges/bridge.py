# A world of rlzero whose episodes are those of an environment of others: rlzero worlds bridge wrote this file.
# Its arguments are printed by --help. Each line that it reads and writes is a JSON object; docs/guide/environment.md
# of rlzero has the protocol.
import argparse, asyncio, inspect, json, os, sys, traceback, zlib

# Standard output is the protocol's alone: what an environment prints is log.
asked = os.fdopen(os.dup(0), encoding="utf-8")
told = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)

parser = argparse.ArgumentParser()
parser.add_argument("environment", help="its name; of openenv the address of its server")
parser.add_argument("--with", dest="arguments", type=json.loads, default={}, metavar="JSON", help="arguments of the environment, of openenv those of its reset: an object")
parser.add_argument("--low", type=float, default=0.0, help="the return that scores 0, as any below it")
parser.add_argument("--high", type=float, default=1.0, help="the return that scores 1, as any above it")


def options():
    o = parser.parse_args()
    if not o.low < o.high:
        parser.error(f"--low is {o.low} and --high {o.high}; accepted: low < high")
    if not isinstance(o.arguments, dict):
        parser.error("--with is no JSON object")
    return o


def say(message):
    told.write(json.dumps(message, allow_nan=False) + "\n")
    told.flush()


def seed_of(row):
    """The seed of a problem: it depends on nothing else, so all samples of a problem begin alike."""
    number = row.get("number")
    return (number if isinstance(number, int) else zlib.crc32(json.dumps(row, sort_keys=True).encode())) % 2**31


def over(o, total, reason=""):
    """What ends an episode with this return."""
    score = (total - o.low) / (o.high - o.low)
    return {"verdict": {"score": min(max(score, 0.0), 1.0), "reason": reason or f"a return of {total:g}"}}


async def answer(games, begin, rows, o):
    to = {key: o[key] for key in ("id",) if key in o}
    try:
        if o["op"] == "rows":
            out = {"rows": rows(o["from"])}
        elif o["op"] == "begin":
            games[o["id"]] = game = begin(o["row"])
            out = game.first()
        elif o["op"] == "close":
            game = games.pop(o["id"], None)
            out = game.close() if game else None
        elif o["op"] == "judge":
            out = games[o["id"]].judge()
        else:
            out = games[o["id"]].step(o["text"], o.get("cut", False))
        if inspect.isawaitable(out):
            out = await out
        say(to | (out or {}))
    except Exception as e:  # the world's fault, what is no JSON as well: the episode is not scored
        traceback.print_exc()
        say(to | {"error": repr(e)})


def serve(begin, rows=None, **hello):
    """Answers until the input ends. begin(row) is an episode."""

    async def main():
        games, work, loop = {}, set(), asyncio.get_running_loop()
        say({"protocol": 1, "at_once": 64, "rows": rows is not None, **hello})
        while line := await loop.run_in_executor(None, asked.readline):
            task = loop.create_task(answer(games, begin, rows, json.loads(line)))
            work.add(task)
            task.add_done_callback(work.discard)

    asyncio.run(main())
