

import verifiers

try:
    from verifiers.clients import Client
    from verifiers.types import Response, ResponseMessage
except ImportError:
    parser.error(f"verifiers {verifiers.__version__} has no loop that asks a client; accepted: versions with one, such as 0.1.14 and 0.3.1")

o = options()
environment = verifiers.load_environment(o.environment, **o.arguments)
if getattr(environment, "requires_group_rollouts", False):
    parser.error(f"{o.environment} scores groups; accepted: environments that score an episode")
data = environment.get_dataset()


def text_of(message):
    """What a message says."""
    content = message.content or ""
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, dict) else part.model_dump() for part in content]
    if any(part.get("type") != "text" for part in parts):
        raise ValueError("a message has more than texts")
    return "".join(part["text"] for part in parts)


class Policy(Client):
    """In place of a client of a model: what it is asked goes to rlzero, and what it answers is a turn."""

    def __init__(self):
        super().__init__(None)
        self.asked, self.turns = asyncio.Queue(), asyncio.Queue()

    async def get_response(self, prompt, model, sampling_args, tools=None, **more):
        self.asked.put_nowait((prompt, tools))
        text, cut = await self.turns.get()
        end = "length" if cut else "stop"
        return Response(id="", created=0, model=model, message=ResponseMessage(content=text, finish_reason=end, is_truncated=cut))


Policy.__abstractmethods__ = frozenset()  # the rest translates to what no model here reads


class Episode:
    def __init__(self, row):
        self.row, self.policy, self.known = dict(data[row["number"]]), Policy(), []

    def first(self):
        self.playing = asyncio.ensure_future(environment.rollout(self.row, self.policy, "policy", {}))
        return self.told()

    def step(self, text, cut):
        self.known.append(("assistant", text))
        self.policy.turns.put_nowait((text, cut))
        return self.told()

    async def told(self):
        """What the environment says next: its loop runs until it asks for a turn, or is over."""
        asked = asyncio.ensure_future(self.policy.asked.get())
        await asyncio.wait({asked, self.playing}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            asked.cancel()
            state = self.playing.result()
            if state.get("error"):
                raise state["error"]
            await environment.rubric.score_rollout(state)
            reward = float(state["reward"])
            return {"reward": reward} | over(o, reward)
        prompt, tools = asked.result()
        said = [(message.role, text_of(message)) for message in prompt]
        new = said[len(self.known) :]
        if tools:
            raise ValueError("the environment has tools; accepted: texts alone")
        if said[: len(self.known)] != self.known or any(role == "assistant" for role, _ in new):
            raise ValueError("what the policy reads is not what it read and said before, and a message more")
        self.known = said
        return {"messages": [{"text": "\n\n".join(text for _, text in new)}]}

    def close(self):
        self.playing.cancel()


serve(Episode, rows=lambda first: [{"number": i} for i in range(first, min(first + 1000, len(data)))], name="verifiers", pure=False)
