# Stands in for a client of WebSockets and for the server behind it in TestBridges: it echoes a number, and is
# over at 9. It holds two sessions. A second server sends to one beyond this machine, and a third says too much.
import io, json, os, urllib.request, urllib.response

from ..exceptions import ConnectionClosed


schema = json.dumps({"action": {"properties": {"number": {"type": "integer"}, "tag": {}}}})
answers = {
    "http://127.0.0.1:1/schema": (200, {}, schema),
    "http://127.0.0.2:1/schema": (302, {"location": "http://example.com/schema"}, ""),
    "http://example.com/schema": (200, {}, schema),
    "http://127.0.0.3:1/schema": (200, {}, schema + " " * 2**20),
}


def answered(handler, request):
    code, headers, text = answers[request.full_url]
    response = urllib.response.addinfourl(io.BytesIO(text.encode()), headers, request.full_url, code)
    response.msg = "answered"
    return response


assert os.environ["WEBSOCKETS_MAX_REDIRECTS"] == "1"
urllib.request.HTTPHandler.http_open = answered
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
