/** An agent that says something, and waits at a gate where it is told to. */
import { defineAgent } from "heddle/agent";

/** Waits at the gate that its input names. */
export const patient = defineAgent({
  name: "patient",
  async run({ input, emit, signal }) {
    await emit.text().write(`Answering ${input.messages.at(-1)?.id}`);
    const { gate }: { gate?: string } = Object(input.forwardedProps);
    if (gate !== undefined) await fetch(`${process.env["ACCEPTANCE_GATES"]}/${gate}`, { signal });
  },
});
