/**
 * What `node:http` alone can do, in a process of its own: `bare-child.ts <batches>`. A POST is read, parsed and answered with
 * one event. A GET is a viewer; `open` writes so many batches to all of them, each encoded once.
 */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { answerParent, heldBytes, listening } from "./answer-parent.ts";
import { PER_TURN, WRITE_EVERY_MS, word } from "./workloads.ts";

const batches = Number(process.argv[2] ?? 0);
const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store, no-transform" };
const viewers: ServerResponse[] = [];
let seq = 0;

/** A frame, as long as ours. */
function frame(event: object): string {
  seq += 1;
  return `id: 0123456789abcdef_${String(seq).padStart(16, "0")}\ndata: ${JSON.stringify(event)}\n\n`;
}

const started = (threadId: string, runId: string): string =>
  frame({ type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0", timestamp: Date.now() });

function content(index: number): string {
  const messageId = "msg_0123456789abcdef0123456789abcdef";
  return frame({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: word(index), timestamp: Date.now() });
}

async function answerRun(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { threadId, runId } = JSON.parse(Buffer.concat(chunks).toString());
  response.writeHead(200, HEADERS).end(started(threadId, runId));
}

async function open(): Promise<void> {
  for (let batch = 0; batch < batches; batch++) {
    const frames = Array.from({ length: PER_TURN }, (_, index) => content(batch * PER_TURN + index));
    const bytes = Buffer.from(frames.join(""));
    for (const viewer of viewers) viewer.write(bytes);
    await pause(WRITE_EVERY_MS);
  }
  for (const viewer of viewers.splice(0)) viewer.end();
}

const server = createServer((request, response) => {
  if (request.method === "POST") return void answerRun(request, response);
  response.writeHead(200, HEADERS).write(started("t", "r"));
  viewers.push(response);
});
answerParent(await listening(server), { heldBytes, open: () => void open() });
