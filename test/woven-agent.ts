/**
 * An agent that says a little of everything, in characters of one to four bytes, and waits at gates on the way: `start`, and
 * one behind each of its parts. Forwarded properties name the gates; without them it does not wait.
 *
 * What it says is the same every time, ids included, so that two runs of it differ in nothing but times and cursors.
 */
import { defineAgent } from "heddle/agent";

/** What the agent shares. */
interface Cloth {
  rows: number;
  colours: string[];
}

/** Type of the event that each part ends with. */
export const PART_ENDS = ["REASONING_END", "STATE_DELTA", "STEP_FINISHED"] as const;

/** Says a little of everything. */
export const woven = defineAgent<Cloth>({
  name: "woven",
  async run({ input, emit, signal }) {
    const gates: unknown = Object(input.forwardedProps)["gates"];
    const gate = async (name: string | number): Promise<void> => {
      if (typeof gates === "string") await fetch(`${gates}/${input.runId}-${name}`, { signal });
    };
    await gate("start");

    const thought = emit.reasoning({ id: "thought" });
    for (const piece of ["Über 织", "布 🧵?"]) await thought.write(piece);
    await thought.end();
    await gate(1);

    await emit.state.set({ rows: 0, colours: ["rosé"] });
    const call = emit.toolCall("weave", { id: "call" });
    for (const piece of ['{"row":"né', '🧶"}']) await call.args(piece);
    await call.end();
    // Hidden from viewers: their cursors have to step over it.
    await emit.raw({ secret: "not for viewers" });
    await emit.toolResult("call", "één rij ✓", { id: "result" });
    await emit.state.update((cloth) => {
      cloth.rows = 1;
      cloth.colours.push("日本");
    });
    await gate(2);

    await emit.step("finish", async () => {
      await emit.activity("LOOM", { row: 1 }, { id: "loom" }).update(() => ({ row: 2, note: "🎉" }));
      const said = emit.text({ id: "said" });
      for (const piece of ["Ein Stück ", "\u{1f469}\u200d\u{1f3a8}\u2028", '\n\ndata: {"b"}\n\n']) {
        await said.write(piece);
      }
    });
    await gate(3);
  },
});
