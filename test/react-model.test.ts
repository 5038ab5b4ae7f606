import { defineAgent } from "heddle/agent";
import { connect } from "heddle/client";
import { serve } from "heddle/server/fastify";
import { expect, onTestFinished, test } from "vitest";
import { modelOf } from "../src/client/react/thread-model.ts";

test("runs that cannot be fetched are asked for once, and again when a run has begun or ended; then nothing is wrong", async () => {
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
  await until(() => model.error !== undefined);
  expect(model.error).toMatchObject({ code: "server-unreachable" });
  model.refreshBranches();
  await thread.details();
  expect(asked).toHaveLength(1);
  isBroken = false;
  await thread.run("says", "Again").finished;
  await until(() => model.runs.length === 2);
  expect(model.error).toBeUndefined();
});
