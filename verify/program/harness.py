# Runs programs, each in a fork of this process, which stays as it was at the start.
#
# Requests and replies are JSON, each after its length in four bytes, on what were
# standard input and output. A program never holds these: it gets files of its own,
# and what it says comes back as values, to be judged elsewhere. The first byte of a
# reply says whose word it is: F, this process's, or R, passed on from a program.

import os, sys
sys.path[:] = [p for p in sys.path if p]
import ast, atexit, builtins, gc, io, json, math, resource, struct, traceback
import bisect, collections, copy, dataclasses, datetime, decimal, enum, fractions, functools, heapq, itertools
import operator, queue, random, re, statistics, string, symtable, textwrap, threading, time, types, typing

CONTROL_IN, CONTROL_OUT = os.dup(0), os.dup(1)
SCRATCH = os.getcwd() if os.getcwd() == "/tmp" else None
MAX_FRAME = 16 << 20
MAX_DEPTH = 100
MAX_FILES = 32

# What functions find without importing it, as where such problems are posed: modules,
# and the names in some of them.
MODULES = (typing, collections, heapq, bisect, itertools, functools, math, copy, datetime, operator, random, re, string)
PRELUDE = {module.__name__: module for module in MODULES}
for module in MODULES[:7]:
    for name in getattr(module, "__all__", dir(module)):
        if name[0] != "_" and name != "e" and not hasattr(builtins, name):
            PRELUDE.setdefault(name, getattr(module, name))


def call_filter(code):
    """A function that puts a filter of system calls (prctl(2)) on this process for good."""
    if not code:
        return lambda: None
    import ctypes
    filters = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.c_void_p)]
    program = Program(len(code) // 8, ctypes.addressof(filters))
    prctl, set_seccomp, filter_mode = ctypes.CDLL(None, use_errno=True).prctl, 22, 2

    def apply(_kept=filters):
        if prctl(set_seccomp, filter_mode, ctypes.byref(program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the filter of system calls")
    return apply


stay_one = call_filter(bytes.fromhex(sys.argv[1]))
sys.argv = ["program.py"]


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

SCALARS = {
    "Decimal": (decimal.Decimal, str, decimal.Decimal),
    "Fraction": (fractions.Fraction, str, fractions.Fraction),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
}


def unknown(v):
    return {"other": type(v).__name__}


def encode(v, wrap=unknown, depth=0):
    """The notation of a value; wrap gives that of what is no plain value."""
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
            return {tag: [encode(x, wrap, depth + 1) for x in kind.__iter__(v)]}
    if isinstance(v, dict):
        return {"d": [[encode(k, wrap, depth + 1), encode(x, wrap, depth + 1)] for k, x in dict.items(v)]}
    name = type(v).__name__
    if name in SCALARS and type(v) is SCALARS[name][0]:
        return {"v": [name, SCALARS[name][1](v)]}
    return wrap(v)


def decode(v, unwrap):
    """The value of a notation; unwrap gives that of a tag which is none of these."""
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
        return {decode(k, unwrap): decode(y, unwrap) for k, y in x}
    if tag == "v":
        return SCALARS[x[0]][2](x[1])
    kind = {"l": list, "t": tuple, "s": set, "fs": frozenset}.get(tag)
    return kind(decode(y, unwrap) for y in x) if kind else unwrap(tag, x)


# In the fork.

def enter(job, files):
    """Takes the files for its own (number to place) and the limits of one test, for good."""
    top = 1 + max(files.values())
    moved = {fd: os.dup(fd) for fd in files}
    for fd, place in files.items():
        os.dup2(moved[fd], place)
    os.closerange(top, 1024)
    seconds = math.ceil(job["cpu"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (job["file"], job["file"]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES, MAX_FILES))
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    # Deep recursion is common, and so are threads with stacks larger than all memory.
    stack = job["memory"] // 4
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (stack if most == resource.RLIM_INFINITY else min(stack, most), most))
    set_stack = threading.stack_size
    threading.stack_size = lambda size=0: set_stack(min(size, stack))
    sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    random.seed(0)
    stay_one()


def new_module(name):
    """The names of a new module, which dataclasses and the like look for in sys.modules."""
    sys.modules[name] = types.ModuleType(name)
    return sys.modules[name].__dict__


def load(job, name):
    space = new_module(name)
    if name == "program":
        vars(builtins).update(PRELUDE)
    if job["setup"]:
        exec(compile(job["setup"], "<setup>", "exec"), space)
    exec(compile(job["program"], "<program>", "exec"), space)
    return space


def flush(*files):
    for file in files:
        if not getattr(file, "closed", False):
            file.flush()


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
        flush(sys.stdout, sys.stderr)
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
    """Runs a script to the end that Python gives it: threads, exit functions, files closed."""
    try:
        load(job, "__main__")
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        flush(sys.stdout, sys.__stdout__)
        sys.modules["__main__"].__dict__.clear()


def run_call(job, result):
    space = load(job, "program")
    args, kwargs = json.loads(job["args"]), json.loads(job["kwargs"])
    value = find(space, job["call"])(*args, **kwargs)
    text = json.dumps(encode(value)).encode()
    while text:
        text = text[os.write(result, text):]


def exchange(fd_in, fd_out, message):
    """Says something and returns what comes back."""
    say(fd_out, message)
    frame = receive(fd_in)
    if frame is None:
        raise EOFError("the other side has ended")
    return json.loads(frame)


def run_serve(job, requests, replies):
    """Answers questions about a program: names, calls, attributes, items."""
    space = load(job, "program")
    kept = []

    def wrap(v):
        kept.append(v)
        return {"h": len(kept) - 1}

    def unwrap(tag, x):
        if tag == "h":
            return kept[x]
        if tag == "n":
            return getattr(builtins, x)

        def back(*args, **kwargs):  # a function of the test's
            q = exchange(requests, replies, {"back": x, "args": [encode(a, wrap) for a in args],
                                             "kwargs": {k: encode(a, wrap) for k, a in kwargs.items()}})
            while q["op"] != "return":
                q = exchange(requests, replies, answer(q))
            if "raised" in q:
                raise getattr(builtins, q["raised"], Exception)(q["text"])
            return decode(q["value"], unwrap)
        return back

    def answer(q):
        try:
            if q["op"] == "name":
                return {"value": encode(find(space, q["name"]), wrap)}
            it = kept[q["handle"]]
            args = [decode(x, unwrap) for x in q["args"]]
            if q["op"] == "call":
                v = it(*args, **{k: decode(x, unwrap) for k, x in q["kwargs"].items()})
            elif q["op"] == "attribute":
                v = getattr(it, *args)
            elif q["op"] == "set":
                v = setattr(it, *args)
            elif q["op"] == "item":
                v = it[args[0]]
            elif q["op"] == "length":
                v = len(it)
            elif q["op"] == "text":
                v = str(it)
            else:
                v = list(itertools.islice(it, 1_000_000))
            reply = {"value": encode(v, wrap)}
            # What a function does to lists, dicts and sets that it is given.
            changed = {i: encode(a, wrap) for i, a in enumerate(args) if isinstance(a, (list, dict, set))}
            reply["changed"] = {i: a for i, a in changed.items() if a != q["args"][i]}
            return reply
        except BaseException as e:
            return {"raised": type(e).__name__, "text": str(e)[:1000]}

    message = {"value": None}
    while True:
        say(replies, message)
        frame = receive(requests)
        if frame is None:
            return
        message = answer(json.loads(frame))


# What test code says before it runs.

def scopes(table):
    yield table
    for child in table.get_children():
        yield from scopes(child)


def global_names(source):
    """The names that code finds among its globals, and those that it puts there."""
    top = symtable.symtable(source, "<test>", "exec")
    symbols = [(s, table is top) for table in scopes(top) for s in table.get_symbols()]
    bound = {s.get_name() for s, outer in symbols if (outer or s.is_declared_global()) and (s.is_assigned() or s.is_imported())}
    return {s.get_name() for s, _ in symbols if s.is_global() and s.is_referenced()}, bound


def free_names(source):
    """The names that test code takes from elsewhere, from the program that is."""
    used, bound = global_names(source)
    return used - bound - set(dir(builtins)) - {"__name__", "__file__"}


def checks(node):
    """Whether a part of test code can fail by the program's being wrong."""
    if isinstance(node, ast.Expr):
        node = node.value
        if isinstance(node, ast.Call):
            return not (isinstance(node.func, ast.Name) and node.func.id in ("all", "any", "bool", "isinstance"))
        return isinstance(node, (ast.Await, ast.ListComp))
    if isinstance(node, ast.Assert):  # a pair of condition and message in brackets is always true
        return not (isinstance(node.test, ast.Tuple) or isinstance(node.test, ast.Constant) and node.test.value)
    return isinstance(node, ast.Raise)


def fault(setup, test):
    """What is wrong with test code whatever the program is, or ""."""
    try:
        defined = global_names(setup)[1]
    except Exception as e:
        return "has a setup that cannot be compiled: %s: %s" % (type(e).__name__, e)
    try:
        tree = ast.parse(test)
        compile(test, "<test>", "exec")
        free = free_names(test)
    except Exception as e:
        return "cannot be compiled: %s: %s" % (type(e).__name__, e)
    if not any(checks(node) for node in ast.walk(tree)):
        expression = all(isinstance(node, ast.Expr) for node in tree.body)
        return ("is an expression and " if expression else "") + "checks nothing: write assert ..."
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    run = [node for top in tree.body if not isinstance(top, definitions) for node in ast.walk(top)]
    if not any(checks(node) or isinstance(node, ast.Call) for node in run):
        return "calls none of its functions"
    if not free - defined:
        return "names nothing of the program"
    return ""


class Refused(Exception):
    """What the program raised and is no exception of Python's own."""


def raised(reply):
    """The exception that the program raised. One that ends a loop would end the test's."""
    kind = getattr(builtins, str(reply["raised"]), None)
    known = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, (StopIteration, StopAsyncIteration))
    return (kind if known else Refused)(reply.get("text"))


def run_test(job, answers, questions):
    """Runs test code whose unknown names are the program's, reached by asking."""
    functions = []

    def ask(op, args=(), kwargs=None, **rest):
        message = {"op": op, "args": [encode(a, wrap) for a in args], "kwargs": {k: encode(a, wrap) for k, a in (kwargs or {}).items()}, **rest}
        while True:
            reply = exchange(answers, questions, message)
            if "back" not in reply:
                break
            try:
                f = functions[reply["back"]]
                v = f(*[decode(a, unwrap) for a in reply["args"]], **{k: decode(a, unwrap) for k, a in reply["kwargs"].items()})
                message = {"op": "return", "value": encode(v, wrap)}
            except Exception as e:
                message = {"op": "return", "raised": type(e).__name__, "text": str(e)}
        if "raised" in reply:
            raise raised(reply)
        for i, a in reply.get("changed", {}).items():
            replace(args[int(i)], decode(a, unwrap))
        return decode(reply["value"], unwrap)

    def replace(old, new):
        if isinstance(old, list) and isinstance(new, list):
            old[:] = new
        elif isinstance(old, (dict, set)) and type(old) is type(new):
            old.clear()
            old.update(new)

    class Remote:
        """An object of the program's: it can be used, but equals itself alone."""
        __slots__ = ("_handle",)

        def __init__(self, handle):
            object.__setattr__(self, "_handle", handle)

        def __call__(self, *args, **kwargs):
            return ask("call", args, kwargs, handle=self._handle)

        def __getattr__(self, name):
            return ask("attribute", [name], handle=self._handle)

        def __setattr__(self, name, value):
            ask("set", [name, value], handle=self._handle)

        def __getitem__(self, key):
            return ask("item", [key], handle=self._handle)

        def __len__(self):
            return ask("length", handle=self._handle)

        def __iter__(self):
            return iter(ask("list", handle=self._handle))

        def __str__(self):
            return ask("text", handle=self._handle)

    def wrap(v):
        if type(v) is Remote:
            return {"h": v._handle}
        name = getattr(v, "__name__", None)
        if isinstance(name, str) and getattr(builtins, name, None) is v:
            return {"n": name}
        if callable(v):
            functions.append(v)
            return {"fn": len(functions) - 1}
        raise TypeError("the program cannot be given a " + type(v).__name__)

    def unwrap(tag, x):
        if tag != "h" or type(x) is not int:
            raise ValueError("no value")
        return Remote(x)

    space = new_module("__main__")
    if job["setup"]:
        exec(compile(job["setup"], "<setup>", "exec"), space)
    for name in sorted(free_names(job["program"]) - set(space)):
        try:
            space[name] = ask("name", name=name)
        except NameError:
            pass
    try:
        exec(compile(job["program"], "<test>", "exec"), space)
    except SystemExit as e:  # as unittest.main ends
        if e.code:
            raise
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
        if job["mode"] == "check":
            send(CONTROL_OUT, b"F" + json.dumps({"fault": fault(job["setup"], job["program"])[:300]}).encode())
        elif job["mode"] == "program":
            finish(fork(job, files, lambda: run_program(job)), job, out, err, dict)
        elif job["mode"] == "call":
            result = blank_file()
            opened.append(result)
            pid = fork(job, {**files, result: 3}, lambda: run_call(job, 3))
            finish(pid, job, out, err, lambda: {"result": content(result, MAX_FRAME)[0]})
        else:
            relay(job, files)
    finally:
        for fd in opened:
            os.close(fd)


def relay(job, files):
    """Carries frames between the fork and the control files, so that the fork has none of those."""
    in_r, in_w = os.pipe()
    out_r, out_w = os.pipe()
    work = run_serve if job["mode"] == "serve" else run_test
    pid = fork(job, {**files, in_r: 3, out_w: 4}, lambda: work(job, 3, 4))
    os.close(in_r)
    os.close(out_w)
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
    for fd in (in_w, out_r):  # which ends one that still writes
        os.close(fd)
    finish(pid, job, files_out(files, 1), files_out(files, 2), lambda: {"passed": passed})


def files_out(files, place):
    return next(fd for fd, p in files.items() if p == place)


def release():
    """What tells the results of one machine from another's: interpreter and C library."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):  # another one
        libc = "libc"
    return f"{sys.implementation.name} {sys.version.split()[0]}, {libc}"


def main():
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    send(CONTROL_OUT, b"F" + json.dumps({"release": release()}).encode())
    gc.freeze()  # what is here stays: no fork looks through it, or copies it to do so
    while True:
        frame = receive(CONTROL_IN)
        if frame is None:
            os._exit(0)
        handle(json.loads(frame))


main()
