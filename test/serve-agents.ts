/** A server in the process behind a real socket, and one question to it: for tests that read what a client gets. */
import { serve } from "heddle/server/fastify";
import type { ServeOptions } from "heddle/server/fastify";
import { onTestFinished } from "vitest";
import { framesOf } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";

/** Serves on a free port until the test has ended, and gives the URL. What goes wrong in runs is expected. */
export async function serveAgents<S = undefined>(options: ServeOptions<S>): Promise<string> {
  const server = await serve({ onError: () => undefined, port: 0, host: "127.0.0.1", ...options });
  onTestFinished(() => server.close());
  return server.url;
}

/** Posts to a path. What is not said is that of a current client with something to ask. */
export const post = (url: string, input: object, init: RequestInit = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: "t1",
      runId: "r1",
      messages: [{ id: "u1", role: "user", content: "Hello" }],
      protocolVersion: "1.0",
      ...input,
    }),
    ...init,
  });

/** Every event of an answer, to its end. */
export async function eventsOf(answer: Response | Promise<Response>): Promise<readonly Frame["event"][]> {
  const response = await answer;
  if (!response.ok) throw new Error(await response.text());
  const events: Frame["event"][] = [];
  for await (const { event } of framesOf(response)) events.push(event);
  return events;
}

/** Types of events, in their order. */
export const typesOf = (events: readonly Frame["event"][]): readonly string[] => events.map(({ type }) => type);

/** What the events of one type say, joined. */
export const deltasOf = (events: readonly Frame["event"][], type: string): string =>
  events.flatMap((event) => (event.type === type ? [String(event["delta"])] : [])).join("");
