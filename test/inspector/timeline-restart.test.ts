/** A server that is killed and started again under the page Timeline: what came before stays, what comes after follows, once. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { startServer } from "../server-process.ts";
import { inspecting } from "./inspected.ts";

const { visit } = inspecting();

/** A run with so many words; gives how many events the thread has then. */
async function say(url: string, tokens: number): Promise<number> {
  const client = connect(url);
  const thread = client.thread("restarted");
  const message = { id: crypto.randomUUID(), role: "user", content: `Say ${tokens} words` } as const;
  await thread.run("load", { messages: [message], forwardedProps: { tokens } }).finished;
  const { lastEventId } = await thread.details();
  client.close();
  return Number(lastEventId.slice(-16));
}

test("goes on by itself, with each event once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-restart-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const request = { files: ["examples/agents/load.ts"], store: `sqlite:${folder}/threads.db` };
  const first = await startServer(request);
  const before = await say(first.url, 40);
  const page = await visit(first.url, {
    at: "#/timeline/restarted?group=flat",
    mayComplain: /ERR_|Failed to load|network/i,
  });
  const rows = (count: number) => page.locator(`[role=treegrid][aria-rowcount="${count + 1}"]`);
  await rows(before).waitFor();
  await first.kill();
  await page.getByText("Reconnecting…").waitFor();
  const second = await startServer({ ...request, port: Number(new URL(first.url).port) });
  const after = await say(second.url, 25);
  await rows(after).waitFor();
  await page.getByText("Reconnecting…").waitFor({ state: "detached" });
  const agents = page.getByLabel("Run", { exact: true }).locator("option", { hasText: /^load / });
  await expect.poll(() => agents.count(), { timeout: 20_000 }).toBe(2);
  // Another page of it that is opened while the server is away waits for it.
  await second.kill();
  await page.getByRole("link", { name: "Branches" }).click();
  await page
    .locator("main")
    .getByText(/cannot be reached|Opening the page/)
    .first()
    .waitFor();
  await startServer({ ...request, port: Number(new URL(first.url).port) });
  await page.getByRole("treeitem").nth(1).waitFor();
});
