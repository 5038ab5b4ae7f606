/** docs/websocket.md: its client runs as it stands, through cuts of its connection too, and its table is that of the settings. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { SETTINGS } from "../src/cli/settings.ts";
import { serve } from "../src/server/fastify/index.ts";
import { pacedAgent } from "./paced-agent.ts";

const page = readFileSync("docs/websocket.md", "utf8");

test("WS-ATT-4, WS-CLS-1: the client of docs/websocket.md shows each word once, whatever happens to its connection", async () => {
  const [, source = ""] = /```js\n(.*?)```/s.exec(page) ?? [];
  expect(source.trim().split("\n").length).toBeLessThanOrEqual(40);
  const folder = await mkdtemp(join(tmpdir(), "heddle-docs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "client.mjs"), source);
  const { agent } = pacedAgent("unused");
  // Every socket is closed as too old again and again, in the middle of the run.
  const words = Array.from({ length: 12 }, (_, index) => `word${index} `);
  const opened = Promise.withResolvers<void>();
  let connections = 0;
  const talker = {
    ...agent,
    name: "assistant",
    async *run({ input }: { input: { threadId: string; runId: string } }) {
      const { threadId, runId } = input;
      yield { type: "RUN_STARTED", threadId, runId } as const;
      yield { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" } as const;
      for (const delta of words) {
        if (delta === "word6 ") await opened.promise;
        yield { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta } as const;
      }
      yield { type: "TEXT_MESSAGE_END", messageId: "m" } as const;
      yield { type: "RUN_FINISHED", threadId, runId } as const;
    },
  };
  const server = await serve({
    agents: [talker],
    port: 0,
    host: "127.0.0.1",
    keepAliveMs: 300,
    socketMaxAgeMs: 300,
    auth: () => {
      if (++connections === 2) opened.resolve();
      return { tenant: "t", user: "u", roles: [] };
    },
  });
  onTestFinished(() => server.close());
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "client.mjs"), server.url]);
  expect(stdout).toBe(words.join(""));
  expect(connections).toBeGreaterThan(1);
});

test("WS-LIV-2: the settings of docs/websocket.md are those of the command", () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| `(HEDDLE_\w+)` \|/gm)];
  expect(rows.map(([, name]) => name)).toContain("socketMaxAgeMs");
  const variables = new Map(Object.entries(SETTINGS).map(([name, { variable }]) => [name, variable]));
  for (const [, name = "", variable] of rows) expect([name, variable]).toEqual([name, variables.get(name)]);
});
