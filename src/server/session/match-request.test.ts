import { expect, test } from "vitest";
import type { Message } from "../../protocol/index.ts";
import type { AgentMessage } from "../../protocol/session/index.ts";
import { matchRequest } from "./match-request.ts";

const known: readonly Message[] = [
  { id: "u1", role: "user", content: "yes" },
  { id: "a1", role: "assistant", content: "Really?" },
];
const asking = (...messages: readonly AgentMessage[]) =>
  matchRequest({ type: "run-agent", data: { messages } }, "s1", known);
const yes = { role: "user", content: "yes" } as const;
const really = { role: "assistant", content: "Really?" } as const;
const fresh = expect.stringMatching(/^[0-9a-f-]{36}$/);

test("the last message is never one that was answered: what is said twice is said twice", () => {
  expect(asking(yes).input.messages).toEqual([{ ...yes, id: fresh }]);
  expect(asking(yes, really, yes).input.messages).toEqual([
    { ...yes, id: "u1" },
    { ...really, id: "a1" },
    { ...yes, id: fresh },
  ]);
});

test("a question that was not answered is asked again", () => {
  const [question] = known;
  const request = { type: "run-agent", data: { messages: [yes] } } as const;
  expect(matchRequest(request, "s1", question === undefined ? [] : [question]).input.messages).toEqual([
    { ...yes, id: "u1" },
  ]);
});

test("who repeats no answers goes on behind them; who does may mean a fork", () => {
  expect(asking(yes, { role: "user", content: "no" })).toMatchObject({ onStale: "append" });
  expect(asking(yes, really, { role: "user", content: "no" })).toMatchObject({ onStale: "fork" });
});

test("ids that a client gives stay, and so do options and answers", () => {
  const resume = [{ interruptId: "q1", status: "resolved" }] as const;
  const data = { messages: [{ ...yes, id: "mine" }], options: { temperature: 1 }, resume };
  expect(matchRequest({ type: "run-agent", data }, "s1", []).input).toEqual({
    threadId: "s1",
    runId: fresh,
    protocolVersion: "1.0",
    messages: [{ ...yes, id: "mine" }],
    forwardedProps: { options: { temperature: 1 } },
    resume,
  });
});
