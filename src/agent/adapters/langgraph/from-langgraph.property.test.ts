/** Whatever a graph streams, in whatever order: the adapter's events are valid by themselves, with nothing put right. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseEvent } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { chain, expanding, throughArray, verifying } from "../../../stream/index.ts";
import { fromLangGraph } from "./index.ts";

const numRuns = 2_000 * Number(process.env.HEDDLE_TEST_SCALE ?? 1);

const id = fc.constantFrom("a", "b");
const node = fc.constantFrom("x", "y");
const namespace = fc.constantFrom<readonly string[]>([], ["x:1"], ["x:1", "y:2"]);
const text = fc.constantFrom("", "hi", "{}");

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text }),
  fc.record({ type: fc.constantFrom("thinking", "reasoning"), thinking: text, reasoning: text, index: fc.nat(1) }),
  fc.record({ type: fc.constantFrom("redacted_thinking", "image", "tool_use"), data: text }),
);

const callChunk = fc.record(
  { index: fc.nat(1), id: fc.constantFrom("c1", "c2"), name: fc.constantFrom("f", ""), args: text },
  { requiredKeys: ["args"] },
);

const message = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom("ai", "AIMessageChunk"),
      id,
      content: fc.oneof(text, fc.array(block, { maxLength: 2 })),
      tool_call_chunks: fc.array(callChunk, { maxLength: 2 }),
      tool_calls: fc.array(fc.record({ id: fc.constantFrom("c1", "c2"), name: fc.constant("f") }), { maxLength: 2 }),
      usage_metadata: fc.record({ input_tokens: fc.nat(9), output_tokens: fc.nat(9) }),
    },
    { requiredKeys: ["type", "content"] },
  ),
  fc.record({ type: fc.constant("tool"), id, tool_call_id: fc.constantFrom("c1", "c2"), content: text }),
  fc.record({ type: fc.constantFrom("human", "system", "remove", "odd"), id, content: text }),
);

const interrupts = fc.array(fc.record({ id: fc.constantFrom("i1", "i2"), value: text }), { maxLength: 2 });

const payload: fc.Arbitrary<readonly [string, unknown]> = fc.oneof(
  fc.tuple(
    fc.constant("messages"),
    fc.tuple(message, fc.record({ langgraph_checkpoint_ns: fc.constantFrom("x:1", "y:2", "x:1|y:2") })),
  ),
  fc.tuple(fc.constant("updates"), fc.dictionary(node, fc.record({ messages: fc.array(message, { maxLength: 2 }) }))),
  fc.tuple(fc.constant("updates"), fc.record({ __interrupt__: interrupts })),
  fc.tuple(fc.constant("values"), fc.record({ messages: fc.array(message, { maxLength: 2 }), plan: fc.array(text) })),
  fc.tuple(fc.constant("custom"), fc.jsonValue()),
  fc.tuple(
    fc.constant("tools"),
    fc.record({
      event: fc.constantFrom("on_tool_start", "on_tool_event", "on_tool_end", "on_tool_error"),
      toolCallId: fc.constantFrom("c1", "c2"),
      name: fc.constant("f"),
      input: text,
      output: text,
    }),
  ),
  fc.tuple(
    fc.constant("tasks"),
    fc.record(
      { id: fc.constantFrom("1", "2"), name: node, input: fc.constant({}), interrupts },
      { requiredKeys: ["id", "name"] },
    ),
  ),
  fc.tuple(fc.constant("debug"), fc.jsonValue()),
);

const chunk = fc.tuple(namespace, payload).map(([place, [mode, value]]): unknown => [place, mode, value]);

test("any sequence of chunks becomes a valid sequence of events, and everything is closed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 30 }), async (chunks) => {
      const run: Event[] = [{ type: "RUN_STARTED", threadId: "", runId: "" }];
      async function* source() {
        yield* chunks;
      }
      for await (const event of fromLangGraph(source())) run.push(event);
      if (run.at(-1)?.type !== "RUN_FINISHED") run.push({ type: "RUN_FINISHED", threadId: "", runId: "" });
      expect(run.map((event) => parseEvent(event))).toEqual(run.map((value) => ({ value, warnings: [] })));
      expect(throughArray(chain(expanding(), verifying()), run)).toEqual(run);
    }),
    { numRuns },
  );
});
