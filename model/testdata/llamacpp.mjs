// Greedy continuations by llama.cpp: node llamacpp.mjs FILE.gguf TOKENS PROMPT...
// prints a line {"ids":[...],"out":[...]} for each prompt. Keys and values are kept in
// f32, as rlzero keeps them; with f16 a near tie may go the other way.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.RLZERO_LLAMACPP + '/');
const { getLlama } = await import(pathToFileURL(require.resolve('node-llama-cpp')).href);
const [file, tokens, ...prompts] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({
  contextSize: 128, threads: 1, flashAttention: false, experimentalKvCacheKeyType: 'F32', experimentalKvCacheValueType: 'F32',
});
for (const prompt of prompts) {
  const sequence = context.getSequence();
  const ids = model.tokenize(prompt);
  const out = [];
  for await (const token of sequence.evaluate(ids, { temperature: 0 })) {
    out.push(token);
    if (out.length >= Number(tokens)) break;
  }
  console.log(JSON.stringify({ ids, out }));
  sequence.dispose();
}
process.exit(0);
