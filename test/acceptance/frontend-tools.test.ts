/**
 * Want 19. A browser's tool is called; the page is reloaded, and so is the server. The call is offered once more, one of two
 * tabs claims it, its single result goes on with the thread, and nothing that was answered is offered again.
 */
import { expect, test } from "vitest";
import { startServer } from "../server-process.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import { readLog, runsIn, verifyAll } from "./thread-log.ts";

const FILES = ["test/stock-client-agents.ts"];
const TOOLS = [{ name: "pick_colour", description: "Lets the user pick.", parameters: { type: "object" } }];

/** What a tab may execute: the calls of its messages that nobody has answered. */
function openCalls({ agent }: ReturnType<typeof stockClient>): readonly string[] {
  const answered = new Set(agent.messages.flatMap((each) => (each.role === "tool" ? [each.toolCallId] : [])));
  const calls = agent.messages.flatMap((each) => (each.role === "assistant" ? (each.toolCalls ?? []) : []));
  return calls.map(({ id }) => id).filter((id) => !answered.has(id));
}

const claim = async (url: string, call: string, holder: string): Promise<number> => {
  const answer = await fetch(`${url}/threads/t1/tool-calls/${encodeURIComponent(call)}/claim`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ holder }),
  });
  await answer.body?.cancel();
  return answer.status;
};

test("Frontend tools. I reload while a browser tool is pending: it is offered once more and its single result continues the thread; tools already answered are not executed again by replay.", async () => {
  const store = await sqliteFile();
  const first = await startServer({ files: FILES, store });
  const before = stockClient(`${first.url}/agents/frontend`, "t1");
  await before.send("A colour, please", { runId: "r1", tools: TOOLS });
  const [call = ""] = openCalls(before);
  expect(openCalls(before)).toHaveLength(1);
  await first.kill();

  const { url } = await startServer({ files: FILES, store });
  const tabs = ["one", "two"].map(() => stockClient(`${url}/agents/frontend`, "t1"));
  for (const tab of tabs) await tab.agent.runAgent({ tools: TOOLS });
  for (const tab of tabs) expect(openCalls(tab)).toEqual([call]);
  expect(await Promise.all(["one", "two"].map((holder) => claim(url, call, holder)))).toEqual(
    expect.arrayContaining([200, 409]),
  );

  // A plain message in place of the answer changes nothing.
  const [one, two] = tabs;
  if (one === undefined || two === undefined) throw new Error("two tabs");
  const impatient = stockClient(`${url}/agents/frontend`, "t1");
  await expect(impatient.send("Well?", { tools: TOOLS })).rejects.toThrow("answers-missing");

  one.agent.addMessage({ id: "x1", role: "tool", toolCallId: call, content: "red" });
  await one.agent.runAgent({ runId: "r2", tools: TOOLS });
  expect(one.agent.messages.at(-1)).toMatchObject({ role: "assistant", content: "You picked red." });
  // The other tab answers too: its answer comes too late to count.
  two.agent.addMessage({ id: "x2", role: "tool", toolCallId: call, content: "blue" });
  await two.agent.runAgent({ runId: "r3", tools: TOOLS });
  const after = stockClient(`${url}/agents/frontend`, "t1");
  await after.agent.runAgent({ tools: TOOLS });
  expect(openCalls(after)).toEqual([]);
  expect(after.agent.messages.filter(({ role }) => role === "tool")).toMatchObject([{ content: "red" }]);
  expect(await claim(url, call, "late")).toBe(409);
  const log = await readLog(url, "t1");
  verifyAll(log);
  expect(log.filter(({ type }) => type === "TOOL_CALL_START")).toHaveLength(1);
  expect(runsIn(log).slice(0, 2)).toEqual(["r1", "r2"]);
});
