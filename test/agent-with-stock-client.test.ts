/**
 * Agents behind the stock client, which is all the memory that there is between two runs: questions, approvals and
 * frontend tools go on from what `@ag-ui/client` 1.0.0 keeps and sends back.
 */
import { AbstractAgent } from "@ag-ui/client";
import type { BaseEvent, RunAgentInput as PeerInput } from "@ag-ui/core";
import { Observable } from "rxjs";
import { expect, test, vi } from "vitest";
import { defineAgent, defineTool, runAgent, toolLoop } from "../src/agent/index.ts";
import type { Agent, Model } from "../src/agent/index.ts";
import { parseRunInput } from "../src/protocol/index.ts";

/** The stock client, with an agent of ours in place of the network. */
class LocalClient extends AbstractAgent {
  readonly agent: Agent;
  constructor(agent: Agent) {
    super({ threadId: "thread" });
    this.agent = agent;
  }
  run(input: PeerInput): Observable<BaseEvent> {
    return new Observable((subscriber) => {
      const pump = async (): Promise<void> => {
        const { value } = parseRunInput(JSON.parse(JSON.stringify(input)));
        for await (const event of runAgent(this.agent, value)) {
          subscriber.next(JSON.parse(JSON.stringify(event)) as BaseEvent);
        }
        subscriber.complete();
      };
      pump().catch((error: unknown) => subscriber.error(error));
    });
  }
  /** The text that the assistant said last. */
  get said(): unknown {
    return this.messages.findLast(({ role }) => role === "assistant")?.content;
  }
}

const ask = async (client: LocalClient, payload: unknown): Promise<void> => {
  const [question] = client.pendingInterrupts;
  await client.runAgent({ resume: [{ interruptId: question?.id ?? "", status: "resolved", payload }] });
};

test("questions one after the other, each answered in a run of its own", async () => {
  const agent = defineAgent({
    name: "asking",
    run: async ({ emit }) => {
      const answers: unknown[] = [];
      for (const reason of ["name", "age", "city"]) {
        const answer = await emit.interrupt({ reason, message: `Your ${reason}?` });
        answers.push(answer.status === "resolved" ? answer.payload : undefined);
      }
      await emit.text().write(answers.join(", "));
    },
  });
  const client = new LocalClient(agent);
  client.addMessage({ id: "u", role: "user", content: "Sign me up" });
  await client.runAgent();
  for (const payload of ["Ada", 36, "London"]) await ask(client, payload);
  expect(client.said).toBe("Ada, 36, London");
  expect(client.pendingInterrupts).toEqual([]);
});

const deleting: Model = async function* ({ messages }) {
  const answer = messages.findLast(({ role }) => role === "tool")?.content;
  const messageId = `said-${messages.length}`;
  yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: typeof answer === "string" ? answer : "I delete it." };
  if (answer !== undefined) return;
  yield {
    type: "TOOL_CALL_CHUNK",
    toolCallId: "call_abc123",
    toolCallName: "delete_file",
    parentMessageId: messageId,
    delta: '{"path":"/important.txt"}',
  };
};

test.each([
  [{ approved: true }, "deleted /important.txt", 1],
  [{ approved: true, editedArgs: { path: "/other.txt" } }, "deleted /other.txt", 1],
  [{ approved: false }, "Error (denied): The user denied this call; it was not run.", 0],
])("a call that is answered by %j", async (payload, said, count) => {
  const execute = vi.fn<(args: Readonly<Record<string, unknown>>) => string>(({ path }) => `deleted ${String(path)}`);
  const deleteFile = defineTool({
    name: "delete_file",
    description: "Deletes a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    needsApproval: true,
    execute: (args) => execute(args),
  });
  const agent = defineAgent({
    name: "deleting",
    tools: [deleteFile],
    run: (context) => toolLoop({ ...context, model: deleting }),
  });
  const client = new LocalClient(agent);
  client.addMessage({ id: "u", role: "user", content: "Delete it" });
  await client.runAgent();
  expect(client.pendingInterrupts).toMatchObject([{ id: "call_abc123", toolCallId: "call_abc123" }]);
  expect(execute).not.toHaveBeenCalled();
  // The stock client itself refuses to go on without an answer.
  await expect(client.runAgent()).rejects.toThrow(/interrupt/i);
  await ask(client, payload);
  expect(client.said).toBe(said);
  expect(execute).toHaveBeenCalledTimes(count);
  const tools = client.messages.filter(({ role }) => role === "tool");
  expect(tools).toMatchObject([{ toolCallId: "call_abc123" }]);
});

const picking: Model = async function* ({ messages }) {
  const answer = messages.findLast(({ role }) => role === "tool")?.content;
  if (answer === undefined)
    yield { type: "TOOL_CALL_CHUNK", toolCallId: "c1", toolCallName: "pickColour", delta: "{}" };
  else yield { type: "TEXT_MESSAGE_CHUNK", messageId: "done", delta: `You like ${String(answer)}.` };
};

test("a frontend tool is left to the client, whose answer goes on", async () => {
  const agent = defineAgent({ name: "picking", run: (context) => toolLoop({ ...context, model: picking }) });
  const client = new LocalClient(agent);
  client.addMessage({ id: "u", role: "user", content: "Guess" });
  const tools = [{ name: "pickColour", description: "Asks for a colour.", parameters: {} }];
  const pending: unknown[] = [];
  await client.runAgent(
    { tools },
    {
      onRunFinishedEvent: ({ event }) => void pending.push(Reflect.get(Object(event.outcome), "pendingToolCallIds")),
    },
  );
  expect(pending).toEqual([["c1"]]);
  client.addMessage({ id: "t", role: "tool", toolCallId: "c1", content: "red" });
  await client.runAgent({ tools });
  expect(client.said).toBe("You like red.");
});
