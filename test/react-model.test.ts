import { defineAgent } from "heddle/agent";
import { connect } from "heddle/client";
import { serve } from "heddle/server/fastify";
import { expect, onTestFinished, test, vi } from "vitest";
import { modelOf } from "../src/client/react/thread-model.ts";

/** How long something may take on a machine that is busy otherwise too. */
const WAIT = { timeout: 20_000 };

test("runs that cannot be fetched are asked for again when a run has begun or ended, and a little later; then nothing is wrong", async () => {
  const agent = defineAgent({ name: "says", run: ({ emit }) => emit.text().write("Hello.") });
  const server = await serve({ agents: [agent], port: 0 });
  onTestFinished(() => server.close());
  let isBroken = true;
  const asked: string[] = [];
  const client = connect(server.url, {
    fetch: async (input, init) => {
      if (!String(input).includes("/snapshot")) return fetch(input, init);
      asked.push(String(input));
      if (isBroken) throw new TypeError("broken");
      return fetch(input, init);
    },
  });
  onTestFinished(() => client.close());
  const thread = client.thread("t1");
  onTestFinished(thread.attach());
  await thread.run("says", "Hi").finished;
  await thread.restore();
  const model = modelOf(thread);
  expect(modelOf(thread)).toBe(model);
  /** As components do: told of news, they read, and ask for what is missing. */
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        void model.branches;
        model.refreshBranches();
        if (isSo()) resolve();
      };
      onTestFinished(model.subscribe(look));
      look();
    });
  const sinceMs = performance.now();
  await until(() => model.error !== undefined);
  expect(model.error).toMatchObject({ code: "server-unreachable" });
  model.refreshBranches();
  await thread.details();
  // Once, and once more for every two seconds that a busy machine stood still here.
  expect(asked.length).toBeLessThanOrEqual(1 + (performance.now() - sinceMs) / 2000);
  isBroken = false;
  await thread.run("says", "Again").finished;
  await until(() => model.runs.length === 2);
  expect(model.error).toBeUndefined();
  isBroken = true;
  await thread.run("says", "Once more").finished;
  await until(() => model.error !== undefined);
  isBroken = false;
  await until(() => model.runs.length === 3);
  expect(model.error).toBeUndefined();
});

test("a run is starting until it has begun or is refused, and a refusal counts until another run is the newest", async () => {
  const agent = defineAgent({ name: "says", run: ({ emit }) => emit.text().write("Hello.") });
  const server = await serve({ agents: [agent], port: 0 });
  onTestFinished(() => server.close());
  const client = connect(server.url);
  onTestFinished(() => client.close());
  const thread = client.thread("t1");
  onTestFinished(thread.attach());
  const model = modelOf(thread);
  const seen: boolean[] = [];
  onTestFinished(model.subscribe(() => void seen.push(model.isStarting)));
  const run = model.start(() => thread.run("says", "Hi"));
  expect(model.isStarting).toBe(true);
  await run.finished;
  await vi.waitFor(() => expect(model.isStarting).toBe(false), WAIT);
  expect(seen).toContain(true);
  await expect(model.start(() => thread.run("nobody", "Hi")).finished).rejects.toMatchObject({ code: "agent-unknown" });
  await vi.waitFor(() => expect(model.isStarting).toBe(false), WAIT);
  expect(model.error).toMatchObject({ code: "agent-unknown" });
  const other = connect(server.url);
  onTestFinished(() => other.close());
  await other.thread("t1").run("says", "From elsewhere").finished;
  await vi.waitFor(() => expect(model.messages).toHaveLength(4), WAIT);
  expect(model.error).toBeUndefined();
});
