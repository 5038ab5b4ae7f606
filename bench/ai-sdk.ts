/**
 * What the AI SDK adapter adds to the SDK's own stream: the same `streamText` call of a mock model, read part by part and
 * read as events, without and with the frame of a run.
 */
import { streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { aiSdkAgent, fromAiSdk } from "../src/agent/adapters/ai-sdk/index.ts";
import { runAgent } from "../src/agent/index.ts";
import { comparePerUnit } from "./compare.ts";
import type { Effort, Portion, Row } from "./compare.ts";

type StreamResult = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type ModelPart = StreamResult["stream"] extends ReadableStream<infer P> ? P : never;

const PEER = "iterating the stream of streamText";

/** A model that answers with so many tokens, as fast as they are taken. */
function modelOf(tokens: number): MockLanguageModelV4 {
  const doStream = async (): Promise<StreamResult> => {
    let sent = 0;
    const stream = new ReadableStream<ModelPart>({
      pull(controller) {
        if (sent === 0) controller.enqueue({ type: "text-start", id: "0" });
        if (sent < tokens) controller.enqueue({ type: "text-delta", id: "0", delta: `t${++sent} ` });
        if (sent < tokens) return;
        controller.enqueue({ type: "text-end", id: "0" });
        controller.enqueue({
          type: "finish",
          finishReason: { unified: "stop", raw: "stop" },
          usage: {
            inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: tokens, text: tokens, reasoning: undefined },
          },
        });
        controller.close();
      },
    });
    return { stream };
  };
  return new MockLanguageModelV4({ doStream });
}

async function count(source: AsyncIterable<unknown>): Promise<number> {
  let taken = 0;
  for await (const _ of source) taken++;
  return taken;
}

const row = (what: string) => ({ what: `AI SDK, ${what}`, peer: PEER, kind: "cost" as const, target: 2 });

/** Rows of the suite `agent` that concern the AI SDK. */
export async function aiSdkRows(effort: Effort): Promise<readonly Row[]> {
  const tokens = effort.quick ? 1_000 : 5_000;
  const model = modelOf(tokens);
  const agent = aiSdkAgent({ name: "bench", streamText: { model } });
  const input = { threadId: "t", runId: "r", messages: [{ id: "u", role: "user", content: "Go" }] } as const;
  const portion = (work: () => AsyncIterable<unknown>): Portion => ({ units: tokens, work: () => count(work()) });
  const theirs = portion(() => streamText({ model, prompt: "Go" }).stream);
  return [
    await comparePerUnit(
      row("as events"),
      portion(() => fromAiSdk(streamText({ model, prompt: "Go" }))),
      theirs,
      effort,
    ),
    await comparePerUnit(
      row("as a run"),
      portion(() => runAgent(agent, input)),
      theirs,
      effort,
    ),
  ];
}
