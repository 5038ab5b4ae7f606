/** An agent for tests of what stands in between: it says a little, and is silent until it is let go on. */
import { defineAgent } from "heddle/agent";

/** Says five words, each when its gate is opened (`word-1` …), which forwarded properties say where to find. */
export const hesitates = defineAgent({
  name: "hesitates",
  async run({ input, emit, signal }) {
    const gates: unknown = Object(input.forwardedProps)["gates"];
    const reply = emit.text();
    for (const word of ["word-1", "word-2", "word-3", "word-4", "word-5"]) {
      await fetch(`${String(gates)}/${word}`, { signal });
      await reply.write(word);
    }
  },
});
