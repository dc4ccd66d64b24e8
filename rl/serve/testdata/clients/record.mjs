// Records what clients send to a server of rlzero, and what they make of its answers:
//
//	rlzero serve MODEL --name tiny --listen 127.0.0.1:8080
//	npm ci --ignore-scripts && node record.mjs http://127.0.0.1:8080 > requests.jsonl
//
// A client talks to a proxy, which passes each request on and writes it as a line. The
// script fails where a client does not come to what is expected.

import http from "node:http";
import assert from "node:assert/strict";
import OpenAI from "openai";
import { ChatOpenAI } from "@langchain/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, jsonSchema, streamText, tool as aiTool } from "ai";

const server = process.argv[2];
let call = "";

const proxy = http.createServer((request, answer) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", async () => {
    const body = Buffer.concat(parts).toString();
    const headers = {};
    for (const name of ["accept", "authorization", "content-type"]) {
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
  "langchain: structured output": async () => isDigit(await langchain({ maxTokens: 150 }).withStructuredOutput({ title: "a", ...digit }, { method: "jsonSchema" }).invoke("hello", { seed: 7 })),
});

const model = createOpenAICompatible({ name: "rlzero", baseURL, apiKey: "none", includeUsage: true, supportsStructuredOutputs: true })("tiny");
Object.assign(calls, {
  "ai-sdk: generateText": async () => assert.ok((await generateText({ model, maxOutputTokens: 5, seed: 7, messages, allowSystemInMessages: true })).usage.totalTokens > 0),
  "ai-sdk: generateObject": async () => isDigit((await generateObject({ model, maxOutputTokens: 150, seed: 7, prompt: "hello", schema: jsonSchema(digit) })).object),
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

let failed = 0;
for (const [name, run] of Object.entries(calls)) {
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
