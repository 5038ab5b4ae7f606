/**
 * Conversations with a fuzzed model, fuzzed tools and a fuzzed person, over as many runs as they take, with nothing kept
 * between runs but what a client holds. Whatever happens: streams verify, what a person did not approve is not run, what
 * they approved is run once, and every call has one result before the model is asked again.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { nextMessages, questionsOf, runToEnd } from "../../test/run-to-end.ts";
import type { EndedRun } from "../../test/run-to-end.ts";
import type { Event, Interrupt, Message, ResumeEntry } from "../protocol/index.ts";
import { defineAgent, defineTool, toolLoop } from "./index.ts";
import type { Model, ServerTool } from "./index.ts";

const CASES = Math.ceil(600 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1));
const MAX_RUNS = 40;
const KINDS = ["safe", "failing", "slow", "guarded", "asking", "both", "frontend", "unknown", "malformed"] as const;
type Kind = (typeof KINDS)[number];

interface Plan {
  /** The model's answers: the calls of each, and whether one message carries them all. */
  readonly turns: readonly { readonly calls: readonly Kind[]; readonly together: boolean }[];
  /** What a person does, one after the other: 0 approves, 1 edits, 2 denies, 3 abandons, 4 does not answer yet. */
  readonly moods: readonly number[];
}

const plans: fc.Arbitrary<Plan> = fc.record({
  turns: fc.array(
    fc.record({ calls: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 4 }), together: fc.boolean() }),
    { minLength: 1, maxLength: 4 },
  ),
  moods: fc.array(fc.nat(4), { maxLength: 12 }),
});

const FRONTEND = [{ name: "frontend", description: "asks the user", parameters: {} }];

/** What went on, apart from the events. */
class Diary {
  /** How often each call was executed to its end. */
  readonly executed = new Map<string, number>();
  /** Calls that a person approved. */
  readonly approved = new Set<string>();
  readonly problems: string[] = [];
  turn = 0;
}

function toolsFor(diary: Diary): readonly ServerTool[] {
  const done = (id: string): string => {
    diary.executed.set(id, (diary.executed.get(id) ?? 0) + 1);
    return `done ${id}`;
  };
  const parameters = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const define = (name: Kind, extra: Pick<Parameters<typeof defineTool>[0], "execute" | "needsApproval">): ServerTool =>
    defineTool({ name, description: name, parameters, ...extra });
  return [
    define("safe", { execute: (_, { toolCallId }) => done(toolCallId) }),
    define("malformed", { execute: (_, { toolCallId }) => done(toolCallId) }),
    define("failing", {
      execute: (_, { toolCallId }) => {
        throw new Error(done(toolCallId));
      },
    }),
    define("slow", {
      execute: async (_, { toolCallId }) => {
        await new Promise((resolve) => setImmediate(resolve));
        return done(toolCallId);
      },
    }),
    define("guarded", { needsApproval: true, execute: (_, { toolCallId }) => done(toolCallId) }),
    define("asking", {
      execute: async (_, { toolCallId, emit }) => {
        await emit.interrupt({ reason: "input_required" });
        await emit.interrupt({ reason: "input_required" });
        return done(toolCallId);
      },
    }),
    define("both", {
      needsApproval: true,
      execute: async (_, { toolCallId, emit }) => {
        await emit.interrupt({ reason: "input_required" });
        return done(toolCallId);
      },
    }),
  ];
}

/** Plays the turns of a plan, and checks every request. */
const modelFor = ({ turns }: Plan, diary: Diary): Model =>
  async function* ({ messages }) {
    const problem = requestProblem(messages);
    if (problem !== undefined) diary.problems.push(problem);
    const number = diary.turn++;
    const turn = turns[number];
    const parentMessageId = `said-${number}`;
    yield { type: "TEXT_MESSAGE_CHUNK", messageId: parentMessageId, delta: turn === undefined ? "The end." : "Hm. " };
    for (const [index, kind] of (turn?.calls ?? []).entries()) {
      const toolCallId = `c${number}.${index}`;
      const parent = turn?.together === true ? { parentMessageId } : {};
      const delta = kind === "malformed" ? '{"n":' : '{"n":1}';
      yield { type: "TOOL_CALL_CHUNK", toolCallId, toolCallName: kind, delta, ...parent };
    }
  };

/** Every call that a model is shown has one result, behind it; where exactly is for adapters to see to. */
function requestProblem(messages: readonly Message[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    if (message.role === "developer") return "a record is shown to the model";
    for (const { id } of message.role === "assistant" ? (message.toolCalls ?? []) : []) {
      const results = messages.slice(index).filter((each) => each.role === "tool" && each.toolCallId === id).length;
      if (results !== 1) return `the call ${id} has ${results} results`;
    }
  }
  return undefined;
}

/** What a person says to a question; undefined where they do not answer yet. */
function answer({ id, reason }: Interrupt, mood: number, diary: Diary): ResumeEntry | undefined {
  // A client has to answer everything (R-INT-09). Approvals that it leaves out are asked again all the same; whether a
  // tool that asks was waiting or was cut off, nothing in the messages tells.
  if (mood === 4 && reason === "tool_call") return undefined;
  if (mood === 3) return { interruptId: id, status: "cancelled" };
  if (reason !== "tool_call") return { interruptId: id, status: "resolved", payload: "text" };
  if (mood !== 2) diary.approved.add(id);
  const payload = mood === 1 ? { approved: true, editedArgs: { n: 2 } } : { approved: mood === 0 };
  return { interruptId: id, status: "resolved", payload };
}

/** Answers of the frontend, where the run left it something to answer. */
const frontendAnswers = ({ view }: EndedRun): readonly Message[] =>
  view.messages
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .filter(({ function: { name } }) => name === "frontend")
    .filter(({ id }) => !view.messages.some((message) => message.role === "tool" && message.toolCallId === id))
    .map(({ id }) => ({ id: `t-${id}`, role: "tool", toolCallId: id, content: "chosen" }));

/** Goes through a whole conversation; returns what is wrong with it. */
async function converse(plan: Plan): Promise<readonly string[]> {
  const diary = new Diary();
  const tools = toolsFor(diary);
  const model = modelFor(plan, diary);
  const agent = defineAgent({ name: "test", tools, run: (context) => toolLoop({ ...context, model, maxSteps: 20 }) });
  const moods = [...plan.moods];
  const events: Event[] = [];
  let run = await runToEnd(agent, { tools: FRONTEND });
  for (let count = 1; ; count++) {
    events.push(...run.events);
    const questions = questionsOf(run);
    const answers = frontendAnswers(run);
    if (run.last?.type === "RUN_ERROR") return [`failed: ${run.last.message}`];
    if (questions.length === 0 && answers.length === 0) break;
    if (count === MAX_RUNS) return ["it never ends"];
    const resume = questions.flatMap((question) => answer(question, moods.shift() ?? 0, diary) ?? []);
    run = await runToEnd(agent, {
      tools: FRONTEND,
      messages: [...nextMessages(run), ...answers],
      ...(resume.length === 0 ? {} : { resume }),
    });
  }
  return [...diary.problems, ...faultsOf(plan, diary, run, events)];
}

function faultsOf({ turns }: Plan, diary: Diary, { view }: EndedRun, events: readonly Event[]): readonly string[] {
  const calls = turns.flatMap((turn, number) => turn.calls.map((kind, index) => ({ id: `c${number}.${index}`, kind })));
  const answersTo = (id: string): number =>
    view.messages.filter((message) => message.role === "tool" && message.toolCallId === id).length;
  const started = (id: string): number =>
    events.filter((event) => event.type === "TOOL_CALL_START" && event.toolCallId === id).length;
  return calls.flatMap(({ id, kind }) => {
    const times = diary.executed.get(id) ?? 0;
    const isGuarded = kind === "guarded" || kind === "both";
    const isRun = kind !== "frontend" && kind !== "unknown" && kind !== "malformed";
    const wanted = isRun && (!isGuarded || diary.approved.has(id)) ? 1 : 0;
    return [
      ...(answersTo(id) === 1 ? [] : [`${id} (${kind}) has ${answersTo(id)} answers`]),
      ...(started(id) === 1 ? [] : [`${id} (${kind}) is shown ${started(id)} times`]),
      ...(times === wanted ? [] : [`${id} (${kind}) was executed ${times} times, not ${wanted}`]),
    ];
  });
}

test("600 fuzzed conversations keep every promise of the loop", { timeout: 600_000 }, async () => {
  const property = fc.asyncProperty(plans, async (plan) => {
    const faults = await converse(plan);
    if (faults.length > 0) throw new Error(faults.join("\n"));
  });
  const run = await fc.check(property, { numRuns: CASES });
  expect(run.failed ? `${fc.defaultReportMessage(run)}\n${String(run.errorInstance)}` : "").toBe("");
});
