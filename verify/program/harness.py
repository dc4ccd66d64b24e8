# Runs programs, each in a fork of this process, which stays as it was at the start.
#
# Requests and replies are JSON, each behind its length in four bytes, on what were
# standard input and output. A program never holds these: it gets files of its own,
# and what it says comes back as values, to be judged elsewhere. The first byte of a
# reply says whose word it is: F, this process's, or R, passed on from a program.

import os, sys
sys.path[:] = [p for p in sys.path if p]
import ast, builtins, io, json, math, resource, struct, traceback
import bisect, collections, copy, dataclasses, datetime, decimal, enum, fractions, functools, heapq, itertools
import operator, queue, random, re, statistics, string, textwrap, threading, time, typing

CONTROL_IN, CONTROL_OUT = os.dup(0), os.dup(1)
SCRATCH = os.getcwd() if os.getcwd() == "/tmp" else None
MAX_FRAME = 16 << 20
MAX_DEPTH = 100


def read_exactly(fd, n):
    parts = []
    while n:
        part = os.read(fd, min(n, 1 << 20))
        if not part:
            return None
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def receive(fd):
    """The bytes of the next frame; None at the end or when the length is absurd."""
    head = read_exactly(fd, 4)
    if head is None:
        return None
    (n,) = struct.unpack("<I", head)
    return read_exactly(fd, n) if n <= MAX_FRAME else None


def send(fd, frame):
    frame = struct.pack("<I", len(frame)) + frame
    while frame:
        frame = frame[os.write(fd, frame):]


def say(fd, message):
    send(fd, json.dumps(message).encode())


def blank_file(data=b""):
    """A file without a name."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("file")
    else:
        import tempfile
        fd = os.dup(tempfile.TemporaryFile().fileno())
    while data:
        data = data[os.write(fd, data):]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


# Values as JSON that keeps their types.

def encode(v, keep=None, depth=0):
    if depth > MAX_DEPTH:
        raise ValueError("a value nested too deep")
    if v is None or v is True or v is False:
        return v
    if isinstance(v, str):
        return str.__str__(v)
    if isinstance(v, int):
        return {"i": int.__repr__(int(v))}
    if isinstance(v, float):
        return {"f": float.__repr__(float(v))}
    if isinstance(v, complex):
        return {"c": [repr(v.real), repr(v.imag)]}
    if isinstance(v, (bytes, bytearray)):
        return {"b": bytes(v).hex()}
    for kind, tag in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "fs"), (collections.deque, "l")):
        if isinstance(v, kind):
            return {tag: [encode(x, keep, depth + 1) for x in kind.__iter__(v)]}
    if isinstance(v, dict):
        return {"d": [[encode(k, keep, depth + 1), encode(x, keep, depth + 1)] for k, x in dict.items(v)]}
    if keep is None:
        return {"other": type(v).__name__}
    keep.append(v)
    return {"h": len(keep) - 1}


def decode(v, handle=None):
    if not isinstance(v, dict):
        return v
    (tag, x), = v.items()
    if tag == "i":
        return int(x)
    if tag == "f":
        return float(x)
    if tag == "c":
        return complex(float(x[0]), float(x[1]))
    if tag == "b":
        return bytes.fromhex(x)
    if tag == "d":
        return {decode(k, handle): decode(y, handle) for k, y in x}
    if tag == "h":
        return handle(x)
    kind = {"l": list, "t": tuple, "s": set, "fs": frozenset}[tag]
    return kind(decode(y, handle) for y in x)


# In the fork.

def enter(job, files):
    """Takes the files for its own (number to place) and the limits of one test."""
    top = 1 + max(files.values())
    moved = {fd: os.dup(fd) for fd in files}
    for fd, place in files.items():
        os.dup2(moved[fd], place)
    os.closerange(top, 1024)
    seconds = math.ceil(job["cpu"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (job["file"], job["file"]))
    if job["memory"]:
        resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    random.seed(0)


def load(job, name):
    space = {"__name__": name, "__builtins__": builtins}
    if name == "__main__":
        module = type(sys)("__main__")
        module.__dict__.update(space)
        space = module.__dict__
        sys.modules["__main__"] = module
    if job["setup"]:
        exec(compile(job["setup"], "<setup>", "exec"), space)
    exec(compile(job["program"], "<program>", "exec"), space)
    return space


def guarded(work):
    """Runs work and ends the process with the exit code that Python would."""
    code = 1
    try:
        work()
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except BaseException:
        try:
            traceback.print_exc(limit=-3)
        except BaseException:
            pass
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        code = 1
    os._exit(code & 0xFF)


def find(space, name):
    if name in space:
        return space[name]
    if "Solution" in space:
        return getattr(space["Solution"](), name)
    raise NameError(name)


def run_program(job):
    load(job, "__main__")


def run_call(job, result):
    space = load(job, "program")
    args, kwargs = json.loads(job["args"]), json.loads(job["kwargs"])
    value = find(space, job["call"])(*args, **kwargs)
    text = json.dumps(encode(value)).encode()
    while text:
        text = text[os.write(result, text):]


def run_serve(job, requests, replies):
    """Answers questions about a program: names, calls, attributes, items."""
    space = load(job, "program")
    kept = []
    say(replies, {"value": None})
    while True:
        frame = receive(requests)
        if frame is None:
            return
        q = json.loads(frame)
        try:
            if q["op"] == "name":
                v = find(space, q["name"])
            else:
                it = kept[q["handle"]]
                args = [decode(x, kept.__getitem__) for x in q["args"]]
                if q["op"] == "call":
                    v = it(*args, **{k: decode(x, kept.__getitem__) for k, x in q["kwargs"].items()})
                elif q["op"] == "attribute":
                    v = getattr(it, *args)
                elif q["op"] == "item":
                    v = it[args[0]]
                elif q["op"] == "length":
                    v = len(it)
                elif q["op"] == "text":
                    v = str(it)
                else:
                    v = list(itertools.islice(it, 1_000_000))
            say(replies, {"value": encode(v, kept)})
        except BaseException as e:
            say(replies, {"raised": type(e).__name__, "text": str(e)[:1000]})


class Refused(Exception):
    """What the program raised and is no exception of Python's own."""


def run_test(job, answers, questions):
    """Runs test code whose unknown names are the program's, reached by asking."""
    def ask(op, **rest):
        say(questions, {"op": op, **rest})
        frame = receive(answers)
        if frame is None:
            raise Refused("the program has ended")
        reply = json.loads(frame)
        if "raised" in reply:
            kind = getattr(builtins, str(reply["raised"]), None)
            known = isinstance(kind, type) and issubclass(kind, Exception)
            raise (kind if known else Refused)(reply.get("text"))
        return decode(reply["value"], Remote)

    class Remote:
        """An object of the program's: it can be used, but equals itself alone."""
        __slots__ = ("_handle",)

        def __init__(self, handle):
            self._handle = handle

        def _ask(self, op, *args, **kwargs):
            kwargs = {k: plain(x) for k, x in kwargs.items()}
            return ask(op, handle=self._handle, args=[plain(x) for x in args], kwargs=kwargs)

        def __call__(self, *args, **kwargs):
            return self._ask("call", *args, **kwargs)

        def __getattr__(self, name):
            return self._ask("attribute", name)

        def __getitem__(self, key):
            return self._ask("item", key)

        def __len__(self):
            return self._ask("length")

        def __iter__(self):
            return iter(self._ask("list"))

        def __str__(self):
            return self._ask("text")

    def plain(v):
        return {"h": v._handle} if type(v) is Remote else encode(v)

    tree = ast.parse(job["program"])
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    own = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
    own |= {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    own |= {(a.asname or a.name).split(".")[0] for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    space = {"__name__": "test"}
    if job["setup"]:
        exec(compile(job["setup"], "<setup>", "exec"), space)
    for name in sorted({n.id for n in names} - own - set(dir(builtins)) - set(space)):
        try:
            space[name] = ask("name", name=name)
        except NameError:
            pass
    exec(compile(tree, "<test>", "exec"), space)
    say(questions, {"passed": True})


# In the parent.

def fork(job, files, work):
    pid = os.fork()
    if pid == 0:
        guarded(lambda: (enter(job, files), work()))
    return pid


def content(fd, most):
    """At most this much of a file, and whether there is more."""
    data = os.pread(fd, most + 1, 0)
    return data[:most].decode("utf-8", "replace"), len(data) > most


def finish(pid, job, out, err, extra):
    _, status, usage = os.wait4(pid, 0)
    left = bool(SCRATCH and os.listdir(SCRATCH))
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        left = True
    except ChildProcessError:
        pass
    stdout, flood = content(out, job["output"])
    size = os.fstat(err).st_size
    lines = os.pread(err, 2000, max(0, size - 2000)).decode("utf-8", "replace").strip().splitlines()
    reply = {
        "exit": os.waitstatus_to_exitcode(status), "seconds": usage.ru_utime + usage.ru_stime,
        "stdout": stdout, "flood": flood, "error": lines[-1][:200] if lines else "", "left": left,
    }
    send(CONTROL_OUT, b"F" + json.dumps({**reply, **extra()}).encode())


def handle(job):
    stdin, out, err = blank_file(job["stdin"].encode()), blank_file(), blank_file()
    files = {stdin: 0, out: 1, err: 2}
    opened = [stdin, out, err]
    try:
        if job["mode"] == "program":
            finish(fork(job, files, lambda: run_program(job)), job, out, err, dict)
        elif job["mode"] == "call":
            result = blank_file()
            opened.append(result)
            pid = fork(job, {**files, result: 3}, lambda: run_call(job, 3))
            finish(pid, job, out, err, lambda: {"result": content(result, MAX_FRAME)[0]})
        else:
            relay(job, files, opened)
    finally:
        for fd in opened:
            os.close(fd)


def relay(job, files, opened):
    """Carries frames between the fork and the control files, so that the fork has none of those."""
    in_r, in_w = os.pipe()
    out_r, out_w = os.pipe()
    work = run_serve if job["mode"] == "serve" else run_test
    pid = fork(job, {**files, in_r: 3, out_w: 4}, lambda: work(job, 3, 4))
    os.close(in_r)
    os.close(out_w)
    opened.append(out_r)
    passed = False
    while True:
        frame = receive(out_r)
        if frame is None:
            break
        if job["mode"] == "test" and frame == b'{"passed": true}':
            passed = True
            break
        send(CONTROL_OUT, b"R" + frame)
        answer = receive(CONTROL_IN)
        if answer is None:
            os._exit(0)
        if answer == b"end":
            break
        try:
            send(in_w, answer)
        except BrokenPipeError:
            break
    os.close(in_w)
    finish(pid, job, files_out(files, 1), files_out(files, 2), lambda: {"passed": passed})


def files_out(files, place):
    return next(fd for fd, p in files.items() if p == place)


def main():
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    send(CONTROL_OUT, b"F" + json.dumps({"version": sys.version.split()[0]}).encode())
    while True:
        frame = receive(CONTROL_IN)
        if frame is None:
            os._exit(0)
        handle(json.loads(frame))


main()
