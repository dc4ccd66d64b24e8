// Greedy continuations by llama.cpp: node continue.mjs TOKENS FILE.gguf... -- PROMPT...
// prints a line {"ids":[...],"out":[...]} for each prompt of each file, in whose text control
// tokens are read as such. Keys and values are kept in f32, as rlzero keeps them; with f16 a
// near tie may go the other way.
import { getLlama } from 'node-llama-cpp';

const [tokens, ...rest] = process.argv.slice(2);
const files = rest.slice(0, rest.indexOf('--')), prompts = rest.slice(files.length + 1);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
for (const modelPath of files) {
  const model = await llama.loadModel({ modelPath });
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
  await model.dispose();
}
process.exit(0);
