# Stands in for a client of WebSockets and for the server behind it in TestBridges: it echoes a number, and is
# over at 9. It holds two sessions.
import io, json, urllib.request

from ..exceptions import ConnectionClosed


class opener:
    def open(self, address, timeout):
        assert address == "http://127.0.0.1:1/schema"
        return io.BytesIO(json.dumps({"action": {"properties": {"number": {"type": "integer"}, "tag": {}}}}).encode())


urllib.request.build_opener = lambda *handlers: opener()
sessions = set()


class Session:
    async def send(self, text):
        if len(sessions) == 2 and self not in sessions:
            self.answer = {"type": "error", "data": {"code": "CAPACITY_REACHED", "max_sessions": 2}}
            raise ConnectionClosed
        sessions.add(self)
        asked = json.loads(text)
        data, number = asked["data"], asked["data"].get("number")
        if asked["type"] == "reset":
            said = {"observation": {"text": f"ready, {data['seed']}"}, "reward": None, "done": False}
        elif not isinstance(number, int):
            self.answer = {"type": "error", "data": {"code": "VALIDATION_ERROR", "errors": [{"msg": "no integer"}]}}
            return
        elif number < 0:
            self.answer = {"type": "error", "data": {"code": "EXECUTION_ERROR", "message": "below 0"}}
            return
        else:
            said = {"observation": {"text": f"{data['tag']} {number}"}, "reward": 0.5, "done": number == 9}
        self.answer = {"type": "observation", "data": said}

    async def recv(self):
        return json.dumps(self.answer)

    async def close(self):
        sessions.discard(self)


async def connect(address, **options):
    assert address == "ws://127.0.0.1:1/ws"
    return Session()
