/** Whatever happens in a thread, its next request is one that the provider takes: the whole way, through the tool loop. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { strictAnthropic, strictChat, strictResponses } from "../../../../test/strict-providers.ts";
import type { Script, StrictProvider } from "../../../../test/strict-providers.ts";
import type { Event, Message, ResumeEntry, RunAgentInput } from "../../../protocol/index.ts";
import { createReduceState, reduce, view } from "../../../stream/index.ts";
import { defineAgent, defineTool, runAgent, toolLoop } from "../../index.ts";
import type { Agent, Model } from "../../index.ts";
import { anthropicModel } from "../anthropic/index.ts";
import { openAiModel } from "../openai/index.ts";

const numRuns = 150 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const parameters = { type: "object", properties: { city: { type: "string" } } } as const;
const plain = defineTool({ name: "plain", description: "Runs.", parameters, execute: () => "fine" });
const failing = defineTool({
  name: "failing",
  description: "Fails.",
  parameters,
  execute: () => {
    throw new Error("no luck");
  },
});
const guarded = defineTool({
  name: "guarded",
  description: "Asks.",
  parameters,
  needsApproval: true,
  execute: () => "done",
});
const frontend = { name: "frontend", description: "Elsewhere.", parameters };

/** What the user does next. */
type Move = {
  /** Says something where a run ended, instead of answering what it left open. */
  readonly interrupts: boolean;
  /** What is said to a question. */
  readonly verdict: "approve" | "deny" | "edit" | "cancel";
  /** Whether calls of the frontend are answered. */
  readonly answers: boolean;
  /** Stops the run after so many events. */
  readonly stopAfter: number | undefined;
  /** What the application says about its surroundings. */
  readonly context: string | undefined;
};

const script: fc.Arbitrary<Script> = fc.record({
  thought: fc.option(fc.constantFrom("Hm.", "", "Two calls."), { nil: undefined }),
  redacted: fc.boolean(),
  searches: fc.boolean(),
  afterthought: fc.boolean(),
  text: fc.array(fc.constantFrom("Well. ", "So: ", "Yes."), { maxLength: 3 }),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("plain", "failing", "guarded", "frontend", "unknown"),
      city: fc.constant("Rome"),
    }),
    { maxLength: 3 },
  ),
});

const move: fc.Arbitrary<Move> = fc.record({
  interrupts: fc.boolean(),
  verdict: fc.constantFrom("approve", "deny", "edit", "cancel"),
  answers: fc.boolean(),
  stopAfter: fc.option(fc.nat(30), { nil: undefined, freq: 3 }),
  context: fc.constantFrom(undefined, "page one", "page two"),
});

const agentOf = (model: Model): Agent =>
  defineAgent({
    name: "a",
    tools: [plain, failing, guarded],
    run: (context) => toolLoop({ ...context, model, maxSteps: 4 }),
  });

/** Lives through a thread; returns its messages. */
async function live(agent: Agent, moves: readonly Move[]): Promise<readonly Message[]> {
  let messages: readonly Message[] = [{ id: "u", role: "user", content: "Begin." }];
  let resume: readonly ResumeEntry[] = [];
  for (const [turn, { interrupts, verdict, answers, stopAfter, context }] of moves.entries()) {
    const input: RunAgentInput = {
      threadId: "t",
      runId: `r${turn}`,
      messages,
      tools: [frontend],
      context: context === undefined ? [] : [{ description: "page", value: context }],
      ...(resume.length === 0 ? {} : { resume }),
    };
    const state = createReduceState({ messages });
    const last = await runToEnd(agent, input, stopAfter, (event) => void reduce(state, event));
    const open = view(state).interrupts;
    messages = view(state).messages;
    resume = [];
    if (last?.type === "RUN_FINISHED" && last.outcome?.type === "interrupt" && !interrupts) {
      resume = open.map(({ id: interruptId }) => answerTo(interruptId, verdict));
      continue;
    }
    const pending = answers ? view(state).pendingToolCallIds : [];
    const results = pending.map((toolCallId): Message => ({
      id: `t-${toolCallId}`,
      role: "tool",
      toolCallId,
      content: "ok",
    }));
    messages = [...messages, ...results, ...(pending.length > 0 ? [] : [user(turn)])];
  }
  return messages;
}

const user = (turn: number): Message => ({ id: `u${turn}`, role: "user", content: `And ${turn}?` });

function answerTo(interruptId: string, verdict: Move["verdict"]): ResumeEntry {
  if (verdict === "cancel") return { interruptId, status: "cancelled" };
  const payload = {
    approve: { approved: true },
    deny: { approved: false, reason: "No." },
    edit: { approved: true, editedArgs: { city: "Oslo" } },
  }[verdict];
  return { interruptId, status: "resolved", payload };
}

async function runToEnd(
  agent: Agent,
  input: RunAgentInput,
  stopAfter: number | undefined,
  onEvent: (event: Event) => void,
): Promise<Event | undefined> {
  const stop = new AbortController();
  let count = 0;
  let last: Event | undefined;
  for await (const event of runAgent(agent, input, { signal: stop.signal })) {
    onEvent(event);
    last = event;
    if (count++ === stopAfter) stop.abort();
  }
  return last;
}

const other: StrictProvider = strictChat([]);

test.each<[string, boolean, (scripts: readonly Script[]) => StrictProvider, (provider: StrictProvider) => Model]>([
  ["Anthropic", true, strictAnthropic, (messages) => anthropicModel({ model: "m", client: { messages } })],
  [
    "Chat Completions",
    false,
    strictChat,
    (completions) => openAiModel({ model: "m", api: "chat", client: { chat: { completions }, responses: other } }),
  ],
  [
    "Responses",
    true,
    strictResponses,
    (responses) => openAiModel({ model: "m", api: "responses", client: { chat: { completions: other }, responses } }),
  ],
])("%s takes every request of every thread", async (_, returns, strict, modelOf) => {
  let taken = 0;
  let returned = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(script, { minLength: 1, maxLength: 6 }),
      fc.array(move, { minLength: 1, maxLength: 6 }),
      async (scripts, moves) => {
        const provider = strict(scripts);
        await live(agentOf(modelOf(provider)), moves);
        expect(provider.refused).toEqual([]);
        taken += provider.taken();
        returned += provider.returned();
      },
    ),
    { numRuns },
  );
  expect(taken).toBeGreaterThan(numRuns);
  expect(returned).toBeGreaterThan(returns ? numRuns / 5 : -1);
});

test("Anthropic gets all of its thinking back where nothing before it has changed", async () => {
  const steady = move.map((each): Move => ({ ...each, context: "page one", answers: true, stopAfter: undefined }));
  await fc.assert(
    fc.asyncProperty(fc.array(script, { maxLength: 6 }), fc.array(steady, { maxLength: 6 }), async (scripts, moves) => {
      const warnings: string[] = [];
      const provider = strictAnthropic(scripts);
      const onWarning = (message: string) => warnings.push(message);
      await live(agentOf(anthropicModel({ model: "m", client: { messages: provider }, onWarning })), moves);
      expect(provider.refused).toEqual([]);
      expect(warnings.filter((message) => message.includes("has changed"))).toEqual([]);
    }),
    { numRuns },
  );
});
