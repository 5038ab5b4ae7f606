/** The one reader of all servers that are measured: `node:http`, connections kept, the body read to its end. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";

const agent = new Agent({ keepAlive: true });

/** Posts a body, and gives the answer once its head is there. */
export async function post(url: string, body: string): Promise<IncomingMessage> {
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    accept: "text/event-stream",
  };
  const sent = request(url, { method: "POST", headers, agent }).end(body);
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer?.statusCode !== 200) throw new Error(`${url} answered with ${answer?.statusCode}.`);
  return answer;
}

/** Posts a body and reads the answer to its end. Gives its bytes. */
export async function postToEnd(url: string, body: string): Promise<number> {
  const answer = await post(url, body);
  let bytes = 0;
  answer.on("data", (chunk: Buffer) => (bytes += chunk.length));
  await once(answer, "end");
  return bytes;
}

/** The same, as text. */
export async function postForText(url: string, body: string): Promise<string> {
  let text = "";
  for await (const chunk of (await post(url, body)).setEncoding("utf8")) text += String(chunk);
  return text;
}

/** Time from posting to the end of the first event. The rest is read too, and not counted; all of it is the text. */
export async function firstEvent(url: string, body: string): Promise<{ readonly ms: number; readonly text: string }> {
  const began = performance.now();
  const answer = await post(url, body);
  let ms: number | undefined;
  let tail = "";
  const chunks: Buffer[] = [];
  answer.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    const text = chunk.toString("latin1");
    if (ms === undefined && (tail + text).includes("\n\n")) ms = performance.now() - began;
    tail = text.slice(-1);
  });
  await once(answer, "end");
  if (ms === undefined) throw new Error(`${url} answered without an event.`);
  return { ms, text: Buffer.concat(chunks).toString() };
}

/** Time that something took. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
