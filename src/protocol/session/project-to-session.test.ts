import { describe, expect, it } from "vitest";
import type { Event, RunFinishedOutcome } from "../generated/model.ts";
import type { SessionEvent } from "./model.ts";
import { projectToSession } from "./project-to-session.ts";
import type { SessionProjectionOptions } from "./project-to-session.ts";
import { decodeSessionEvent, encodeSessionEvent } from "./session-codec.ts";

const start: Event = { type: "RUN_STARTED", threadId: "t1", runId: "r1" };
const finish: Event = { type: "RUN_FINISHED", threadId: "t1", runId: "r1" };

/** All session events that a stream gives, each as the wire carries it. */
function project(events: readonly Event[], options: Partial<SessionProjectionOptions> = {}): readonly SessionEvent[] {
  const step = projectToSession({ sessionId: "s1", clock: () => 0, ...options });
  return events.flatMap((event) => step(event)).map((event) => decodeSessionEvent(encodeSessionEvent(event)));
}

const typesOf = (events: readonly SessionEvent[]): readonly string[] => events.map(({ type }) => type);
const dataOf = (events: readonly SessionEvent[]): readonly unknown[] => events.map(({ data }) => data);

const text: readonly Event[] = [
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "user" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hel" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "lo", timestamp: 1754040600123 },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
];

const reasoning: readonly Event[] = [
  { type: "REASONING_START", messageId: "span" },
  { type: "REASONING_MESSAGE_START", messageId: "m2", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "m2", delta: "If \n" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "m2", delta: "then" },
  { type: "REASONING_MESSAGE_END", messageId: "m2" },
  { type: "REASONING_END", messageId: "span" },
  { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m2", encryptedValue: "secret" },
];

const ended = (outcome?: RunFinishedOutcome): readonly SessionEvent[] =>
  project([start, outcome === undefined ? finish : { ...finish, outcome }]);

const at = (timestamp: number, clock = (): number => 5): string | undefined =>
  project([{ ...start }, { ...finish, timestamp }], { clock })[0]?.timestamp;

describe("TextMessage mapping", () => {
  it("TextMessage mapping 1: data.text is the message's text, piece by piece", () => {
    expect(project(text).flatMap((event) => (event.type === "text-chunk" ? [event.data.text] : []))).toEqual([
      "Hel",
      "lo",
    ]);
  });

  it("TextMessage mapping 2: messageId is the id of the message", () => {
    expect(project(text).map(({ messageId }) => messageId)).toEqual(["m1", "m1", "m1"]);
  });

  it("TextMessage mapping 3: data.role follows from the message's role, assistant where it names none", () => {
    expect(dataOf(project(text))[0]).toMatchObject({ role: "user" });
    for (const role of ["developer", "system", "assistant", "user"] as const) {
      const message: readonly Event[] = [
        { type: "TEXT_MESSAGE_START", messageId: "m", role },
        { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x" },
      ];
      expect(dataOf(project(message))).toEqual([{ text: "x", role, isComplete: false }]);
    }
    const silent: readonly Event[] = [
      { type: "TEXT_MESSAGE_START", messageId: "m" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x" },
    ];
    expect(dataOf(project(silent))).toEqual([{ text: "x", role: "assistant", isComplete: false }]);
  });

  it("TextMessage mapping 4: text-message-complete follows when the text is finished", () => {
    expect(typesOf(project(text))).toEqual(["text-chunk", "text-chunk", "text-message-complete"]);
    expect(dataOf(project(text)).at(-1)).toEqual({ role: "user", isComplete: true });
  });

  it("TextMessage mapping form: a text-chunk has the envelope and text, role and isComplete false", () => {
    expect(project(text)[1]).toEqual({
      type: "text-chunk",
      sessionId: "s1",
      messageId: "m1",
      timestamp: "2025-08-01T09:30:00.123Z",
      data: { text: "lo", role: "user", isComplete: false },
    });
  });

  it("each piece comes out in the step that brought it", () => {
    const step = projectToSession({ sessionId: "s1" });
    expect(text.map((event) => step(event).length)).toEqual([0, 1, 0, 1, 1]);
  });

  it("messages that are open at the same time keep their roles", () => {
    const both: readonly Event[] = [
      { type: "TEXT_MESSAGE_START", messageId: "a", role: "user" },
      { type: "TEXT_MESSAGE_START", messageId: "b", role: "system" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "1" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "b", delta: "2" },
    ];
    expect(dataOf(project(both))).toMatchObject([{ role: "user" }, { role: "system" }]);
  });
});

describe("ReasoningMessage mapping", () => {
  it("ReasoningMessage mapping 1: data.thought is the reasoning text, unaltered", () => {
    const thoughts = project(reasoning).flatMap((event) =>
      event.type === "thought-chunk" ? [event.data.thought] : [],
    );
    expect(thoughts).toEqual(["If \n", "then"]);
  });

  it("ReasoningMessage mapping 2: isComplete is false while reasoning streams", () => {
    const chunks = project(reasoning).filter(({ type }) => type === "thought-chunk");
    expect(chunks).toHaveLength(2);
    for (const { data } of chunks) expect(data).toMatchObject({ isComplete: false });
  });

  it("ReasoningMessage mapping 3: thought-complete follows when reasoning is finished", () => {
    expect(typesOf(project(reasoning))).toEqual(["thought-chunk", "thought-chunk", "thought-complete"]);
    expect(project(reasoning).at(-1)).toMatchObject({ messageId: "m2", data: { isComplete: true } });
  });

  it("ReasoningMessage mapping 4: nothing is sent for reasoning that is switched off", () => {
    const chunk: Event = { type: "REASONING_MESSAGE_CHUNK", messageId: "m3", delta: "psst" };
    expect(project([start, ...reasoning, chunk], { reasoning: false })).toEqual([]);
    expect(typesOf(project([start, ...reasoning, ...text], { reasoning: false }))).toEqual(typesOf(project(text)));
  });

  it("ReasoningMessage mapping form: a thought-chunk has the envelope and thought and isComplete", () => {
    expect(project(reasoning)[0]).toEqual({
      type: "thought-chunk",
      sessionId: "s1",
      messageId: "m2",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: { thought: "If \n", isComplete: false },
    });
  });

  it("an encrypted value never leaves", () => {
    expect(JSON.stringify(project(reasoning))).not.toContain("secret");
  });
});

describe("UsageMessage mapping", () => {
  const usage = [
    {
      provider: "openai",
      model: "gpt-4",
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
      reasoningTokens: 2,
      cachedInputTokens: 3,
      cacheWriteInputTokens: 0,
    },
    { inputTokens: 7 },
  ];
  const finished = project([start, ...text, { ...finish, usage }]).slice(3);

  it("UsageMessage mapping 1: data.usage holds prompt, completion and total token counts", () => {
    expect(finished[0]?.data).toEqual({
      usage: {
        promptTokens: 10,
        completionTokens: 5,
        totalTokens: 15,
        reasoningTokens: 2,
        cachedPromptTokens: 3,
        cacheWritePromptTokens: 0,
      },
      provider: "openai",
      model: "gpt-4",
    });
  });

  it("UsageMessage mapping 2: the names of the counts are camelCase", () => {
    const names = [...JSON.stringify(finished[0]).matchAll(/"(\w*tokens)":/gi)].map(([, name]) => name);
    expect(names).toHaveLength(6);
    for (const name of names) expect(name).toMatch(/^[a-z]+([A-Z][a-z]+)+$/);
  });

  it("UsageMessage mapping 3: usage sends a metadata-update, before the end of the response", () => {
    expect(typesOf(finished)).toEqual(["metadata-update", "metadata-update", "agent-response-complete"]);
  });

  it("UsageMessage mapping 4: each of several entries sends a metadata-update of its own", () => {
    expect(finished.filter(({ type }) => type === "metadata-update")).toHaveLength(2);
  });

  it("UsageMessage mapping form: a metadata-update has the envelope and data with usage", () => {
    const counts = [{ inputTokens: 1, outputTokens: 2, totalTokens: 3 }];
    const answer: Event = { type: "TEXT_MESSAGE_START", messageId: "m9" };
    expect(project([start, answer, { ...finish, usage: counts }])[0]).toEqual({
      type: "metadata-update",
      sessionId: "s1",
      messageId: "m9",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: { usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } },
    });
  });

  it("a count that is absent stays absent", () => {
    expect(finished[1]?.data).toEqual({ usage: { promptTokens: 7 } });
  });

  it("a failed run says what it spent", () => {
    expect(typesOf(project([start, { type: "RUN_ERROR", message: "No.", usage }]))).toEqual([
      "metadata-update",
      "metadata-update",
      "agent-error",
    ]);
  });
});

describe("the end of a run", () => {
  it("is an agent-response-complete", () => {
    expect(ended()).toMatchObject([{ type: "agent-response-complete", data: { outcome: "success", runId: "r1" } }]);
    expect(dataOf(project([{ ...finish, result: { answer: 42 } }]))).toEqual([
      { outcome: "success", runId: "r1", result: { answer: 42 } },
    ]);
  });

  it("names an interrupt, and what is asked", () => {
    const interrupts = [{ id: "i1", reason: "confirmation", message: "Really?", responseSchema: { type: "boolean" } }];
    expect(dataOf(ended({ type: "interrupt", interrupts }))).toEqual([
      { outcome: "interrupt", runId: "r1", interrupts },
    ]);
  });

  it("names a cancellation", () => {
    expect(dataOf(ended({ type: "cancelled" }))).toEqual([{ outcome: "cancelled", runId: "r1" }]);
  });

  it("names the calls that the client has to answer", () => {
    const outcome = { type: "success", pendingToolCallIds: ["c1"] } as const;
    expect(dataOf(ended(outcome))).toEqual([{ outcome: "success", runId: "r1", pendingToolCallIds: ["c1"] }]);
  });

  it("belongs to the agent's latest message of that run", () => {
    const messages: readonly Event[] = [
      { type: "TEXT_MESSAGE_START", messageId: "answer" },
      { type: "TEXT_MESSAGE_START", messageId: "echo", role: "user" },
      { type: "TEXT_MESSAGE_START", messageId: "inner", subagentRunId: "sub" },
    ];
    expect(project([start, ...messages, finish]).at(-1)?.messageId).toBe("answer");
    expect(project([start, ...messages, finish, start, finish]).at(-1)).not.toHaveProperty("messageId");
  });

  it("takes the fallback where there is no message", () => {
    expect(project([start, finish], { messageIdFallback: "r1" })).toMatchObject([{ messageId: "r1" }]);
    expect(project(text, { messageIdFallback: "r1" }).map(({ messageId }) => messageId)).toEqual(["m1", "m1", "m1"]);
  });
});

describe("agent-error", () => {
  const failed: Event = { type: "RUN_ERROR", message: "The model is gone.", code: "MODEL_GONE" };

  it("agent-error 1: an error of the agent sends agent-error", () => {
    expect(typesOf(project([start, failed]))).toEqual(["agent-error"]);
  });

  it("agent-error 2: the error has a code and a message, the code AGENT_EXECUTION_ERROR where it names none", () => {
    expect(dataOf(project([failed]))).toEqual([{ error: { code: "MODEL_GONE", message: "The model is gone." } }]);
    expect(dataOf(project([{ type: "RUN_ERROR", message: "No." }]))).toEqual([
      { error: { code: "AGENT_EXECUTION_ERROR", message: "No." } },
    ]);
  });

  it("agent-error 3: the error may have further details, which are the event's metadata", () => {
    expect(dataOf(project([{ ...failed, metadata: { tries: 3 } }]))).toEqual([
      { error: { code: "MODEL_GONE", message: "The model is gone.", details: { tries: 3 } } },
    ]);
  });

  it("agent-error form: it has the envelope fields and data.error", () => {
    expect(
      project([
        { type: "TEXT_MESSAGE_START", messageId: "m" },
        { ...failed, timestamp: 1 },
      ]),
    ).toEqual([
      {
        type: "agent-error",
        sessionId: "s1",
        messageId: "m",
        timestamp: "1970-01-01T00:00:00.001Z",
        data: { error: { code: "MODEL_GONE", message: "The model is gone." } },
      },
    ]);
  });

  it("is not preceded by a claim that the open message is complete", () => {
    expect(typesOf(project([start, ...text.slice(0, 2), failed]))).toEqual(["text-chunk", "agent-error"]);
  });
});

describe("what the seed has no counterpart for", () => {
  it("steps become status-update", () => {
    const steps: readonly Event[] = [
      { type: "STEP_STARTED", stepName: "plan" },
      { type: "STEP_FINISHED", stepName: "plan", subagentRunId: "sub" },
    ];
    expect(typesOf(project(steps))).toEqual(["status-update", "status-update"]);
    expect(dataOf(project(steps))).toEqual([
      { subject: "step", status: "started", name: "plan" },
      { subject: "step", status: "finished", name: "plan", subagentRunId: "sub" },
    ]);
  });

  it("subagents become status-update, under the name that they began with", () => {
    const subagent = { subagentRunId: "sub" };
    const events: readonly Event[] = [
      { type: "SUBAGENT_STARTED", ...subagent, name: "critic", description: "Reads it." },
      { type: "SUBAGENT_FINISHED", ...subagent, outcome: { type: "suspended" } },
      { type: "SUBAGENT_FINISHED", ...subagent },
      { type: "SUBAGENT_ERROR", ...subagent, message: "No.", code: "E" },
      { type: "SUBAGENT_FINISHED", subagentRunId: "stranger" },
    ];
    const known = { subject: "subagent", name: "critic", ...subagent };
    expect(dataOf(project(events))).toEqual([
      { ...known, status: "started", message: "Reads it." },
      { ...known, status: "waiting" },
      { ...known, status: "finished" },
      { ...known, status: "failed", message: "No.", code: "E" },
      { subject: "subagent", subagentRunId: "stranger", status: "finished" },
    ]);
  });

  it("activities become progress-update", () => {
    const events: readonly Event[] = [
      { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "search", content: { hits: 0 }, replace: false },
      { type: "ACTIVITY_DELTA", messageId: "a1", activityType: "search", patch: [{ op: "remove", path: "/hits" }] },
    ];
    expect(project(events)).toMatchObject([
      {
        type: "progress-update",
        messageId: "a1",
        data: { activityType: "search", content: { hits: 0 }, replace: false },
      },
      { type: "progress-update", data: { activityType: "search", patch: [{ op: "remove", path: "/hits" }] } },
    ]);
  });

  it("custom events become metadata-update", () => {
    expect(project([{ type: "CUSTOM", name: "acme.seen", value: null }])).toMatchObject([
      { type: "metadata-update", data: { custom: { name: "acme.seen", value: null } } },
    ]);
  });

  it("run starts, state, snapshots, raw and meta events give nothing", () => {
    const silent: readonly Event[] = [
      start,
      { type: "STATE_SNAPSHOT", snapshot: {} },
      { type: "STATE_DELTA", delta: [] },
      { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m", role: "user", content: "Hi" }] },
      { type: "RAW", event: { secret: true } },
      { type: "META", metaType: "thumbs_up", payload: {} },
    ];
    expect(project(silent)).toEqual([]);
  });

  it("text and thoughts of a subagent say whose they are, also where only their start does", () => {
    const owned = project([
      { type: "TEXT_MESSAGE_START", messageId: "m1", subagentRunId: "sub" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hello" },
      { type: "TEXT_MESSAGE_END", messageId: "m1" },
      { type: "REASONING_MESSAGE_START", messageId: "m2", role: "reasoning", subagentRunId: "sub" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "m2", delta: "Hm" },
      { type: "REASONING_MESSAGE_END", messageId: "m2" },
    ]);
    expect(owned.map(({ data }) => Object(data).subagentRunId)).toEqual(["sub", "sub", "sub", "sub"]);
  });

  it("text of a subagent says whose it is", () => {
    const lane: readonly Event[] = text.map((event): Event => Object.assign({ subagentRunId: "sub" }, event));
    for (const data of dataOf(project(lane))) expect(data).toMatchObject({ subagentRunId: "sub" });
  });
});

describe("times", () => {
  it("are the event's own, written in ISO 8601", () => {
    expect(at(1754040600123)).toBe("2025-08-01T09:30:00.123Z");
    expect(at(0)).toBe("1970-01-01T00:00:00.000Z");
  });

  it("are the clock's where the event has none, or none that ISO 8601 can write", () => {
    expect(project([finish], { clock: () => 5 })[0]?.timestamp).toBe("1970-01-01T00:00:00.005Z");
    for (const odd of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 253402300800000, -62167219200001]) {
      expect(at(odd)).toBe("1970-01-01T00:00:00.005Z");
    }
  });
});
