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
  const names: string[] = [];
  for await (const { type } of run) {
    names.push(type);
    if (type === "RUN_STARTED") {
      thread.setState({ colour: "red" });
      expect(thread.view).toMatchObject({ state: { colour: "red" }, steps: [] });
      expect(thread.view).toBe(thread.view);
      isSet.resolve();
    } else if (type === "STEP_STARTED") {
      expect(thread.view).toMatchObject({ state: { colour: "red" }, steps: [{ name: "look" }] });
      isSeen.resolve();
    }
  }
  expect(names).toEqual(["RUN_STARTED", "STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED"]);
  expect(thread.view).toMatchObject({ state: { colour: "red" }, steps: [] });
});
