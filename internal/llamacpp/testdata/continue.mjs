// Greedy continuations by llama.cpp: node continue.mjs TOKENS FILE.gguf... -- PROMPT...
// prints a line {"ids":[...],"out":[...],"logprobs":[...]} for each prompt of each file, in whose
// text control tokens are read as such. Keys and values are kept in f32, as rlzero keeps them; with f16 a
// near tie may go the other way. llama.cpp divides by a sum in f32, which is off by 1e-4 for a
// vocabulary of 49,152; so the probabilities are divided by their sum once more, in f64.
import { getLlama } from 'node-llama-cpp';

const [tokens, ...rest] = process.argv.slice(2);
const files = rest.slice(0, rest.indexOf('--')), prompts = rest.slice(files.length + 1);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
for (const modelPath of files) {
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({
    contextSize: 512, threads: 1, flashAttention: false, experimentalKvCacheKeyType: 'F32', experimentalKvCacheValueType: 'F32',
  });
  const sequence = context.getSequence(); // one for all: a disposed one is given back at some later time
  for (const prompt of prompts) {
    await sequence.clearHistory();
    const ids = model.tokenize(prompt, true);
    const out = [], logprobs = [];
    for await (const { token, probabilities } of sequence.evaluateWithMetadata(ids, { probabilities: true }, { temperature: 0 })) {
      let sum = 0;
      for (const p of probabilities.values()) sum += p;
      out.push(token);
      logprobs.push(Math.log(probabilities.get(token) / sum));
      if (out.length >= Number(tokens)) break;
    }
    console.log(JSON.stringify({ ids, out, logprobs }));
  }
  await model.dispose();
}
process.exit(0);
