// Greedy continuations by llama.cpp: node continue.mjs FILE.gguf TOKENS PROMPT...
// prints a line {"ids":[...],"out":[...]} for each prompt, in whose text control tokens are
// read as such. Keys and values are kept in f32, as rlzero keeps them; with f16 a near tie
// may go the other way.
import { getLlama } from 'node-llama-cpp';

const [file, tokens, ...prompts] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({
  contextSize: 512, threads: 1, flashAttention: false, experimentalKvCacheKeyType: 'F32', experimentalKvCacheValueType: 'F32',
});
for (const prompt of prompts) {
  const sequence = context.getSequence();
  const ids = model.tokenize(prompt, true);
  const out = [];
  for await (const token of sequence.evaluate(ids, { temperature: 0 })) {
    out.push(token);
    if (out.length >= Number(tokens)) break;
  }
  console.log(JSON.stringify({ ids, out }));
  sequence.dispose();
}
process.exit(0);
