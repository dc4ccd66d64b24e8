

import ipaddress, urllib.request
from contextlib import suppress

os.environ["WEBSOCKETS_MAX_REDIRECTS"] = "1"  # the one attempt is the address itself
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

parser.add_argument("--say", default="message", metavar="FIELD", help="the field of an action that a turn is")
parser.add_argument("--action", type=json.loads, default={}, metavar="JSON", help="the other fields of each action")
parser.add_argument("--show", default="observation", metavar="PATH", help="what is told of an answer, such as observation.text")
parser.add_argument("--pure", action="store_true", help="equal seeds and turns make equal episodes: the server obeys the seed of reset")
parser.add_argument("--sessions", type=int, default=64, help="how many the server holds at a time")
parser.add_argument("--connect", action="store_true", help="the address may lie beyond this machine")
o = options()
if not isinstance(o.action, dict):
    parser.error("--action is no JSON object")
host = o.environment.rpartition(":")[0].strip("[]")
try:
    near = host == "localhost" or ipaddress.ip_address(host).is_loopback
except ValueError:
    near = False
if not (near or o.connect):
    parser.error(f"{o.environment} is not on this machine; accepted: HOST:PORT of loopback, such as 127.0.0.1:8000, or any with --connect")

direct = urllib.request.OpenerDirector()  # it follows no redirection, and knows no proxy
for handler in (urllib.request.HTTPHandler, urllib.request.HTTPErrorProcessor, urllib.request.HTTPDefaultErrorHandler):
    direct.add_handler(handler())
with direct.open(f"http://{o.environment}/schema", timeout=10) as answered:
    schema = answered.read((1 << 20) + 1)
if len(schema) > 1 << 20:
    parser.error(f"the schema of {o.environment} has more than 1 MiB")
fields = json.loads(schema)["action"].get("properties", {})
if o.say not in fields:
    parser.error(f"--say is {o.say}, which no action has; accepted: {', '.join(sorted(fields))}")
text_alone = fields[o.say].get("type", "string") == "string"


class Episode:
    """A session of the server: a connection of its own."""

    def __init__(self, row):
        self.seed, self.total, self.talk = seed_of(row), 0.0, None

    async def first(self):
        self.talk = await connect(f"ws://{o.environment}/ws", proxy=None, max_size=1 << 20, open_timeout=30)
        return await self.ask("reset", {"seed": self.seed} | o.arguments)

    async def step(self, text, cut):
        value = text
        if not text_alone:
            try:
                value = json.loads(text.strip().rpartition("\n")[2])
            except (ValueError, RecursionError):
                return {"messages": [{"text": f"Say a value of {o.say} as JSON: " + json.dumps(fields[o.say])}]}
        return await self.ask("step", o.action | {o.say: value})

    async def ask(self, kind, data):
        with suppress(ConnectionClosed):  # a server that is full says so, and closes
            await self.talk.send(json.dumps({"type": kind, "data": data}))
        said = json.loads(await self.talk.recv())
        data = said["data"]
        if said["type"] == "error":
            if kind == "step" and data.get("code") == "VALIDATION_ERROR":  # the turn is no action
                return {"messages": [{"text": "Invalid action: " + "; ".join(e.get("msg", "") for e in data.get("errors", []))}]}
            if data.get("code") == "CAPACITY_REACHED":
                raise RuntimeError(f"the server holds {data.get('max_sessions')} sessions at most, and this world wants {o.sessions}: let it hold more (max_concurrent_envs)")
            raise RuntimeError(f"the server says {data.get('code')}: {data.get('message')}")
        reward = float(data.get("reward") or 0)
        self.total += reward if kind == "step" else 0
        if data.get("done"):
            return {"reward": reward} | self.judge()
        shown = data
        for key in o.show.split("."):
            shown = shown[int(key) if isinstance(shown, list) else key]
        text = shown if isinstance(shown, str) else json.dumps(shown)
        return {"messages": [{"text": text}]} | ({"reward": reward} if kind == "step" else {})

    def judge(self):
        return over(o, self.total)

    async def close(self):
        if self.talk:
            await self.talk.close()


serve(Episode, name="openenv", pure=o.pure, at_once=o.sessions, judges=True)
