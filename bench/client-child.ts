/**
 * A server of `node:http` alone that plays an answer, in a process of its own: as many words as the forwarded properties
 * order, 16 events a write, each encoded before the first request comes for it. It knows one run a thread.
 */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { encodeSse } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { answerParent, listening } from "./answer-parent.ts";
import { PER_TURN, orderOf, w1 } from "./workloads.ts";

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store, no-transform" };
const played = new Map<number, readonly Buffer[]>();

const cursor = (seq: number): string => `0123456789ab_${String(seq).padStart(16, "0")}`;

/** All but the first event, which names the run. */
function writesOf(deltas: number): readonly Buffer[] {
  const known = played.get(deltas);
  if (known !== undefined) return known;
  const frames = w1(deltas).map((event, index) => encodeSse(event, cursor(index + 1)));
  const writes: Buffer[] = [];
  for (let at = 1; at < frames.length; at += PER_TURN) {
    writes.push(Buffer.from(frames.slice(at, at + PER_TURN).join("")));
  }
  played.set(deltas, writes);
  return writes;
}

async function answerRun(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { threadId, runId, forwardedProps } = JSON.parse(Buffer.concat(chunks).toString());
  const started: Event = { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" };
  response.writeHead(200, { ...HEADERS, "content-location": `/threads/${threadId}/runs/${runId}` });
  response.write(encodeSse(started, cursor(1)));
  for (const bytes of writesOf(orderOf(forwardedProps).deltas)) {
    if (!response.write(bytes)) await new Promise((resolve) => response.once("drain", resolve));
    await nextTurn();
  }
  response.end();
}

answerParent(await listening(createServer((request, response) => void answerRun(request, response))), {});
