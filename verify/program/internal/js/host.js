// What a program finds beside ES2023: the part of Node that programs use which read
// stdin and print. The value of this script is a function that takes the text of
// stdin and returns what js.go calls. Everything that runs after the program uses
// only what was taken here, before it.
(function (globalThis, print) {
  'use strict';
  delete globalThis.print;
  const { parse, stringify } = JSON;
  const { apply, construct, ownKeys, getOwnPropertyDescriptor } = Reflect;
  const { isArray } = Array;
  const { is, keys, freeze, defineProperty, getPrototypeOf } = Object;
  const { isView } = ArrayBuffer;
  const uncurry = (f) => (self, ...args) => apply(f, self, args);
  const join = uncurry(Array.prototype.join);
  const push = uncurry(Array.prototype.push);
  const shift = uncurry(Array.prototype.shift);
  const sort = uncurry(Array.prototype.sort);
  const slice = uncurry(Array.prototype.slice);
  const has = uncurry(Object.prototype.hasOwnProperty);
  const isPrototypeOf = uncurry(Object.prototype.isPrototypeOf);
  const bigText = uncurry(BigInt.prototype.toString);
  const dateText = uncurry(Date.prototype.toISOString);
  const RealDate = Date, RealMap = Map, RealSet = Set, RealError = Error, RealString = String, RealPromise = Promise;
  const mapEntries = uncurry(Map.prototype.forEach), setEntries = uncurry(Set.prototype.forEach);
  const identifier = /^[A-Za-z_$][\w$]*$/, test = uncurry(RegExp.prototype.exec);
  const deepest = 60, longest = 8 << 20;

  // What code of the row means by these names, whatever the program calls so.
  const owned = { assert: undefined, require: undefined, Date: undefined };
  for (const name of ['AggregateError', 'Array', 'ArrayBuffer', 'BigInt', 'Boolean', 'Error', 'JSON', 'Map', 'Math', 'Number', 'Object', 'Promise', 'Proxy',
    'RangeError', 'ReferenceError', 'Reflect', 'RegExp', 'Set', 'String', 'Symbol', 'SyntaxError', 'TypeError', 'WeakMap', 'WeakSet',
    'isFinite', 'isNaN', 'parseFloat', 'parseInt'])
    owned[name] = globalThis[name];

  // Locks every property of the objects that JavaScript brings, for tests that run in
  // the program's world: it may add to them, as polyfills do, and not change them.
  // Names that change how others behave it may not add. Own properties of the
  // program's objects are its own, though they hide a locked one.
  function harden() {
    const seen = new RealSet([globalThis]);
    const meddling = ['toJSON', 'then', Symbol.toPrimitive, Symbol.split, Symbol.replace, Symbol.match, Symbol.matchAll, Symbol.search, Symbol.isConcatSpreadable];
    const lock = (object, key, value) => defineProperty(object, key, {
      get: () => value,
      set(v) { if (this !== object) defineProperty(this, key, { value: v, writable: true, enumerable: true, configurable: true }); },
      enumerable: false, configurable: false,
    });
    const visit = (object) => {
      if (object === null || typeof object !== 'object' && typeof object !== 'function' || seen.has(object)) return;
      seen.add(object);
      const prototype = has(object, 'constructor');
      const hidden = prototype && (object === Object.prototype || object === Function.prototype || object === RealError.prototype || isPrototypeOf(RealError.prototype, object));
      for (const key of ownKeys(object)) {
        const d = getOwnPropertyDescriptor(object, key);
        visit(d.value); visit(d.get); visit(d.set);
        if (!d.configurable) continue;
        if (hidden && has(d, 'value')) lock(object, key, d.value);
        else defineProperty(object, key, has(d, 'value') ? { writable: false, configurable: false } : { configurable: false });
      }
      if (prototype) for (const key of meddling) if (!has(object, key)) lock(object, key, undefined);
      visit(getPrototypeOf(object));
    };
    for (const key of ownKeys(globalThis)) if (!has(ours, key)) visit(globalThis[key]);
    for (const v of [owned.assert, globalThis.Date, function* () {}, async () => {}, async function* () {}, [].values(), new RealMap().keys(), new RealSet().keys(), ''[Symbol.iterator](), 'a'.matchAll(/a/g)]) visit(v);
    return join(keys(owned), ',');
  }
  const ours = { console: 0, process: 0, module: 0, exports: 0, global: 0, require: 0, assert: 0 };

  // The JSON of a value. Functions, symbols, maps, sets and numbers that are not
  // finite have none.
  function serialize(v, depth = 0) {
    if (depth > deepest) throw new RealError('the result is nested too deep');
    switch (typeof v) {
      case 'undefined': return 'null';
      case 'boolean': return v ? 'true' : 'false';
      case 'string': return stringify(v);
      case 'bigint': return bigText(v);
      case 'number':
        if (v !== v || v === Infinity || v === -Infinity) throw new RealError('the result holds ' + v);
        return '' + v;
      case 'object': break;
      default: throw new RealError('the result holds a ' + typeof v);
    }
    if (v === null) return 'null';
    if (isPrototypeOf(RealDate.prototype, v)) return stringify(dateText(v));
    if (isPrototypeOf(RealMap.prototype, v) || isPrototypeOf(RealSet.prototype, v))
      throw new RealError('the result holds a Map or Set, which is no JSON value');
    const parts = [];
    if (isArray(v) || isView(v)) {
      for (let i = 0; i < v.length; i++) push(parts, serialize(v[i], depth + 1));
      return '[' + join(parts, ',') + ']';
    }
    for (const key of keys(v)) if (v[key] !== undefined) push(parts, stringify(key) + ':' + serialize(v[key], depth + 1));
    return '{' + join(parts, ',') + '}';
  }

  // As node prints a value, on one line whatever its length.
  function inspect(v, depth = 0) {
    switch (typeof v) {
      case 'string': {
        if (depth === 0) return v;
        const quoted = stringify(v);
        return "'" + quoted.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'") + "'";
      }
      case 'bigint': return bigText(v) + 'n';
      case 'number': return is(v, -0) ? '-0' : '' + v;
      case 'symbol': return v.toString();
      case 'function': return '[Function' + (v.name ? ': ' + v.name : ' (anonymous)') + ']';
      case 'object': break;
      default: return '' + v;
    }
    if (v === null) return 'null';
    if (v instanceof RealError) return v.stack ? v.name + ': ' + v.message : '' + v;
    if (v instanceof RealDate) return dateText(v);
    if (v instanceof RegExp) return '' + v;
    if (v instanceof RealPromise) return 'Promise { <pending> }';
    if (depth > 2) return isArray(v) ? '[Array]' : '[Object]';
    const items = [];
    if (isArray(v) || isView(v) && !(v instanceof DataView)) {
      for (let i = 0; i < v.length && i < 100; i++) push(items, inspect(v[i], depth + 1));
      if (v.length > 100) push(items, '... ' + (v.length - 100) + ' more item' + (v.length > 101 ? 's' : ''));
      const name = isArray(v) ? '' : v.constructor.name + '(' + v.length + ') ';
      return name + (items.length ? '[ ' + join(items, ', ') + ' ]' : '[]');
    }
    let name = '';
    const proto = getPrototypeOf(v);
    if (proto === null) name = '[Object: null prototype] ';
    else if (proto !== Object.prototype && proto.constructor) name = proto.constructor.name + ' ';
    if (v instanceof RealMap) {
      mapEntries(v, (value, key) => push(items, inspect(key, depth + 1) + ' => ' + inspect(value, depth + 1)));
      name = 'Map(' + v.size + ') ';
    } else if (v instanceof RealSet) {
      setEntries(v, (value) => push(items, inspect(value, depth + 1)));
      name = 'Set(' + v.size + ') ';
    } else
      for (const key of keys(v))
        push(items, (test(identifier, key) ? key : "'" + key + "'") + ': ' + inspect(v[key], depth + 1));
    return name + (items.length ? '{ ' + join(items, ', ') + ' }' : '{}');
  }

  function format(args) {
    let rest = args, text = '';
    if (typeof args[0] === 'string' && args.length > 1 && args[0].includes('%')) {
      let at = 1;
      text = args[0].replace(/%([sdifjoO%])/g, (whole, kind) => {
        if (kind === '%') return '%';
        if (at >= args.length) return whole;
        const v = args[at++];
        switch (kind) {
          case 's': return typeof v === 'object' ? inspect(v, 1) : RealString(v);
          case 'd': return typeof v === 'bigint' ? bigText(v) + 'n' : '' + Number(v);
          case 'i': return '' + parseInt(v);
          case 'f': return '' + parseFloat(v);
          case 'j': return stringify(v);
          default: return inspect(v, 1);
        }
      });
      rest = slice(args, at);
      if (rest.length) text += ' ';
    }
    const parts = [];
    for (const v of rest) push(parts, inspect(v));
    return text + join(parts, ' ');
  }

  return function (stdin) {
    let exited = false, exitCode = 0, failure = '', result = '';
    const write = (text) => { if (!exited) print('' + text); return true; };
    const log = (...args) => { write(format(args) + '\n'); };
    const quiet = () => {};
    globalThis.console = { log, info: log, debug: log, error: quiet, warn: quiet, trace: quiet, table: log, dir: (v) => log(v), time: quiet, timeEnd: quiet,
      assert: quiet, group: quiet, groupEnd: quiet };

    // Chance and time that are the same in every run: xorshift32 (Marsaglia 2003),
    // and a clock that goes on with each look.
    let state = 2463534242, now = RealDate.UTC(2025, 0, 1, 12);
    Math.random = () => {
      state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
      return (state >>> 0) / 4294967296;
    };
    const start = now, tick = () => now++;
    globalThis.Date = function Date(...args) {
      if (!new.target) return new RealDate(tick()).toString();
      return construct(RealDate, args.length ? args : [tick()], new.target);
    };
    for (const key of ['parse', 'UTC']) defineProperty(Date, key, getOwnPropertyDescriptor(RealDate, key));
    Date.now = tick;
    Date.prototype = RealDate.prototype;
    RealDate.prototype.constructor = Date;
    globalThis.performance = { now: () => tick() - start };

    // Timers run in the order of their time when nothing else is pending.
    const timers = [];
    let made = 0, elapsed = 0;
    const addTimer = (f, delay, args, every) => {
      const id = ++made;
      push(timers, { id, at: elapsed + (delay > 0 ? +delay : 0), f, args, every });
      return id;
    };
    const dropTimer = (id) => { for (let i = 0; i < timers.length; i++) if (timers[i].id === id) timers[i].f = null; };
    globalThis.setTimeout = (f, delay, ...args) => addTimer(f, delay, args, 0);
    globalThis.setInterval = (f, delay, ...args) => addTimer(f, delay, args, delay > 1 ? +delay : 1);
    globalThis.setImmediate = (f, ...args) => addTimer(f, 0, args, 0);
    globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = dropTimer;
    const then = uncurry(RealPromise.prototype.then), resolved = RealPromise.resolve();
    globalThis.queueMicrotask = (f) => { then(resolved, () => f()); };

    // Input: streams and readline deliver it from a timer, when the program has
    // said who listens.
    const lines = () => {
      const all = stdin.split('\n');
      if (all[all.length - 1] === '') all.pop();
      return all.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
    };
    const emitter = (target, deliver) => {
      const listeners = {};
      let started = false;
      target.on = target.once = target.addListener = (event, f) => {
        (listeners[event] ??= []).push(f);
        if (!started) { started = true; addTimer(() => deliver(target.emit), 0, [], 0); }
        return target;
      };
      target.emit = (event, ...args) => { for (const f of listeners[event] ?? []) f(...args); };
      return target;
    };
    const input = emitter({ fd: 0, isTTY: false, setEncoding: quiet, resume: quiet, pause: quiet, unref: quiet }, (emit) => {
      if (stdin !== '') emit('data', stdin);
      emit('end'); emit('close');
    });
    input[Symbol.asyncIterator] = async function* () { if (stdin !== '') yield stdin; };
    const createInterface = () => {
      const queue = lines();
      let closed = false;
      const rl = emitter({ close: () => { if (!closed) { closed = true; rl.emit('close'); } }, setPrompt: quiet, prompt: quiet, pause: quiet, resume: quiet }, (emit) => {
        while (queue.length && !closed) emit('line', queue.shift());
        rl.close();
      });
      rl.question = (prompt, ...rest) => {
        write(prompt);
        const answer = rest[rest.length - 1];
        if (queue.length) addTimer(answer, 0, [queue.shift()], 0);
      };
      rl[Symbol.asyncIterator] = async function* () { while (queue.length && !closed) yield queue.shift(); };
      return rl;
    };
    const promised = () => {
      const rl = createInterface(), ask = rl.question;
      rl.question = (prompt) => new RealPromise((resolve) => ask(prompt, resolve));
      return rl;
    };
    const process = {
      argv: ['node', 'program.js'], env: {}, platform: 'linux', stdin: input, exitCode: undefined,
      stdout: { write, isTTY: false }, stderr: { write: () => true },
      exit: (code) => { exitCode = code ?? process.exitCode ?? 0; exited = true; throw new RealError('process.exit'); },
      nextTick: (f, ...args) => { then(resolved, () => f(...args)); },
      on: quiet, once: quiet, cwd: () => '/', uptime: () => (tick() - start) / 1000,
      hrtime: Object.assign(() => [Math.floor(tick() / 1000), 0], { bigint: () => BigInt(tick()) * 1000000n }),
    };
    const read = (file) => {
      if (file === 0 || file === '/dev/stdin' || file === input.fd) return stdin;
      throw new RealError("ENOENT: no such file or directory, open '" + file + "'");
    };
    const fs = { readFileSync: read, writeSync: (fd, text) => fd === 1 && write(text),
      writeFileSync: (file, text) => { if (file !== 1 && file !== '/dev/stdout') throw new RealError('EROFS: read-only file system'); write(text); } };

    // Assertions cannot be replaced by the program.
    const fail = (message, otherwise) => { throw message instanceof RealError ? message : new RealError('assertion failed: ' + (message ?? otherwise)); };
    const equal = (a, b) => {
      if (is(a, b)) return true;
      if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || getPrototypeOf(a) !== getPrototypeOf(b)) return false;
      if (isPrototypeOf(RealMap.prototype, a) || isPrototypeOf(RealSet.prototype, a)) {
        const all = (v, each) => { const list = []; each(v, (value, key) => push(list, key, value)); return list; };
        const each = isPrototypeOf(RealMap.prototype, a) ? mapEntries : setEntries;
        return equal(all(a, each), all(b, each));
      }
      if (isPrototypeOf(RealDate.prototype, a)) return dateText(a) === dateText(b);
      const names = keys(a);
      if (names.length !== keys(b).length || isArray(a) && a.length !== b.length) return false;
      for (const key of names) if (!has(b, key) || !equal(a[key], b[key])) return false;
      return true;
    };
    const show = (a, b) => inspect(a, 1) + ' is not ' + inspect(b, 1);
    const assert = (ok, message) => { if (!ok) fail(message, 'a value is ' + inspect(ok, 1)); };
    assert.ok = (ok, message) => assert(ok, message);
    assert.strictEqual = (a, b, message) => { if (!is(a, b)) fail(message, show(a, b)); };
    assert.notStrictEqual = (a, b, message) => { if (is(a, b)) fail(message, show(a, b)); };
    assert.equal = (a, b, message) => { if (!(a == b || is(a, b))) fail(message, show(a, b)); };
    assert.notEqual = (a, b, message) => { if (a == b) fail(message, show(a, b)); };
    assert.deepStrictEqual = assert.deepEqual = (a, b, message) => { if (!equal(a, b)) fail(message, show(a, b)); };
    assert.notDeepStrictEqual = assert.notDeepEqual = (a, b, message) => { if (equal(a, b)) fail(message, show(a, b)); };
    assert.throws = (f, ...rest) => {
      try { f(); } catch { return; }
      fail(rest[rest.length - 1], 'nothing is thrown');
    };
    assert.strict = assert;
    freeze(assert);
    owned.assert = globalThis.assert = assert;

    const modules = { fs, process, assert, 'assert/strict': assert, readline: { createInterface, promises: { createInterface: promised } },
      'readline/promises': { createInterface: promised }, os: { EOL: '\n' }, util: { inspect: (v) => inspect(v, 1), format: (...args) => format(args) } };
    const ownValues = () => { const all = []; for (const name of keys(owned)) push(all, owned[name]); return all; };
    const module = { exports: {} };
    globalThis.require = (name) => {
      const known = ('' + name).replace(/^node:/, '');
      if (!has(modules, known)) throw new RealError("Cannot find module '" + name + "'");
      return modules[known];
    };
    owned.require = globalThis.require;
    owned.Date = globalThis.Date;
    Object.assign(globalThis, { process, module, exports: module.exports, global: globalThis });

    return {
      exited: () => '' + exited,
      exitCode: () => '' + (exited ? exitCode : process.exitCode ?? 0),
      failure: () => failure,
      result: () => result,
      exported: (name) => {
        const found = typeof module.exports === 'function' ? module.exports : module.exports[name];
        if (typeof found !== 'function') throw new RealError('not exported');
        return found;
      },
      harden,
      own: (named) => { for (const name of keys(named)) owned[name] = named[name]; },
      // Arguments are JSON; without any f is code of the row, which gets its own names.
      call: (f, args) => {
        failure = 'what it promises never comes';
        const given = args === '' ? ownValues() : parse(args);
        (async () => {
          try {
            result = serialize(await apply(f, undefined, given));
            if (result.length > longest) throw new RealError('the result is longer than ' + longest);
            failure = '';
          } catch (e) {
            failure = 'it throws';
            failure = e instanceof RealError ? '' + e : 'it throws ' + inspect(e, 1);
          }
        })();
      },
      turn: () => {
        let first = -1;
        for (let i = 0; i < timers.length; i++) {
          if (timers[i].f === null) continue;
          if (first < 0 || timers[i].at < timers[first].at) first = i;
        }
        if (first < 0 || exited) return 'false';
        const timer = timers[first];
        elapsed = timer.at;
        if (timer.every) timer.at += timer.every;
        else timers.splice(first, 1);
        const f = timer.f;
        f(...timer.args);
        return 'true';
      },
    };
  };
})(globalThis, print);
