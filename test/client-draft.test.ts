import { defineAgent } from "heddle/agent";
import { connect } from "heddle/client";
import { serve } from "heddle/server/fastify";
import { expect, onTestFinished, test } from "vitest";

test("a state that is set and not sent yet hides nothing else that a run does", async () => {
  const [isSet, isSeen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const steps = defineAgent({
    name: "steps",
    async run({ emit }) {
      await isSet.promise;
      await emit.step("look", () => isSeen.promise);
    },
  });
  const server = await serve({ agents: [steps], port: 0 });
  onTestFinished(() => server.close());
  const client = connect(server.url);
  onTestFinished(() => client.close());
  const thread = client.thread("t1");
  const run = thread.run("steps", "Go");
  const views: unknown[] = [];
  for await (const { type } of run) {
    if (type === "RUN_STARTED") {
      thread.setState({ colour: "red" });
      isSet.resolve();
    }
    const { state, steps: open } = thread.view;
    views.push([type, state, open.map(({ name }) => name), thread.view === thread.view]);
    if (type === "STEP_STARTED") isSeen.resolve();
  }
  const state = { colour: "red" };
  expect(views).toEqual([
    ["RUN_STARTED", state, [], true],
    ["STEP_STARTED", state, ["look"], true],
    ["STEP_FINISHED", state, [], true],
    ["RUN_FINISHED", state, [], true],
  ]);
});
