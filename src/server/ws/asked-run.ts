/** What `run` and `answer` ask for, as the input and the options of a run. What the input holds is judged where runs start. */
import { PROTOCOL_VERSION } from "../../protocol/index.ts";
import { ROOT } from "../index.ts";
import type { StartOptions } from "../index.ts";
import type { ClientFrame } from "./client-frames.ts";

/** A frame that asks for a run. */
export type RunFrame = Extract<ClientFrame, { readonly type: "run" | "answer" }>;

/** The input. A socket speaks the current version, whatever its inputs say. */
export const askedInput = (frame: RunFrame): object => ({
  ...(frame.type === "run" ? frame.input : answersOf(frame)),
  protocolVersion: PROTOCOL_VERSION,
});

/** The thread that it names, which nobody has judged yet. */
export const threadOf = (frame: RunFrame): unknown => (frame.type === "run" ? frame.input["threadId"] : frame.thread);

function answersOf({ thread, run, resume, results = [], tools }: Extract<RunFrame, { type: "answer" }>): object {
  return {
    threadId: thread,
    runId: run ?? crypto.randomUUID(),
    messages: results.map(resultMessage),
    ...(resume !== undefined && { resume }),
    ...(tools !== undefined && { tools }),
  };
}

function resultMessage(result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  const toolCallId: unknown = Reflect.get(result, "toolCallId");
  return { id: `result-${String(toolCallId)}`, ...result, role: "tool" };
}

/** How the run is asked to start. */
export function askedStart(frame: RunFrame): StartOptions {
  const { traceparent, tracestate, after } = frame;
  const common = { trace: { traceparent, tracestate }, holds: after !== undefined };
  if (frame.type === "answer") return common;
  const { onBusy, onDisconnect, parent } = frame;
  return {
    ...common,
    ...(onDisconnect === "cancel" && { onDisconnect }),
    ...(onBusy !== undefined && { onBusy }),
    ...(parent !== undefined && { parent: parent === "root" ? ROOT : parent }),
  };
}
