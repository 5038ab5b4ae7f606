/**
 * The agent `subagents` has others do the work: two researchers side by side, then a writer who is given their notes.
 *
 * Each speaks under its own name, so a client can show who says what. A topic with the word "fail" makes one researcher
 * fail: the run goes on without it.
 */
import { defineAgent } from "heddle/agent";
import type { Emit } from "heddle/agent";

const SIDES = { history: "where it comes from", practice: "how it is done" } as const;

/** Lets subagents research and write. */
export const subagents = defineAgent({
  name: "subagents",
  description: "Two researchers and a writer.",
  capabilities: {
    multiAgent: { supported: true, delegation: true, subagents: [{ name: "researcher" }, { name: "writer" }] },
    custom: { examples: ["Weaving", "A topic that will fail"] },
  },
  async run({ input, emit }) {
    const said = input.messages.findLast(({ role }) => role === "user")?.content;
    const topic = typeof said === "string" && said !== "" ? said : "weaving";
    await emit.text().write(`I have “${topic}” looked into. `);
    const notes = await Promise.all(Object.keys(SIDES).map((side) => research(emit, topic, side)));
    const writer = emit.subagent("writer", { description: "Writes the summary." });
    const summary = writer.emit.text({ name: "writer" });
    for (const note of notes) await summary.write(`${note} `);
    await writer.end();
    await emit.text().write("That is what they found.");
  },
});

/** One side of a topic, as a note. */
async function research(emit: Emit, topic: string, side: string): Promise<string> {
  const researcher = emit.subagent("researcher", { description: `Looks into the ${side}.` });
  try {
    return await researcher.emit.step(`read about ${side}`, async () => {
      if (side === "history" && topic.includes("fail")) throw new Error("The library is closed.");
      const note = researcher.emit.text({ name: `researcher of ${side}` });
      const words = `On ${topic}: the ${side} says ${Reflect.get(SIDES, side)}.`;
      for (const word of words.split(/(?<= )/)) await note.write(word);
      await researcher.end({ side });
      return words;
    });
  } catch (error) {
    await researcher.fail(error);
    return `Nothing is known about the ${side}.`;
  }
}
