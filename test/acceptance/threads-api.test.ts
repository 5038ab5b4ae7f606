/**
 * Want 22, against a server process on SQLite. The sidebar is what a React one does behind its components: `fetch` and a live
 * list, with nothing but URLs that `/openapi.json` describes, and no key, token or account.
 */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";

interface Thread {
  readonly threadId: string;
  readonly title?: string;
  readonly status?: string;
}

type Change =
  | { readonly type: "page"; readonly threads: readonly Thread[] }
  | { readonly type: "changed"; readonly thread: Thread }
  | { readonly type: "gone"; readonly threadId: string };

/** What a sidebar keeps: threads by id, as the live list tells them. */
async function openSidebar(url: string) {
  const response = await fetch(`${url}/threads`, { headers: { accept: "text/event-stream" } });
  const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const threads = new Map<string, Thread>();
  const waiting = new Set<() => void>();
  const take = (change: Change): void => {
    if (change.type === "page") for (const thread of change.threads) threads.set(thread.threadId, thread);
    else if (change.type === "changed") threads.set(change.thread.threadId, change.thread);
    else threads.delete(change.threadId);
    for (const look of waiting) look();
  };
  // It is read until the server goes, which ends it as it likes.
  const reading = (async () => {
    for await (const { data } of events ?? []) take(JSON.parse(data));
  })();
  reading.catch(() => undefined);
  /** Resolves when it shows these titles. */
  const shows = (wanted: Readonly<Record<string, string | undefined>>): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        const titles = Object.fromEntries(Array.from(threads.values(), ({ threadId, title }) => [threadId, title]));
        if (JSON.stringify(sorted(titles)) !== JSON.stringify(sorted(wanted))) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { shows };
}

const sorted = (titles: Readonly<Record<string, string | undefined>>): unknown =>
  Object.keys(titles)
    .toSorted()
    .map((id) => [id, titles[id] ?? null]);

/** Another log has other cursors. */
const withoutPlace = (snapshot: string): string => snapshot.replace(/"eventId":"[^"]+"/, "");

test("Threads API. With documented endpoints and no account I can list, title, rename, page, delete and export my threads from my own React sidebar.", async () => {
  const gates = await startGates();
  const { url } = await acceptanceServer(gates, { store: await sqliteFile() });
  const call = (path: string, init?: RequestInit): Promise<Response> => fetch(`${url}${path}`, init);
  const rename = (threadId: string, title: string): Promise<Response> =>
    call(`/threads/${threadId}`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title }),
    });

  // Every endpoint that is used here is documented.
  const { paths }: { paths: Record<string, Record<string, unknown>> } = await (await call("/openapi.json")).json();
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining(["/threads", "/threads/{thread}", "/threads/{thread}/export", "/threads/import"]),
  );
  expect(Object.keys(paths["/threads/{thread}"] ?? {})).toEqual(["get", "patch", "delete"]);

  const sidebar = await openSidebar(url);
  await sidebar.shows({});

  // My threads come about by talking.
  const ids = ["t1", "t2", "t3", "t4", "t5"];
  for (const id of ids) {
    gates.open(`${id} r1 middle`);
    await stockClient(`${url}/agents/worker`, id).send("How many looms?", { runId: "r1" });
  }
  await sidebar.shows(Object.fromEntries(ids.map((id) => [id, undefined])));

  // Title, rename.
  expect((await rename("t3", "Looms")).status).toBe(200);
  await sidebar.shows({ t1: undefined, t2: undefined, t3: "Looms", t4: undefined, t5: undefined });
  await rename("t3", "All my looms");
  await sidebar.shows({ t1: undefined, t2: undefined, t3: "All my looms", t4: undefined, t5: undefined });

  // List, page: the one that changed last comes first.
  const listed: Thread[] = [];
  let next: string | undefined;
  do {
    const query = new URLSearchParams({ limit: "2", ...(next !== undefined && { after: next }) });
    const page: { threads: Thread[]; next?: string } = await (await call(`/threads?${query}`)).json();
    expect(page.threads.length).toBeLessThanOrEqual(2);
    listed.push(...page.threads);
    next = page.next;
  } while (next !== undefined);
  expect(listed.map(({ threadId }) => threadId)).toEqual(["t3", "t5", "t4", "t2", "t1"]);
  expect(listed[0]).toMatchObject({ title: "All my looms", status: "finished" });
  const found: { threads: Thread[] } = await (await call("/threads?q=ALL%20MY")).json();
  expect(found.threads.map(({ threadId }) => threadId)).toEqual(["t3"]);

  // Opened from the sidebar, with what the tool took.
  expect(await (await call("/threads/t3/snapshot")).json()).toMatchObject({
    state: { looms: 42, done: true },
    toolCalls: [
      { name: "count_looms", status: "completed", result: '{"looms":42}', durationMs: expect.any(Number) },
      { name: "save_count", status: "completed", arguments: '{"looms":42}' },
    ],
  });

  // Export, delete, and back from the file.
  const exported = await (await call("/threads/t3/export")).text();
  const before = await (await call("/threads/t3/snapshot")).text();
  expect((await call("/threads/t3", { method: "DELETE" })).status).toBe(204);
  await sidebar.shows({ t1: undefined, t2: undefined, t4: undefined, t5: undefined });
  expect((await call("/threads/t3")).status).toBe(404);
  const init = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: exported };
  expect((await call("/threads/import", init)).status).toBe(201);
  await sidebar.shows({ t1: undefined, t2: undefined, t3: "All my looms", t4: undefined, t5: undefined });
  expect(withoutPlace(await (await call("/threads/t3/snapshot")).text())).toBe(withoutPlace(before));

  // One that is at work is stopped when it is deleted.
  const busy = stockClient(`${url}/agents/worker`, "t6");
  const working = busy.send("How many looms?", { runId: "r1" });
  await gates.reached("t6 r1 middle");
  expect((await call("/threads/t6", { method: "DELETE" })).status).toBe(204);
  await gates.reached("t6 r1 aborted");
  await working;
  await sidebar.shows({ t1: undefined, t2: undefined, t3: "All my looms", t4: undefined, t5: undefined });
});
