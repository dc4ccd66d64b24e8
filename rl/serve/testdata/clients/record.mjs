// Records what clients send to a server of rlzero, and what they make of its answers:
//
//	rlzero serve MODEL --name tiny --listen 127.0.0.1:8080
//	npm ci --ignore-scripts && node record.mjs http://127.0.0.1:8080 > requests.jsonl
//
// A second argument is an expression for names of calls that are left out: a model may have no tools.
//
// A client talks to a proxy, which passes each request on and writes it as a line. The
// script fails where a client does not come to what is expected.

import http from "node:http";
import assert from "node:assert/strict";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { OpenAI as LlamaIndex, OpenAIEmbedding as LlamaIndexEmbedding } from "@llamaindex/openai";
import { Document, Settings, VectorStoreIndex } from "llamaindex";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embed, generateObject, generateText, jsonSchema, streamText, tool as aiTool } from "ai";

const [server, without] = process.argv.slice(2);
let call = "";

const proxy = http.createServer((request, answer) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", async () => {
    const body = Buffer.concat(parts).toString();
    const headers = {};
    for (const name of ["accept", "authorization", "content-type", "x-api-key", "anthropic-version"]) {
      if (request.headers[name]) headers[name] = request.headers[name];
    }
    const reply = await fetch(server + request.url, { method: request.method, headers, body: body || undefined });
    console.log(JSON.stringify({ call, method: request.method, path: request.url, headers, body, status: reply.status }));
    answer.writeHead(reply.status, { "content-type": reply.headers.get("content-type"), "x-should-retry": reply.headers.get("x-should-retry") ?? "" });
    for await (const part of reply.body) answer.write(part);
    answer.end();
  });
});
await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
const baseURL = `http://127.0.0.1:${proxy.address().port}/v1`;

const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "hello" }];
const digit = { type: "object", properties: { n: { type: "integer", minimum: 1, maximum: 9 } }, required: ["n"], additionalProperties: false };
const tool = { type: "function", function: { name: "add", description: "adds", parameters: digit } };
const isDigit = (value) => assert.ok(Number.isInteger(value.n) && value.n >= 1 && value.n <= 9 && Object.keys(value).length === 1);
const short = { model: "tiny", max_tokens: 5, seed: 7 };
const long = { ...short, max_tokens: 150 };

// What zod writes for an integer has the bounds of JavaScript's.
const whole = z.object({ n: z.int(), small: z.boolean() });
const isWhole = (value) => assert.ok(Number.isSafeInteger(value.n) && typeof value.small === "boolean");

const openai = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const calls = {
  "openai: models": async () => assert.equal((await openai.models.list()).data[0].id, "tiny"),
  "openai: completion": async () => {
    const a = await openai.completions.create({ ...short, prompt: "ab", n: 2, logprobs: 2, echo: true, stop: ["\n"] });
    assert.equal(a.choices.length, 2);
    assert.equal(a.choices[0].logprobs.tokens.length, a.choices[0].logprobs.token_logprobs.length);
  },
  "openai: completion stream": async () => {
    let text = "", end;
    for await (const e of await openai.completions.create({ ...short, prompt: "ab", stream: true })) {
      text += e.choices[0].text;
      end = e.choices[0].finish_reason ?? end;
    }
    const whole = await openai.completions.create({ ...short, prompt: "ab" });
    assert.equal(text, whole.choices[0].text);
    assert.equal(end, whole.choices[0].finish_reason);
  },
  "openai: chat": async () => {
    const a = await openai.chat.completions.create({ ...short, messages, logprobs: true, top_logprobs: 2 });
    assert.equal(a.choices[0].message.role, "assistant");
    assert.equal(a.choices[0].logprobs.content[0].top_logprobs.length, 2);
    assert.equal(a.usage.total_tokens, a.usage.prompt_tokens + a.usage.completion_tokens);
  },
  "openai: chat stream helper": async () => {
    const stream = openai.chat.completions.stream({ ...short, messages, stream_options: { include_usage: true } });
    const a = await stream.finalChatCompletion();
    const whole = await openai.chat.completions.create({ ...short, messages });
    assert.equal(a.choices[0].message.content, whole.choices[0].message.content);
    assert.equal((await stream.totalUsage()).total_tokens, whole.usage.total_tokens);
  },
  "openai: abort": async () => {
    const stream = await openai.chat.completions.create({ ...short, max_tokens: 200, messages, stream: true });
    for await (const _ of stream) stream.controller.abort();
  },
  "openai: bad request": () => assert.rejects(openai.chat.completions.create({ ...short, messages, temperature: -1 }), (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature"),
  "openai: schema": async () => {
    const format = { type: "json_schema", json_schema: { name: "digit", strict: true, schema: digit } };
    const a = await openai.chat.completions.create({ ...long, messages, response_format: format });
    isDigit(JSON.parse(a.choices[0].message.content));
  },
  "openai: unsupported schema": () => assert.rejects(openai.chat.completions.create({ ...short, messages, response_format: { type: "json_schema", json_schema: { name: "a", schema: { not: {} } } } }), (e) => e instanceof OpenAI.BadRequestError && e.code === "unsupported_schema"),
  "openai: tools": async () => assert.equal(typeof (await openai.chat.completions.create({ ...short, messages, tools: [tool] })).choices[0].message.content, "string"),
  "openai: tools required": async () => {
    const ask = { ...long, messages, tools: [tool], tool_choice: "required", parallel_tool_calls: false };
    const [whole] = (await openai.chat.completions.create(ask)).choices;
    assert.equal(whole.finish_reason, "tool_calls");
    assert.equal(whole.message.tool_calls[0].function.name, "add");
    isDigit(JSON.parse(whole.message.tool_calls[0].function.arguments));
    const [streamed] = (await openai.chat.completions.stream(ask).finalChatCompletion()).choices;
    assert.equal(streamed.message.tool_calls[0].function.arguments, whole.message.tool_calls[0].function.arguments);
  },
  "openai: tool answers": async () => {
    const call = { id: "123456789", type: "function", function: { name: "add", arguments: '{"n":1}' } };
    const told = [...messages, { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: call.id, content: "2" }];
    assert.equal(typeof (await openai.chat.completions.create({ ...short, messages: told, tools: [tool] })).choices[0].message.content, "string");
  },
  "openai: no such model": () => assert.rejects(openai.chat.completions.create({ ...short, model: "other", messages }), (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found"),
};

const input = "hello";
const flatTool = { type: "function", name: "add", description: "adds", parameters: digit, strict: false };
const brief = { model: "tiny", instructions: "Be brief.", input, max_output_tokens: 5, seed: 7, store: false };
Object.assign(calls, {
  "openai: zod": async () => isWhole((await openai.chat.completions.parse({ ...long, messages, response_format: zodResponseFormat(whole, "whole") })).choices[0].message.parsed),
  "openai: cut off call": async () => {
    const [a] = (await openai.chat.completions.create({ ...short, messages, tools: [tool], tool_choice: "required" })).choices;
    assert.equal(a.finish_reason, "length");
    assert.equal(a.message.content, null);
  },
  "openai: ignore_eos": async () => assert.equal((await openai.completions.create({ ...short, max_tokens: 40, prompt: "ab", ignore_eos: true })).usage.completion_tokens, 40),
  "openai: embeddings": async () => {
    const a = await openai.embeddings.create({ model: "tiny", input: ["hello", "you"] });
    const same = await openai.embeddings.create({ model: "tiny", input: "you", encoding_format: "float", pooling: "mean" });
    assert.deepEqual(a.data[1].embedding, same.data[0].embedding.map(Math.fround));
    assert.ok(Math.abs(a.data[0].embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-5); // of a unit vector in float32
    assert.equal(a.pooling, "mean");
  },
  "openai: response": async () => {
    const a = await openai.responses.create(brief);
    const chat = await openai.chat.completions.create({ ...short, messages });
    assert.equal(a.output_text, chat.choices[0].message.content);
    assert.equal(a.usage.output_tokens, chat.usage.completion_tokens);
  },
  "openai: response stream": async () => {
    const whole = await openai.responses.create(brief);
    const stream = openai.responses.stream(brief);
    let text = "";
    stream.on("response.output_text.delta", (e) => (text += e.delta));
    assert.equal((await stream.finalResponse()).output_text, whole.output_text);
    assert.equal(text, whole.output_text);
  },
  "openai: response zod": async () => isWhole((await openai.responses.parse({ ...brief, max_output_tokens: 150, text: { format: zodTextFormat(whole, "whole") } })).output_parsed),
  "openai: response tools": async () => {
    const ask = { ...brief, max_output_tokens: 150, tools: [flatTool], tool_choice: "required", parallel_tool_calls: false };
    const a = await openai.responses.create(ask);
    assert.equal(a.output.length, 1);
    isDigit(JSON.parse(a.output[0].arguments));
    const streamed = await openai.responses.stream(ask).finalResponse();
    assert.equal(streamed.output[0].arguments, a.output[0].arguments);
    const next = [{ role: "user", content: input }, ...a.output, { type: "function_call_output", call_id: a.output[0].call_id, output: "2" }];
    assert.equal(typeof (await openai.responses.create({ ...brief, input: next, tools: [flatTool] })).output_text, "string");
  },
  "openai: response stored": () => assert.rejects(openai.responses.create({ ...brief, previous_response_id: "resp_1" }), (e) => e instanceof OpenAI.BadRequestError && e.param === "previous_response_id"),
});

const anthropic = new Anthropic({ baseURL: baseURL.replace("/v1", ""), apiKey: "none", maxRetries: 0 });
const terse = { model: "tiny", system: "Be brief.", max_tokens: 5, messages: [{ role: "user", content: "hello" }] };
const schemaTool = { name: "add", description: "adds", input_schema: digit };
Object.assign(calls, {
  "anthropic: message": async () => {
    const a = await anthropic.messages.create({ ...terse, seed: 7 });
    const chat = await openai.chat.completions.create({ ...short, messages });
    assert.equal(a.content[0]?.text ?? "", chat.choices[0].message.content);
    assert.equal(a.stop_reason, "max_tokens");
    assert.equal(a.usage.input_tokens, chat.usage.prompt_tokens);
  },
  "anthropic: stream": async () => {
    const whole = await anthropic.messages.create({ ...terse, seed: 7 });
    const stream = anthropic.messages.stream({ ...terse, seed: 7 });
    let text = "";
    stream.on("text", (part) => (text += part));
    assert.deepEqual((await stream.finalMessage()).content, whole.content);
    assert.equal(text, whole.content[0]?.text ?? "");
  },
  "anthropic: tools": async () => {
    const ask = { ...terse, max_tokens: 150, seed: 7, tools: [schemaTool], tool_choice: { type: "any", disable_parallel_tool_use: true } };
    const a = await anthropic.messages.create(ask);
    assert.equal(a.stop_reason, "tool_use");
    isDigit(a.content[0].input);
    const streamed = await anthropic.messages.stream(ask).finalMessage();
    assert.deepEqual(streamed.content[0].input, a.content[0].input);
    const next = [...terse.messages, { role: "assistant", content: a.content }, { role: "user", content: [{ type: "tool_result", tool_use_id: a.content[0].id, content: "2" }, { type: "text", text: "so?" }] }];
    assert.equal((await anthropic.messages.create({ ...terse, messages: next, tools: [schemaTool] })).role, "assistant");
  },
  "anthropic: bad request": () => assert.rejects(anthropic.messages.create({ ...terse, temperature: -1 }), (e) => e instanceof Anthropic.BadRequestError && e.error.error.type === "invalid_request_error"),
  "anthropic: no such model": () => assert.rejects(anthropic.messages.create({ ...terse, model: "other" }), (e) => e instanceof Anthropic.NotFoundError && e.error.error.type === "not_found_error"),
});

const langchain = (more) => new ChatOpenAI({ model: "tiny", apiKey: "none", maxTokens: 5, maxRetries: 0, configuration: { baseURL }, ...more });
Object.assign(calls, {
  "langchain: invoke": async () => assert.equal(typeof (await langchain().invoke("hello")).content, "string"),
  "langchain: logprobs": async () => {
    const a = await langchain({ logprobs: true, topLogprobs: 2 }).invoke("hello");
    assert.equal(a.response_metadata.logprobs.content.length, a.usage_metadata.output_tokens);
  },
  "langchain: stream": async () => {
    let events = 0;
    for await (const _ of await langchain().stream([["system", "Be brief."], ["user", "hello"]])) events++;
    assert.ok(events > 1);
  },
  "langchain: tools": async () => {
    const a = await langchain({ maxTokens: 150 }).bindTools([tool], { tool_choice: "add", parallel_tool_calls: false }).invoke("hello", { seed: 7 });
    assert.equal(a.tool_calls[0].name, "add");
    isDigit(a.tool_calls[0].args);
  },
  "langchain: responses": async () => assert.equal(typeof (await langchain({ useResponsesApi: true }).invoke("hello")).text, "string"),
  "langchain: responses stream": async () => {
    let events = 0;
    for await (const _ of await langchain({ useResponsesApi: true }).stream("hello")) events++;
    assert.ok(events > 1);
  },
  "langchain: embeddings": async () => assert.equal((await new OpenAIEmbeddings({ model: "tiny", apiKey: "none", maxRetries: 0, configuration: { baseURL } }).embedDocuments(["a", "b"])).length, 2),
  "langchain: zod": async () => isWhole(await langchain({ maxTokens: 150 }).withStructuredOutput(whole, { method: "jsonSchema" }).invoke("hello", { seed: 7 })),
  "langchain: structured output": async () => isDigit(await langchain({ maxTokens: 150 }).withStructuredOutput({ title: "a", ...digit }, { method: "jsonSchema" }).invoke("hello", { seed: 7 })),
});

const provider = createOpenAICompatible({ name: "rlzero", baseURL, apiKey: "none", includeUsage: true, supportsStructuredOutputs: true });
const model = provider("tiny");
Object.assign(calls, {
  "ai-sdk: generateText": async () => assert.ok((await generateText({ model, maxOutputTokens: 5, seed: 7, messages, allowSystemInMessages: true })).usage.totalTokens > 0),
  "ai-sdk: generateObject": async () => isDigit((await generateObject({ model, maxOutputTokens: 150, seed: 7, prompt: "hello", schema: jsonSchema(digit) })).object),
  "ai-sdk: zod": async () => isWhole((await generateObject({ model, maxOutputTokens: 150, seed: 7, prompt: "hello", schema: whole })).object),
  "ai-sdk: embed": async () => assert.ok((await embed({ model: provider.embeddingModel("tiny"), value: "hello" })).embedding.length > 0),
  "ai-sdk: tools": async () => {
    const a = await generateText({ model, maxOutputTokens: 150, seed: 7, prompt: "hello", tools: { add: aiTool({ inputSchema: jsonSchema(digit) }) }, toolChoice: "required" });
    assert.equal(a.toolCalls[0].toolName, "add");
    isDigit(a.toolCalls[0].input);
  },
  "ai-sdk: streamText": async () => {
    const whole = await generateText({ model, maxOutputTokens: 5, seed: 7, prompt: "hello" });
    assert.equal(await streamText({ model, maxOutputTokens: 5, seed: 7, prompt: "hello" }).text, whole.text);
  },
});

Settings.llm = new LlamaIndex({ model: "tiny", apiKey: "none", baseURL, maxTokens: 5, maxRetries: 0 });
Settings.embedModel = new LlamaIndexEmbedding({ model: "tiny", apiKey: "none", baseURL, maxRetries: 0 });
Object.assign(calls, {
  "llamaindex: chat": async () => assert.equal(typeof (await Settings.llm.chat({ messages })).message.content, "string"),
  "llamaindex: stream": async () => {
    let events = 0;
    for await (const _ of await Settings.llm.chat({ messages, stream: true })) events++;
    assert.ok(events > 1);
  },
  "llamaindex: retrieval": async () => {
    const index = await VectorStoreIndex.fromDocuments([new Document({ text: "one" }), new Document({ text: "two" })]);
    const [nearest] = await index.asRetriever({ similarityTopK: 1 }).retrieve("two");
    assert.equal(nearest.node.getContent(), "two");
  },
});

let failed = 0;
for (const [name, run] of Object.entries(calls)) {
  if (without && RegExp(without).test(name)) continue;
  call = name;
  try {
    await run();
  } catch (e) {
    failed++;
    console.error(`${name}: ${e.stack ?? e}`);
  }
}
proxy.close();
proxy.closeAllConnections();
process.exitCode = failed ? 1 : 0;
