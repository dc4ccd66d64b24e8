// What llama.cpp does, one piece of work a process: node llama.mjs PACKAGES NAME FILE.gguf [BATCH]. PACKAGES is the
// folder in which node-llama-cpp is installed. Prints one JSON object, as work.py does.
// Each token that it draws is the likeliest, which is the fastest way.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, name, modelPath, batch = '1'] = process.argv.slice(2);
const require = createRequire(path.join(packages, 'package.json'));
const { getLlama } = await import(pathToFileURL(path.join(packages, 'node_modules', 'node-llama-cpp', 'dist', 'index.js')));
const THREADS = 2;
const SECONDS = 2; // how long it is repeated
const VOCABULARY = 49152;

const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: THREADS });
const model = await llama.loadModel({ modelPath });
const sequences = Number(batch);
const context = await model.createContext({ contextSize: name === 'decode' ? 64 : 1024, sequences, batchSize: 1024, threads: THREADS });
const all = Array.from({ length: sequences }, () => context.getSequence());
const asked = (i, n) => Array.from({ length: n }, (_, j) => (i * 31 + j * 17 + 5) % VOCABULARY); // as prompt in rl/bench

// Reads a prompt of so many tokens for each sequence, then draws so many tokens of all, side by side. Returns
// when each of the drawn was there for the last sequence, in seconds; the first comes out of the prompt.
async function generate(prompt, tokens) {
  for (const sequence of all) await sequence.clearHistory();
  const start = performance.now(), there = Array(tokens).fill(0);
  await Promise.all(all.map(async (sequence, i) => {
    let n = 0;
    for await (const _ of sequence.evaluate(asked(i, prompt), { temperature: 0, yieldEogToken: true })) {
      there[n] = Math.max(there[n], (performance.now() - start) / 1000);
      if (++n >= tokens) break;
    }
  }));
  return there;
}

await generate(16, 2);
const seconds = [], began = performance.now();
do {
  if (name === 'decode') {
    const there = await generate(16, 8);
    seconds.push((there.at(-1) - there[0]) / (there.length - 1));
  } else {
    seconds.push((await generate(512, 1))[0]);
  }
} while (performance.now() - began < 1000 * SECONDS);
console.log(JSON.stringify({ seconds, versions: { 'node-llama-cpp': require(path.join(packages, 'node_modules', 'node-llama-cpp', 'package.json')).version } }));
process.exit(0);
