/** Whatever the SDK streams, in whatever order: the adapter's events are valid by themselves, with nothing put right. */
import type { TextStreamPart, ToolSet } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Event } from "../../../protocol/index.ts";
import { parseEvent } from "../../../protocol/index.ts";
import { chain, expanding, throughArray, verifying } from "../../../stream/index.ts";
import { fromAiSdk } from "./index.ts";

type Part = TextStreamPart<ToolSet>;

const numRuns = 2_000 * Number(process.env.HEDDLE_TEST_SCALE ?? 1);

const id = fc.constantFrom("0", "1");
const words = fc.constantFrom("", "a", "b c", "{}");
const providerMetadata = fc.constantFrom<object>({}, { providerMetadata: { mock: { sig: "s" } } });
const callOf = (toolCallId: string, input: unknown) =>
  ({ type: "tool-call", toolCallId, toolName: "f", input, dynamic: true }) as const;
const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, inputTokenDetails: {}, outputTokenDetails: {} };

/** Parts as plain values: a stream is data, and may hold anything. */
const part: fc.Arbitrary<Part> = fc
  .oneof(
    fc.tuple(fc.constantFrom("text-start", "text-end", "reasoning-start", "reasoning-end"), id, providerMetadata),
    fc.tuple(fc.constantFrom("text-delta", "reasoning-delta"), id, providerMetadata, words),
    fc.tuple(fc.constantFrom("tool-input-start", "tool-input-delta", "tool-input-end"), id, providerMetadata, words),
    fc.tuple(
      fc.constantFrom("tool-call", "tool-result", "tool-error", "tool-output-denied"),
      id,
      providerMetadata,
      words,
    ),
    fc.tuple(fc.constantFrom("tool-approval-request", "tool-approval-response", "start-step", "finish-step"), id),
    fc.tuple(fc.constantFrom("source", "raw", "custom", "ping", "start", "finish", "file"), id),
  )
  .map(([type, name, metadata = {}, text = ""]): Part => {
    const toolCall = callOf(name, { text });
    return JSON.parse(
      JSON.stringify({
        ...toolCall,
        ...metadata,
        type,
        id: name,
        text,
        delta: text,
        output: text,
        error: text,
        toolCall,
        approvalId: `approval-${name}`,
        warnings: [],
        usage,
        response: { modelId: "m" },
        finishReason: "stop",
        rawValue: text,
        kind: "a.b",
        file: { mediaType: "a/b", base64: "" },
      }),
    );
  });

test("any sequence of parts becomes a valid sequence of events, and everything is closed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 40 }), async (parts) => {
      const run: Event[] = [{ type: "RUN_STARTED", threadId: "", runId: "" }];
      async function* source() {
        yield* parts;
      }
      for await (const event of fromAiSdk(source())) run.push(event);
      if (run.at(-1)?.type !== "RUN_FINISHED") run.push({ type: "RUN_FINISHED", threadId: "", runId: "" });
      expect(run.map((event) => parseEvent(event))).toEqual(run.map((value) => ({ value, warnings: [] })));
      expect(throughArray(chain(expanding(), verifying()), run)).toEqual(run);
    }),
    { numRuns },
  );
});
