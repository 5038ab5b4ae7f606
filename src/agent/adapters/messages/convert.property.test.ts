import fc from "fast-check";
import { expect, test } from "vitest";
import { parseEvent } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { decodeSessionEvent, encodeSessionEvent, projectToSession } from "../../../protocol/session/index.ts";
import { createReduceState, createVerifyState, reduce, verify, verifyEnd, view } from "../../../stream/index.ts";
import { createConversion, toAgUiEventStream, toAgUiEvents } from "./index.ts";
import type { FunctionCallUpdate, StreamMessage } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5000 * SCALE) };
const FEWER = { numRuns: Math.ceil(1000 * SCALE) };

/** Values from small pools, so that strangers meet. */
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const origin = { generationId: optional(fc.constantFrom("g1", "g2")), fromAgent: optional(fc.constantFrom("a", "b")) };
const text = fc.constantFrom("", "x", "xy", "{}");
const role = optional(fc.constantFrom("user", "assistant", "system"));
const callId = fc.constantFrom("c1", "c2", "g1");
const index = optional(fc.nat(1));
const functionName = fc.constantFrom("f", "h");
const call = fc.record({ callId, functionName, functionArgs: text, index });
const update = fc.record({ callId: optional(callId), functionName: optional(functionName), functionArgs: text, index });
const result = fc.record({ callId, result: text, isError: fc.boolean() });
const toolsCall = fc.record({
  type: fc.constant("tools-call"),
  toolCalls: fc.array(call, { maxLength: 2 }),
  ...origin,
});
const toolsCallResult = fc.record({
  type: fc.constant("tools-call-result"),
  toolCallResults: fc.array(result, { maxLength: 2 }),
  ...origin,
});

const simple = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "text-update"), text, role, ...origin }),
  fc.record({ type: fc.constantFrom("reasoning", "reasoning-update"), reasoning: text, ...origin }),
  fc.record({
    type: fc.constant("reasoning"),
    reasoning: text,
    visibility: fc.constantFrom("encrypted", "summary"),
    ...origin,
  }),
  toolsCall,
  fc.record({
    type: fc.constant("tools-call-update"),
    toolCallUpdates: fc.array(update, { maxLength: 2 }),
    ...origin,
  }),
  toolsCallResult,
  fc.record({ type: fc.constant("tools-call-aggregate"), toolsCall, toolsCallResult, ...origin }),
  fc.record({ type: fc.constant("usage"), usage: fc.record({ promptTokens: fc.nat(9), completionTokens: fc.nat(9) }) }),
  fc.record({
    type: fc.constant("image"),
    source: fc.constant({ type: "url", value: "https://e.org/a.png" }),
    ...origin,
  }),
);
const anyMessage = fc.oneof(
  { weight: 8, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("composite"), messages: fc.array(simple, { maxLength: 3 }), ...origin }),
  },
);

/** Made once: to make them is what takes the time. JSON takes the undefined members out. */
const MESSAGES = fc
  .sample(anyMessage, { numRuns: 1500, seed: 7 })
  .map((message) => JSON.parse(JSON.stringify(message)) as StreamMessage);
const stream = fc.array(fc.constantFrom(...MESSAGES), { maxLength: 25, size: "max" });

/** What is wrong with a stream that verifies. */
function findings(events: readonly Event[]): readonly unknown[] {
  const state = createVerifyState();
  const fold = createReduceState();
  const project = projectToSession({ sessionId: "s1", clock: () => 0 });
  const found = events.flatMap((event) => {
    verify(state, event);
    for (const each of project(event)) decodeSessionEvent(encodeSessionEvent(each));
    return [...parseEvent(event).warnings, ...reduce(fold, event)];
  });
  verifyEnd(state);
  return found;
}

test("003 REQ-DO-3: whatever messages come, in whatever order, the run verifies, and the session dialect can say it", async () => {
  await fc.assert(
    fc.asyncProperty(stream, fc.boolean(), async (messages, reasoning) => {
      const events: Event[] = [];
      for await (const event of toAgUiEventStream(messages, { threadId: "t1", runId: "r1", reasoning })) {
        events.push(event);
      }
      expect(findings(events)).toEqual([]);
    }),
    RUNS,
  );
});

/** A copy in which one member, however deep, holds something that does not belong there. */
function spoil(message: StreamMessage, at: number, wrong: unknown): StreamMessage {
  const copy = structuredClone(message);
  const places: [object, string][] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push([value, key]);
      visit(Reflect.get(value, key));
    }
  };
  visit(copy);
  const place = places[at % places.length];
  if (place !== undefined) Reflect.set(place[0], place[1], wrong);
  return copy;
}

test("a malformed message ends the run with RUN_ERROR, or is harmless: what comes out verifies", async () => {
  const wrong = fc.constantFrom<unknown[]>(7, null, {}, [], true, undefined);
  await fc.assert(
    fc.asyncProperty(stream, fc.nat(24), fc.nat(40), wrong, async (messages, which, at, value) => {
      const spoiled = messages.map((message, index) => (index === which ? spoil(message, at, value) : message));
      const events: Event[] = [];
      for await (const event of toAgUiEventStream(spoiled, { threadId: "t1", runId: "r1" })) events.push(event);
      findings(events);
      expect(["RUN_FINISHED", "RUN_ERROR"]).toContain(events.at(-1)?.type);
    }),
    FEWER,
  );
});

test("003 REQ-DO-4.1: the events of any one message are a valid stretch of a run", () => {
  const frame = { threadId: "t1", runId: "r1" };
  const problems = MESSAGES.flatMap((message) => {
    const events = toAgUiEvents(message);
    return findings([{ type: "RUN_STARTED", ...frame }, ...events, { type: "RUN_FINISHED", ...frame }]);
  });
  expect(problems).toEqual([]);
});

const named = (functionArgs: string, at: number): FunctionCallUpdate =>
  at === 0 ? { callId: "c1", functionName: "f", index: 0, functionArgs } : { index: 0, functionArgs };
const pieces = fc.array(fc.constantFrom("a", "b", "é", " "), { minLength: 1, maxLength: 6 });

test("003 REQ-2.2: the pieces of texts, thoughts and calls arrive unaltered, and once, with the whole or without", () => {
  fc.assert(
    fc.property(pieces, pieces, pieces, fc.boolean(), (words, thoughts, args, repeats) => {
      const generationId = "g1";
      const whole: readonly StreamMessage[] = [
        { type: "reasoning", reasoning: thoughts.join(""), generationId },
        { type: "text", text: words.join(""), generationId },
        {
          type: "tools-call",
          toolCalls: [{ callId: "c1", functionName: "f", functionArgs: args.join("") }],
          generationId,
        },
      ];
      const updates: readonly StreamMessage[] = [
        ...thoughts.map((reasoning): StreamMessage => ({ type: "reasoning-update", reasoning, generationId })),
        ...words.map((each): StreamMessage => ({ type: "text-update", text: each, generationId })),
        ...args.map((each, at): StreamMessage => ({
          type: "tools-call-update",
          toolCallUpdates: [named(each, at)],
          generationId,
        })),
      ];
      const conversion = createConversion();
      const fold = createReduceState();
      for (const message of repeats ? [...updates, ...whole] : updates) {
        for (const event of conversion.push(message)) reduce(fold, event);
      }
      for (const event of conversion.end()) reduce(fold, event);
      expect(view(fold).messages).toMatchObject([
        { role: "reasoning", content: thoughts.join("") },
        { role: "assistant", content: words.join(""), toolCalls: [{ function: { arguments: args.join("") } }] },
      ]);
    }),
    FEWER,
  );
});
