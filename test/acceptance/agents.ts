/**
 * The agents of the acceptance tests, for `heddle serve`. They ask for gates by name, `<thread> <run> <place>`, at the
 * address in ACCEPTANCE_GATES: so a test knows how far one is, whether its signal fired, and how often it was started.
 */
import { defineAgent } from "heddle/agent";
import { sloppyEvents } from "./sloppy-runs.ts";

const WORDS = 20;

/** The words of one half of the worker's answer, beyond ASCII so that cuts can fall into a character. */
export const wordsOf = (half: string): readonly string[] =>
  Array.from({ length: WORDS }, (_, index) => `${half} № ${index} 🧵 `);

/** What the worker says last before it waits: arguments of a call. */
export const LAST_OF_FIRST_HALF = '{"looms":';

/** Waits until the test opens a gate. */
async function pass(gate: string, signal?: AbortSignal): Promise<void> {
  const answer = await fetch(`${process.env["ACCEPTANCE_GATES"]}/${encodeURIComponent(gate)}`, signal && { signal });
  await answer.arrayBuffer();
}

/**
 * Thinks, uses a tool, and answers in two halves. Between them it waits at the gate `middle`, with a message, a call, a
 * step and an activity under way. Where its signal fires it says so at the gate `aborted`.
 */
export const worker = defineAgent<{ looms: number; done: boolean }>({
  name: "worker",
  async run({ input: { threadId, runId }, emit, signal }) {
    const at = (place: string): string => `${threadId} ${runId} ${place}`;
    signal.addEventListener("abort", () => void pass(at("aborted")).catch(() => undefined));
    emit.step("work");
    const thought = emit.reasoning();
    await thought.write("How many looms? ");
    await thought.write("I look it up.");
    await thought.encrypted("c2VhbGVk");
    await thought.end();
    const reply = emit.text();
    await reply.write("Let me look. ");
    const call = emit.toolCall("count_looms", { parentMessageId: reply.id });
    for (const piece of ['{"hall":', '"Weißer Saal"}']) await call.args(piece);
    await emit.toolResult(call.id, '{"looms":42}');
    await reply.end();
    await emit.state.set({ looms: 42, done: false });
    const progress = emit.activity("PROGRESS", { part: 1, of: 2 });
    const answer = emit.text();
    for (const word of wordsOf("first")) await answer.write(word);
    const saving = emit.toolCall("save_count", { parentMessageId: answer.id });
    await saving.args(LAST_OF_FIRST_HALF);
    await pass(at("middle"), signal);
    await saving.args("42}");
    await emit.toolResult(saving.id, "saved");
    for (const word of wordsOf("second")) await answer.write(word);
    await progress.update((draft) => ({ ...draft, part: 2 }));
    await emit.state.update((draft) => void (draft.done = true));
  },
});

/** Asks before it signs anybody in; what it was told it says. It comes by the gate `<thread> asked` first. */
export const asking = defineAgent<{ asked: boolean }>({
  name: "asking",
  async run({ input: { threadId }, emit }) {
    await pass(`${threadId} asked`);
    await emit.reasoning().write("I do not know who this is.");
    await emit.text().write("One question. ");
    emit.activity("FORM", { fields: ["name"] });
    await emit.state.set({ asked: true });
    const answer = await emit.interrupt<string>({ id: "who", reason: "input_required", message: "Who are you?" });
    await emit.text().write(answer.status === "resolved" ? `Hello ${answer.payload}.` : "As you like.");
  },
});

/** An adapter that breaks the rules in the way that it is asked to; its events come as they are. */
export const sloppy = defineAgent({
  name: "sloppy",
  async *run({ input }) {
    yield* sloppyEvents(input);
  },
});
