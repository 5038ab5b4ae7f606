/** What is copied from the timeline works as it is pasted: the fixture is read, the commands are answered, the test passes. */
import { execFileSync } from "node:child_process";
import { stripTypeScriptTypes } from "node:module";
import { afterAll, beforeAll, expect, test } from "vitest";
import { subagents } from "../../examples/agents/subagents.ts";
import { tools } from "../../examples/agents/tools.ts";
import { bareEvent, seqOf } from "../../inspector/log/thread-log.ts";
import type { LogEntry } from "../../inspector/log/thread-log.ts";
import { COPIES, curlOf, eventsUrl, fixtureOf, testOf } from "../../inspector/pages/timeline/copied.ts";
import type { CopySource } from "../../inspector/pages/timeline/copied.ts";
import { scopesAt, selectionOf } from "../../inspector/pages/timeline/selections.ts";
import { TimelineFilter } from "../../inspector/pages/timeline/timeline-filter.ts";
import { TimelineIndex } from "../../inspector/pages/timeline/timeline-index.ts";
import type { Row } from "../../inspector/pages/timeline/timeline-rows.ts";
import * as protocol from "../../src/protocol/index.ts";
import type { Event } from "../../src/protocol/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import * as stream from "../../src/stream/index.ts";
import { judgeFixture } from "../../src/testing/index.ts";
import { serving } from "./inspected.ts";

const THREAD = "it's a thread";
let server: Served;
let index: TimelineIndex;
let source: CopySource;

beforeAll(async () => {
  server = await serving({ agents: [tools, subagents] });
  await post("tools", {
    runId: "r1",
    messages: [{ id: "u1", role: "user", content: "What's the weather in Ulm and Rome?" }],
  });
  await post("subagents", { runId: "r2", messages: [{ id: "u2", role: "user", content: "weaving" }] });
  const note = { metaType: "note", payload: { text: "Well done" }, runId: "r1" };
  await request(`/threads/${encodeURIComponent(THREAD)}/annotations`, note);
  const query = "all=true&meta=true&follow=false";
  const logged = await linesOf(`${server.url}/threads/${encodeURIComponent(THREAD)}/events?${query}`);
  const entries = logged.map(({ id, runId, event }): LogEntry => ({
    seq: seqOf(id),
    id,
    runId,
    event,
    atMs: event.timestamp,
  }));
  index = new TimelineIndex(entries);
  index.advance(entries.length);
  source = { url: server.url, threadId: THREAD, wantsToken: false, agent: "tools" };
});
afterAll(() => server.close());

async function post(agent: string, input: object): Promise<string> {
  return request(`/agents/${agent}`, { threadId: THREAD, protocolVersion: "1.0", ...input });
}

async function request(path: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  return response.text();
}

async function linesOf(url: string): Promise<readonly { id: string; runId: string; event: Event }[]> {
  const response = await fetch(url, { headers: { accept: "application/x-ndjson" } });
  return (await response.text()).split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
}

/** The words of a shell command, read as a shell reads quotes. */
const unquoted = (word: string): string => word.slice(1, -1).replaceAll(`'\\''`, "'");
const QUOTED = /'(?:[^']|'\\'')*'/g;

const bare = (events: readonly Event[]): Event[] =>
  events.map((event) => bareEvent({ seq: 0, id: "", runId: "", event, atMs: undefined }));

test("a run as fixture is what the CLI's reader takes for a whole, valid stream", async () => {
  const text = fixtureOf(selectionOf(index, "run", index.run("r1"), undefined));
  const read = [];
  for await (const { value } of protocol.decodeNdjson([text])) read.push(value);
  const logged = await linesOf(
    `${server.url}/threads/${encodeURIComponent(THREAD)}/events?run=r1&meta=true&follow=false`,
  );
  expect(read).toEqual(logged.map(({ event }) => event));
  expect(judgeFixture({ stream: read, expect: { outcome: "completed" } })).toEqual([]);
});

/** Every row that there is: runs, what is in them, and each event. */
const rowsIn = (at: TimelineIndex): readonly Row[] => {
  const below = (row: Row): readonly Row[] => (typeof row === "number" ? [row] : [row, ...row.items.flatMap(below)]);
  return at.runs.flatMap(below);
};

test("the curl of every row gives exactly its events, whatever stands between them", async () => {
  const ways = new Set<string>();
  for (const row of rowsIn(index)) {
    const scope = typeof row === "number" ? "event" : row.kind === "run" ? "run" : "group";
    const selection = selectionOf(index, scope, row, undefined);
    const [read = ""] = curlOf(selection, source).split("\n\n");
    const address = unquoted([...(read.split(".\n")[1] ?? "").matchAll(QUOTED)][0]?.[0] ?? "");
    expect(address).toBe(eventsUrl(selection, source));
    const [, filter = "cat"] = read.split(" | ");
    ways.add(filter.split(" ")[0] ?? "");
    const input = (await linesOf(address)).map((line) => `${JSON.stringify(line)}\n`).join("");
    const lines = execFileSync("sh", ["-c", filter], { input, encoding: "utf8" }).trimEnd().split("\n");
    const events = lines.map((line): Event => JSON.parse(line).event);
    expect(bare(events)).toEqual(selection.entries.map(bareEvent));
  }
  expect(ways).toEqual(new Set(["cat", "head", "grep", "sed"]));
});

test("the test of every row passes as it is pasted", () => {
  for (const row of rowsIn(index)) {
    const scope = typeof row === "number" ? "event" : row.kind === "run" ? "run" : "group";
    const code = testOf(selectionOf(index, scope, row, undefined));
    execute(code);
    expect(code).not.toContain("is refused");
  }
});

test("the curl of a run starts it again, in a run beside it", async () => {
  const command = curlOf(selectionOf(index, "run", index.run("r1"), undefined), source);
  const words = [...(command.split("# Start it again")[1]?.matchAll(QUOTED) ?? [])].map(([word]) => unquoted(word));
  const [address = "", type] = words;
  const body = pasted(command);
  expect([address, type]).toEqual([`${server.url}/agents/tools`, "Content-Type: application/json"]);
  const answer = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body });
  const said = await answer.text();
  expect(said).toContain("RUN_FINISHED");
  expect(said).toContain("In Ulm it is");
});

/** What a shell does with a command, where `curl` says what it is to send, and `echo` that it was called. */
const pasted = (command: string): string =>
  execFileSync("sh", { input: `curl() { case "$*" in *@-*) cat ;; esac; }\n${command}`, encoding: "utf8" });

test("a command does what it says whatever the ids are, and however long the input is", () => {
  const [runId, id] = ["r", "\necho OOPS #"];
  const input = {
    threadId: THREAD,
    runId,
    messages: [{ id: "u", role: "user" as const, content: "it's $(x)".repeat(40_000) }],
  };
  const events: readonly Event[] = [
    { type: "RUN_STARTED", threadId: THREAD, runId, input },
    { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
    { type: "TEXT_MESSAGE_END", messageId: id },
    { type: "RUN_FINISHED", threadId: THREAD, runId, outcome: { type: "success" } },
  ];
  const odd = new TimelineIndex(
    events.map((event, place) => ({ seq: place + 1, id: `log_${place}`, runId, event, atMs: undefined })),
  );
  odd.advance(events.length);
  const sent = pasted(curlOf(selectionOf(odd, "run", odd.run(runId), undefined), source));
  expect(JSON.parse(sent).messages).toEqual(input.messages);
  const message = curlOf(selectionOf(odd, "group", odd.find(["message"], id), undefined), source);
  expect(pasted(message)).toBe("");
});

test("a server that wants a token is asked with one from the environment", () => {
  const selection = selectionOf(index, "run", index.run("r1"), undefined);
  const command = curlOf(selection, { ...source, wantsToken: true });
  expect(command.match(/-H "Authorization: Bearer \$HEDDLE_TOKEN"/g)).toHaveLength(2);
  expect(command).not.toContain("undefined");
});

/** Runs the code of a test file that imports from `heddle` and `vitest`. */
function execute(code: string): void {
  const modules = { "heddle/stream": stream, "heddle/protocol": protocol, vitest: { expect, test: runNow } };
  const script = stripTypeScriptTypes(code).replaceAll(
    /import (\{[^}]*\}) from ("[^"]+");/g,
    "const $1 = modules[$2];",
  );
  // oxlint-disable-next-line no-new-func -- the code is our own, and has to be run
  new Function("modules", script)(modules);
}
let ran = 0;
const runNow = (_: string, body: () => void): void => {
  ran += 1;
  body();
};

test("the test of a run, a message, an event and a part that is out of order passes, and fails once something is changed", () => {
  const run = index.run("r1");
  const message = index.run("r2")?.items.find((item) => typeof item !== "number" && item.kind === "message");
  const filter = new TimelineFilter(index, { kinds: ["text"], runId: "", subagent: "", text: "", problems: false });
  filter.advance();
  const codes = [
    testOf(selectionOf(index, "run", run, undefined)),
    testOf(selectionOf(index, "group", message, undefined)),
    testOf(selectionOf(index, "event", 5, undefined)),
    testOf(selectionOf(index, "shown", undefined, undefined)),
    testOf(selectionOf(index, "shown", undefined, filter)),
  ];
  ran = 0;
  for (const code of codes) execute(code);
  expect(ran).toBe(codes.length);
  expect(codes.at(-1)).toContain("toThrow");
  expect(() => execute(codes[0]?.replace('"delta":"Let me see."', '"delta":"Let me go."') ?? "")).toThrow(
    "to deeply equal",
  );
});

test("what there is to choose depends on the row", () => {
  expect([scopesAt(undefined), scopesAt(index.run("r1")), scopesAt(3)]).toEqual([
    ["shown"],
    ["run", "shown"],
    ["event", "group", "run", "shown"],
  ]);
  expect(Object.keys(COPIES)).toEqual(["fixture", "curl", "test"]);
});
