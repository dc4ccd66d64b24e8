// Runs program.wasm with this machine's files, as wasm_exec_node.js does under node. fs
// and process are what Go's js port calls; disk.go has the other end.
"use strict";

const encoder = new TextEncoder(), decoder = new TextDecoder();

let folder = "/";
const absolute = path => path.startsWith("/") ? path : folder + "/" + path;

function failed(code) {
	const err = new Error(code);
	err.code = code;
	return err;
}

const address = (name, args) => "fs/" + name + "?args=" + encodeURIComponent(JSON.stringify(args));

// ask makes a call and hands its answer to node's kind of callback.
async function ask(name, args, callback, body) {
	let answer;
	try {
		const response = await fetch(address(name, args), {method: "POST", body});
		if (!response.ok) {
			throw failed((await response.text()).trim());
		}
		answer = name === "read" ? new Uint8Array(await response.arrayBuffer()) : await response.json();
	} catch (err) {
		callback(err.code ? err : failed("EIO"));
		return;
	}
	callback(null, answer);
}

// stats makes what Go reads of node's fs.Stats.
const stats = callback => (err, s) => callback(err, s && {
	mode: s.mode, size: s.size, atimeMs: s.changed, mtimeMs: s.changed, ctimeMs: s.changed,
	dev: 0, ino: 0, nlink: 1, uid: 0, gid: 0, rdev: 0, blksize: 4096, blocks: Math.ceil(s.size / 512),
	isDirectory: () => (s.mode & 0o170000) === 0o040000,
});

const refused = callback => callback(failed("ENOSYS"));

globalThis.fs = {
	// What the runtime prints when it ends cannot wait.
	writeSync(fd, data) {
		const request = new XMLHttpRequest();
		request.open("POST", address("write", {file: fd}), false);
		request.send(data.slice());
		return data.length;
	},
	write(file, buffer, offset, length, position, callback) {
		ask("write", {file, position}, callback, buffer.slice(offset, offset + length));
	},
	read(file, buffer, offset, length, position, callback) {
		ask("read", {file, length, position}, (err, data) => {
			if (data) {
				buffer.set(data, offset);
			}
			callback(err, data && data.length);
		});
	},
	open(path, flags, mode, callback) { ask("open", {path: absolute(path), flags, mode}, callback); },
	close(file, callback) { ask("close", {file}, callback); },
	stat(path, callback) { ask("stat", {path: absolute(path)}, stats(callback)); },
	lstat(path, callback) { ask("lstat", {path: absolute(path)}, stats(callback)); },
	fstat(file, callback) { ask("fstat", {file}, stats(callback)); },
	readdir(path, callback) { ask("readdir", {path: absolute(path)}, callback); },
	readlink(path, callback) { ask("readlink", {path: absolute(path)}, callback); },
	mkdir(path, mode, callback) { ask("mkdir", {path: absolute(path), mode}, callback); },
	rmdir(path, callback) { ask("rmdir", {path: absolute(path)}, callback); },
	unlink(path, callback) { ask("unlink", {path: absolute(path)}, callback); },
	rename(from, to, callback) { ask("rename", {path: absolute(from), to: absolute(to)}, callback); },
	link(from, to, callback) { ask("link", {path: absolute(from), to: absolute(to)}, callback); },
	symlink(target, path, callback) { ask("symlink", {path: target, to: absolute(path)}, callback); },
	truncate(path, length, callback) { ask("truncate", {path: absolute(path), length}, callback); },
	ftruncate(file, length, callback) { ask("ftruncate", {file, length}, callback); },
	chmod(path, mode, callback) { ask("chmod", {path: absolute(path), mode}, callback); },
	fchmod(file, mode, callback) { ask("fchmod", {file, mode}, callback); },
	fsync(file, callback) { ask("fsync", {file}, callback); },
	utimes(path, accessed, changed, callback) { ask("utimes", {path: absolute(path), accessed, changed}, callback); },
	chown(path, uid, gid, callback) { refused(callback); },
	fchown(file, uid, gid, callback) { refused(callback); },
	lchown(path, uid, gid, callback) { refused(callback); },
};
globalThis.process = {
	pid: 1, ppid: 1,
	getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0,
	cwd: () => folder,
	chdir(path) { folder = absolute(path); },
};
globalThis.path = {resolve: absolute};

globalThis.crashGPU = () => fetch("crash", {method: "POST"});

async function main() {
	const start = await (await fetch("start")).json();
	folder = start.folder;
	fs.constants = start.constants;
	importScripts("wasm_exec.js");
	const go = new Go();
	go.argv = start.args;
	go.env = start.env;
	go.exit = code => {
		const request = new XMLHttpRequest();
		request.open("POST", "end?code=" + code, false);
		request.send();
	};
	const program = await WebAssembly.instantiateStreaming(fetch("program.wasm"), go.importObject);
	await go.run(program.instance);
}

main().catch(err => postMessage(String(err.stack || err)));
