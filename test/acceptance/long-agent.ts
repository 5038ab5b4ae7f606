/** An agent whose runs are as long as they are asked to be: text, and now and then a tool call and a change of state. */
import { defineAgent } from "heddle/agent";

/** A run of about so many events. */
interface Props {
  /** How many. */
  readonly events: number;
  /** Where to ask before the end; absent, nowhere. */
  readonly gate?: string;
}

const CALL_EVERY = 500;
const CHANGE_EVERY = 50;

/** Works for long. */
export const long = defineAgent<{ done?: number }>({
  name: "long",
  async run({ input, emit, signal }) {
    const { events, gate }: Props = Object(input.forwardedProps);
    let reply = emit.text();
    for (let count = 1; count <= events; count++) {
      if (count % CALL_EVERY === 0) {
        const call = emit.toolCall("look_up");
        await call.args(JSON.stringify({ count }));
        await emit.toolResult(call.id, `Number ${count} is ${"found ".repeat(20)}`);
        reply = emit.text();
      } else if (count % CHANGE_EVERY === 0) await emit.state.update((state) => void (state.done = count));
      else await reply.write(`word ${count} `);
    }
    if (gate !== undefined) await fetch(gate, { signal });
  },
});
