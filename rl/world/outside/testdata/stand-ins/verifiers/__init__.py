# Stands in for verifiers in TestBridges: its loop asks a client until two answers were given.
from types import SimpleNamespace as Message


class Rubric:
    async def score_rollout(self, state):
        state["reward"] = float(state["said"][-1] == state["answer"])


class Environment:
    rubric = Rubric()

    def get_dataset(self):
        return [{"prompt": f"double {i}", "answer": str(2 * i)} for i in range(3)]

    async def rollout(self, row, client, model, sampling):
        prompt, said = [Message(role="system", content="Be brief."), Message(role="user", content=row["prompt"])], []
        while len(said) < 2:
            response = await client.get_response(prompt, model, sampling)
            said.append(response.message.content)
            if said[-1] == "boom":
                return {"error": RuntimeError("it broke")}
            answer = "changed" if said[-1] == "rewrite" else said[-1]
            prompt = prompt + [Message(role="assistant", content=answer), Message(role="user", content="again")]
        return {"said": said, "answer": row["answer"]}


def load_environment(name, **arguments):
    return Environment()
