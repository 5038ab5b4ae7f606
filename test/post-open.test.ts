/**
 * What a client posts while something is open (DESIGN 9, interrupts and frontend calls), by the stock clients and by raw HTTP:
 * a stock client that knows of an open question refuses by itself, so those that post here have just been reloaded.
 */
import { describe, expect, test, vi } from "vitest";
import { readLog, runsIn } from "./acceptance/thread-log.ts";
import {
  ANSWER,
  U1,
  U2,
  calling,
  expectHeld,
  idsOf,
  newThread,
  outcomeOf,
  serverUrl,
  user,
  wishing,
} from "./post-outcome.ts";
import { POSTERS, postAs } from "./poster.ts";
import type { Posted, Poster } from "./poster.ts";

/** A thread on which the agent has asked. */
async function asking(poster: Poster, asks = "ask-r1"): Promise<string> {
  const threadId = newThread();
  await postAs(poster, serverUrl(), { threadId, runId: "r1", messages: [U1], more: wishing({ asks }) });
  return threadId;
}

const answering = (interruptId: string, payload: unknown = "Ada"): object => ({
  resume: [{ interruptId, status: "resolved", payload }],
});

describe.each(POSTERS)("posted by %s", (poster) => {
  const refused = (threadId: string, more: object): Promise<unknown> => {
    // Stock clients print what they reject with.
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    return postAs(poster, serverUrl(), { threadId, runId: "r2", messages: [], ...more });
  };

  test("a message while a question is open: refused, with the question, and nothing is logged", async () => {
    const threadId = await asking(poster);
    await expect(refused(threadId, { messages: [U2] })).rejects.toThrow(
      /answers-missing.*ask-r1|ask-r1.*answers-missing/s,
    );
    expect(runsIn(await readLog(serverUrl(), threadId))).toEqual(["r1"]);
  });

  test("an answer that does not fit its schema: refused, and the question stays open", async () => {
    const threadId = await asking(poster);
    await expect(refused(threadId, { more: answering("ask-r1", 7) })).rejects.toThrow("resume-invalid");
    const outcome = await outcomeOf(poster, { threadId, runId: "r3", messages: [], more: answering("ask-r1") });
    expect([idsOf(outcome.given?.messages), outcome.place]).toEqual([["u1"], ["r1", "continue"]]);
    await expectHeld(outcome, ["u1", "re-r3"]);
  });

  test("an answer with the history and a message: both reach the agent", async () => {
    const threadId = await asking(poster);
    const messages = [U1, user("u2")];
    const outcome = await outcomeOf(poster, { threadId, runId: "r2", messages, more: answering("ask-r1") });
    expect([idsOf(outcome.given?.messages), outcome.warned]).toEqual([["u1", "u2"], []]);
    await expectHeld(outcome, ["u1", "u2", "re-r2"]);
  });

  test("an answer to what was never asked: the run goes on, with a warning", async () => {
    const threadId = newThread();
    await postAs(poster, serverUrl(), { threadId, runId: "r1", messages: [U1] });
    const outcome = await outcomeOf(poster, { threadId, runId: "r2", messages: [U2], more: answering("nothing") });
    expect(outcome.warned).toEqual(["/resume/0"]);
    await expectHeld(outcome, ["u1", "re-r1", "u2", "re-r2"]);
  });

  test("a message while a call waits: refused, with the call; the answer and the message together go on", async () => {
    const threadId = await calling(poster);
    await expect(refused(threadId, { messages: [U2] })).rejects.toThrow(/call-r1/);
    const outcome = await outcomeOf(poster, { threadId, runId: "r3", messages: [ANSWER, U2] });
    expect([idsOf(outcome.given?.messages), outcome.warned]).toEqual([["u1", "re-r1", "x1", "u2"], []]);
    await expectHeld(outcome, ["u1", "re-r1", "x1", "u2", "re-r3"]);
  });

  test("a message while a call waits, where the agent has `onOpenCalls: fail`: the call is closed as declined", async () => {
    const threadId = await calling(poster, "declining");
    const outcome = await outcomeOf(poster, { threadId, runId: "r2", agent: "declining", messages: [U2] });
    const given = outcome.given?.messages ?? [];
    expect(given.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(given[2]).toMatchObject({ toolCallId: "call-r1", error: "declined" });
    await expectHeld(outcome, [...idsOf(given), "re-r2"]);
  });

  test("the same question on two branches: each has its own answer, and its own outcome", async () => {
    const threadId = await asking(poster, "ask");
    const more = wishing({ asks: "ask" });
    const other = [user("u1", "Otherwise")];
    await postAs(poster, serverUrl(), { threadId, runId: "r2", query: "?parent=root", messages: other, more });
    const answer = (runId: string, parent: string): Promise<Posted> =>
      postAs(poster, serverUrl(), {
        threadId,
        runId,
        query: `?parent=${parent}`,
        messages: [],
        more: answering("ask"),
      });
    expect(idsOf((await answer("r3", "r2")).messages)).toEqual(["u1", "re-r3"]);
    expect(idsOf((await answer("r4", "r1")).messages)).toEqual(["u1", "re-r4"]);
    expect(idsOf((await answer("r5", "r2")).messages)).toEqual(["u1", "re-r3"]);
    expect(idsOf((await answer("r6", "r1")).messages)).toEqual(["u1", "re-r4"]);
    expect(runsIn(await readLog(serverUrl(), threadId))).toEqual(["r1", "r2", "r3", "r4"]);
  });
});
