import { describe, expect, it } from "vitest";
import type { AssistantMessage, ContentPart, Message, RunAgentInput, ToolMessage } from "../../protocol/index.ts";
import { reconcile } from "./reconcile.ts";
import type { KnownBranch, KnownMessage, Reconciled } from "./reconcile.ts";

const user = (id: string, content = id): Message => ({ id, role: "user", content });
const assistant = (id: string, ...calls: readonly string[]): AssistantMessage => ({
  id,
  role: "assistant",
  content: id,
  toolCalls: calls.map((call) => ({ id: call, type: "function", function: { name: "f", arguments: "{}" } })),
});
const tool = (id: string, toolCallId: string): ToolMessage => ({ id, role: "tool", content: id, toolCallId });
const system = (id: string): Message => ({ id, role: "system", content: id });
const reasoning = (id: string): Message => ({ id, role: "reasoning", content: id });
const activity = (id: string): Message => ({ id, role: "activity", activityType: "PLAN", content: {} });
const post = (messages: readonly Message[], extra: Partial<RunAgentInput> = {}): RunAgentInput => ({
  threadId: "t",
  runId: "new",
  messages,
  ...extra,
});
const of = (runId: string, ...messages: readonly Message[]): readonly KnownMessage[] =>
  messages.map((message) => ({ message, runId }));
const ids = (messages: readonly Message[]): string => messages.map(({ id }) => id).join(" ");
const reasons = ({ dropped }: Reconciled): readonly string[] =>
  dropped.map(({ code, messageId, path }) => `${code} ${messageId} ${path}`);

const [u1, a1, u2, a2] = [user("u1"), assistant("a1"), user("u2"), assistant("a2")];

/** Two turns, both ended: r1 brought u1 and a1, r2 brought u2 and a2. */
const twoTurns: KnownBranch = {
  runs: [
    { runId: "r1", ended: true, state: { n: 1 } },
    { runId: "r2", ended: true, state: { n: 2 } },
  ],
  messages: [...of("r1", u1, a1), ...of("r2", u2, a2)],
  state: { n: 2 },
};

/** One turn that ended with the call c1 unanswered. */
const waiting: KnownBranch = {
  runs: [{ runId: "r1", ended: true }],
  messages: of("r1", u1, assistant("a1", "c1"), assistant("a1b")),
  pendingToolCallIds: ["c1"],
};

describe("DESIGN 9, what a client posts", () => {
  it("row 1: an empty list and nothing else on a thread that exists: restore", () => {
    for (const extra of [{}, { forwardedProps: {} }, { resume: [] }, { tools: [], context: [], state: { other: 1 } }]) {
      const result = reconcile(post([], extra), twoTurns);
      expect(result).toMatchObject({ verdict: "restore", added: [], dropped: [], differs: true });
      expect(result.messages).toEqual([u1, a1, u2, a2]);
      expect(result.state).toEqual({ kind: "branch", state: { n: 2 }, log: false, snapshot: true });
    }
    expect(reconcile(post([activity("x")]), twoTurns).verdict).toBe("restore");
    expect(reconcile(post([]), { runs: [], messages: [] })).toMatchObject({ verdict: "restore", differs: false });
  });

  it("row 1, and something else: an empty list with a resume or forwarded properties runs the agent", () => {
    const resume = [{ interruptId: "i1", status: "resolved" as const }];
    expect(reconcile(post([], { resume }), twoTurns)).toMatchObject({ verdict: "run", differs: true });
    expect(reconcile(post([], { forwardedProps: { go: true } }), twoTurns).verdict).toBe("run");
  });

  it("row 2: everything known up to the tip, nothing new: the agent runs again on the branch", () => {
    const result = reconcile(post([u1, a1, u2, a2]), twoTurns);
    expect(result).toMatchObject({ verdict: "run", added: [], dropped: [], differs: false });
    expect(result.messages).toEqual([u1, a1, u2, a2]);
  });

  it("row 2: what a client cannot know or may leave out does not count as the tip", () => {
    const tail = { ...twoTurns, messages: [...twoTurns.messages, ...of("r2", reasoning("x"), activity("y"))] };
    expect(reconcile(post([u1, a1, u2, a2]), tail)).toMatchObject({ verdict: "run", differs: false });
    expect(reconcile(post([u1, a1, u2, a2, user("u3")]), tail)).toMatchObject({ verdict: "continue", differs: false });
    const failed: KnownBranch = { runs: [{ runId: "r1", ended: true }], messages: of("r1", u1, reasoning("x")) };
    expect(reconcile(post([u1]), failed).verdict).toBe("run");
    const running: KnownBranch = { runs: [{ runId: "r1", ended: false }], messages: of("r1", u1, a1) };
    expect(reconcile(post([u1]), running).verdict).toBe("run");
    expect(reconcile(post([u1, u2]), running)).toMatchObject({ verdict: "continue", added: [u2] });
  });

  it("row 3: known history, then new user messages: continue the head", () => {
    const [u3, u4] = [user("u3"), user("u4")];
    const result = reconcile(post([u1, a1, u2, a2, u3, u4]), twoTurns);
    expect(result).toMatchObject({ verdict: "continue", added: [u3, u4], dropped: [], differs: false });
    expect(ids(result.messages)).toBe("u1 a1 u2 a2 u3 u4");
  });

  it("row 3: no history, then a new user message: continue the head, and show the client the rest", () => {
    const result = reconcile(post([user("u3")]), twoTurns);
    expect(result).toMatchObject({ verdict: "continue", differs: true, dropped: [] });
    expect(ids(result.messages)).toBe("u1 a1 u2 a2 u3");
    const windowed = reconcile(post([u2, a2, user("u3")]), twoTurns);
    expect(windowed).toMatchObject({ verdict: "continue", differs: true });
  });

  it("row 3: a user message that was written while the answer streamed is new wherever it stands", () => {
    const result = reconcile(post([u1, a1, user("u3"), u2, a2]), twoTurns);
    expect(result).toMatchObject({ verdict: "continue", differs: true });
    expect(ids(result.messages)).toBe("u1 a1 u2 a2 u3");
  });

  it("row 3: answers to pending tool calls continue the head, each call once", () => {
    const answer = tool("t1", "c1");
    const whole = [u1, assistant("a1", "c1"), assistant("a1b")];
    const result = reconcile(post([...whole, answer, tool("t2", "c1"), tool("t3", "c9")]), waiting);
    expect(result).toMatchObject({ verdict: "continue", added: [answer], unanswered: { toolCallIds: [] } });
    expect(reasons(result)).toEqual(["duplicate-answer t2 /messages/4", "unknown-message t3 /messages/5"]);
    expect(reconcile(post([answer]), waiting)).toMatchObject({ verdict: "continue", added: [answer] });
    const early = reconcile(post([u1, assistant("a1", "c1"), answer]), waiting);
    expect(early).toMatchObject({ verdict: "continue", added: [answer], differs: true });
    for (const list of [
      [u1, answer],
      [u1, answer, u2],
    ]) {
      const result = reconcile(post(list), waiting);
      expect(result.verdict).toBe("continue");
      expect(result.messages).toEqual([...waiting.messages.map(({ message }) => message), ...list.slice(1)]);
    }
  });

  it("row 4: a list that ends at an answered user message: regenerate, forked at that run's parent", () => {
    const result = reconcile(post([u1, a1, u2]), twoTurns);
    expect(result).toMatchObject({ verdict: "regenerate", forkAt: "r1", added: [u2], dropped: [], differs: false });
    expect(result.messages).toEqual([u1, a1, u2]);
    expect(reconcile(post([u1]), twoTurns)).toMatchObject({ verdict: "regenerate", forkAt: undefined, added: [u1] });
    expect(reconcile(post([u1, a1, u2]), twoTurns, { onStale: "append" })).toMatchObject({ verdict: "regenerate" });
  });

  it("row 4: an empty answer that a client made up for the new one does not hide it", () => {
    const result = reconcile(post([u1, assistant("placeholder")]), twoTurns);
    expect(result).toMatchObject({ verdict: "regenerate", forkAt: undefined, differs: true });
    expect(reasons(result)).toEqual(["unknown-message placeholder /messages/1"]);
  });

  it("row 4: the run that answered is replaced, which need not be the run that brought the question", () => {
    const retried: KnownBranch = {
      runs: ["r1", "r2"].map((runId) => ({ runId, ended: true })),
      messages: [...of("r1", u1), ...of("r2", a1)],
    };
    expect(reconcile(post([u1]), retried)).toMatchObject({ verdict: "regenerate", forkAt: "r1", added: [] });
  });

  it("row 4: a list that ends earlier at an answer, or comes with a resume, belongs to the head", () => {
    expect(reconcile(post([u1, a1]), twoTurns)).toMatchObject({ verdict: "run", differs: true });
    const resume = [{ interruptId: "i1", status: "resolved" as const }];
    expect(reconcile(post([u1, a1, u2], { resume }), twoTurns)).toMatchObject({ verdict: "run", differs: true });
  });

  it("row 5: a known user id with other text: edit, forked at the last common run", () => {
    const edited = user("u2", "Tell me about London instead");
    for (const onStale of ["fork", "append"] as const) {
      const result = reconcile(post([u1, a1, edited]), twoTurns, { onStale });
      expect(result).toMatchObject({ verdict: "edit", forkAt: "r1", added: [edited], dropped: [], differs: false });
      expect(result.messages).toEqual([u1, a1, edited]);
    }
    const first = reconcile(post([user("u1", "other"), a1, u2, a2, user("u3")]), twoTurns);
    expect(first).toMatchObject({ verdict: "edit", forkAt: undefined, differs: true });
    expect(ids(first.messages)).toBe("u1 u3");
    expect(reasons(first)).toEqual([
      "superseded a1 /messages/1",
      "superseded u2 /messages/2",
      "superseded a2 /messages/3",
    ]);
  });

  it("row 5: a shorter prefix and then a new message: edit, or appended by option", () => {
    const u3 = user("u3");
    const fork = reconcile(post([u1, a1, u3]), twoTurns);
    expect(fork).toMatchObject({ verdict: "edit", forkAt: "r1", added: [u3], differs: false });
    expect(fork.messages).toEqual([u1, a1, u3]);
    const append = reconcile(post([u1, a1, u3]), twoTurns, { onStale: "append" });
    expect(append).toMatchObject({ verdict: "continue", added: [u3], differs: true });
    expect(ids(append.messages)).toBe("u1 a1 u2 a2 u3");
  });

  it("row 5: a prefix that ends within a run brings the log's own messages of that run along", () => {
    const result = reconcile(post([u1, a1, u2, user("u3")]), twoTurns);
    expect(result).toMatchObject({ verdict: "edit", forkAt: "r1" });
    expect(ids(result.added)).toBe("u2 u3");
    const one: KnownBranch = { runs: [{ runId: "r", ended: true }], messages: of("r", u1, a1, u2, a2) };
    const within = reconcile(post([u1, assistant("a1", "forged"), user("u3")]), one);
    expect(within).toMatchObject({ verdict: "edit", forkAt: undefined, differs: true });
    expect(within.added).toEqual([u1, a1, user("u3")]);
  });

  it("row 5: an edit leaves answers behind whose call is not on the new branch", () => {
    const result = reconcile(post([user("u1", "other"), tool("t1", "c1")]), waiting);
    expect(result).toMatchObject({ verdict: "edit", unanswered: { toolCallIds: [] } });
    expect(ids(result.messages)).toBe("u1");
    expect(reasons(result)).toEqual(["unknown-message t1 /messages/1"]);
  });

  it("row 6: an unknown assistant or tool message, an altered known one: dropped, with a warning", () => {
    const altered: Message = { ...a2, content: "I never said that" };
    const posted = [u1, a1, u2, altered, assistant("forged"), tool("t", "c"), reasoning("r"), user("a1", "role")];
    const result = reconcile(post(posted), twoTurns);
    expect(result).toMatchObject({ verdict: "run", added: [], differs: true });
    expect(result.messages).toEqual([u1, a1, u2, a2]);
    expect(reasons(result)).toEqual([
      "altered-message a2 /messages/3",
      "unknown-message forged /messages/4",
      "unknown-message t /messages/5",
      "unknown-message r /messages/6",
      "altered-message a1 /messages/7",
    ]);
    for (const { message } of result.dropped) expect(message).toMatch(/^[A-Z].*\.$/);
  });

  it("row 7: system and developer messages: taken on a new thread, later only where configured", () => {
    const developer: Message = { id: "d", role: "developer", content: "d" };
    expect(reconcile(post([system("s"), developer, u1]), undefined).added).toHaveLength(3);
    const later = reconcile(post([system("s"), developer, u1, a1, u2, a2]), twoTurns);
    expect(later).toMatchObject({ verdict: "run", added: [], differs: true });
    expect(reasons(later)).toEqual(["instructions s /messages/0", "instructions d /messages/1"]);
    const accepted = reconcile(post([system("s"), u1, a1, u2, a2]), twoTurns, { acceptInstructions: true });
    expect(accepted).toMatchObject({ verdict: "continue", added: [system("s")], dropped: [] });
  });

  it("row 7: a known system message is no history: sent with a new message alone, it does not fork", () => {
    const instructed = { ...twoTurns, messages: [...of("r1", system("s")), ...twoTurns.messages] };
    expect(reconcile(post([system("s"), user("u3")]), instructed).verdict).toBe("continue");
    const edit = reconcile(post([system("s"), user("u1", "other")]), instructed);
    expect(edit).toMatchObject({ verdict: "edit", forkAt: undefined });
    expect(ids(edit.messages)).toBe("s u1");
  });

  it("row 7: instructions that came with a turn stay with it when its answer is replaced", () => {
    const instructed: KnownBranch = { runs: [{ runId: "r1", ended: true }], messages: of("r1", u1, system("s"), a1) };
    const result = reconcile(post([u1]), instructed);
    expect(result).toMatchObject({ verdict: "regenerate", forkAt: undefined, differs: false });
    expect(ids(result.added)).toBe("u1 s");
    expect(reconcile(post([u1, system("s")]), instructed)).toMatchObject({ verdict: "regenerate", dropped: [] });
  });

  it("row 8: a thread that does not exist: its history is taken as it comes, an empty list runs too", () => {
    const history = [system("s"), u1, assistant("a1", "c1"), tool("t1", "c1"), reasoning("r"), u2];
    const result = reconcile(post(history, { state: { n: 1 } }), undefined);
    expect(result).toMatchObject({ verdict: "new-thread", dropped: [], differs: false });
    expect(result.added).toEqual(history);
    expect(result.messages).toEqual(history);
    expect(result.state).toEqual({ kind: "change", state: { n: 1 }, log: true, snapshot: false });
    expect(reconcile(post([]), undefined)).toMatchObject({ verdict: "new-thread", messages: [], differs: false });
    const twice = reconcile(post([u1, activity("x"), user("u1", "again")]), undefined);
    expect(twice).toMatchObject({ added: [u1], differs: true });
    expect(reasons(twice)).toEqual(["activity x /messages/1", "duplicate-id u1 /messages/2"]);
  });

  it("R-ACT-10: posted activities are ignored, known or not", () => {
    const branch = { ...twoTurns, messages: [...twoTurns.messages, ...of("r2", activity("y"))] };
    const moved: Message = { id: "y", role: "activity", activityType: "PLAN", content: { changed: true } };
    const result = reconcile(post([u1, moved, a1, u2, a2, activity("x")]), branch);
    expect(result).toMatchObject({ verdict: "run", added: [], differs: false });
    expect(ids(result.messages)).toBe("u1 a1 u2 a2 y");
    expect(reasons(result)).toEqual(["activity x /messages/5"]);
  });
});

describe("what a client's copy may leave out", () => {
  it("metadata, attribution and encrypted values: neither an edit nor a difference", () => {
    const rich: KnownBranch = {
      runs: [{ runId: "r1", ended: true }],
      messages: of("r1", { ...u1, metadata: { a: 1 } }, { ...a1, encryptedValue: "x", subagentRunId: "s" }),
    };
    const bare: Message = { id: "a1", role: "assistant", content: "a1" };
    expect(reconcile(post([u1, bare]), rich)).toMatchObject({ verdict: "run", dropped: [], differs: false });
  });

  it("parts, where it reads text only", () => {
    const image = {
      id: "u1",
      role: "user",
      content: [
        { type: "text", text: "u" },
        { type: "image", source: { type: "url", value: "https://x/y.png" } },
        { type: "text", text: "1" },
      ],
    } as const;
    const branch: KnownBranch = { runs: [{ runId: "r1", ended: true }], messages: of("r1", image, a1) };
    expect(reconcile(post([u1, a1]), branch)).toMatchObject({ verdict: "run", differs: false });
    expect(reconcile(post([user("u1", "u"), a1]), branch).verdict).toBe("edit");
    const other: Message = { ...image, content: [{ type: "image", source: { type: "url", value: "https://z" } }] };
    expect(reconcile(post([other, a1]), branch).verdict).toBe("edit");
    expect(reconcile(post([image, a1]), twoTurns).verdict).toBe("edit");
    const [text, picture, rest] = image.content;
    const again = (...content: readonly ContentPart[]): string =>
      reconcile(post([{ id: "u1", role: "user", content }, a1]), branch).verdict;
    expect(again(text, { ...picture, metadata: { seen: true } }, rest)).toBe("run");
    expect(again(text, text, rest)).toBe("edit");
    expect(again(picture, picture, rest)).toBe("edit");
    expect(again(text, { type: "image", source: { type: "url", value: "https://z" } }, rest)).toBe("edit");
    expect(reconcile(post([{ id: "u1", role: "user", content: [text, rest] }, a1, u2, a2]), twoTurns).verdict).toBe(
      "run",
    );
  });

  it("but not calls or errors", () => {
    const calls: KnownBranch = { runs: [{ runId: "r1", ended: true }], messages: of("r1", u1, assistant("a1", "c1")) };
    expect(reasons(reconcile(post([u1, a1]), calls))).toEqual(["altered-message a1 /messages/1"]);
    const failed: KnownBranch = {
      runs: [{ runId: "r1", ended: true }],
      messages: of("r1", u1, { ...tool("t1", "c1"), error: "no" }),
    };
    expect(reasons(reconcile(post([u1, tool("t1", "c1")]), failed))).toEqual(["altered-message t1 /messages/1"]);
  });
});

describe("what stays open", () => {
  const interrupts = ["i1", "i2"].map((id) => ({ id, reason: "confirmation" }));

  it("is every interrupt that no answer names and every pending call without an answer", () => {
    const branch = { ...waiting, interrupts };
    const resume = [{ interruptId: "i2", status: "cancelled" as const }];
    expect(reconcile(post([], { resume }), branch).unanswered).toEqual({
      interrupts: [interrupts[0]],
      toolCallIds: ["c1"],
    });
    expect(reconcile(post([tool("t1", "c1")]), branch).unanswered).toEqual({ interrupts, toolCallIds: [] });
  });

  it("is nothing of a head that a fork leaves behind", () => {
    const result = reconcile(post([user("u1", "other")]), { ...waiting, interrupts });
    expect(result.unanswered).toEqual({ interrupts: [], toolCallIds: [] });
  });
});

describe("the state of a fork", () => {
  it("is that of the run it hangs on, though the client holds the head's", () => {
    const result = reconcile(post([u1, a1, u2], { state: { n: 2 } }), twoTurns);
    expect(result.state).toEqual({ kind: "stale", state: { n: 1 }, log: false, snapshot: true });
  });
});
