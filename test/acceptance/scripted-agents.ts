/**
 * Agents that say what they are told in the forwarded properties of the input, which the log does not keep:
 * `scripted` events as an agent elsewhere sends them, whatever they are; `stateful` states, by what `emit` makes of them.
 * A script waits where it names a gate. `roles` tells whose messages it was given.
 */
import { defineAgent } from "heddle/agent";
import type { Event } from "heddle/protocol";

/** One line of a script: an event, which may be none; or where to ask before going on. */
export type Line = object | { readonly gate: string };

const scriptIn = (props: unknown): readonly Line[] => Object(props).script ?? [];

const passGate = async (line: object, signal: AbortSignal): Promise<boolean> => {
  if (!("gate" in line)) return false;
  await fetch(String(line.gate), { signal });
  return true;
};

/** Sends every line as an event. */
export const scripted = defineAgent({
  name: "scripted",
  async *run({ input, signal }) {
    for (const line of scriptIn(input.forwardedProps)) {
      // Ingest is to judge what is an event.
      if (!(await passGate(line, signal))) yield line as Event;
    }
  },
});

/** Makes every line its state, by the smallest change where there is an object to change. */
export const stateful = defineAgent<object>({
  name: "stateful",
  async run({ input, emit, signal }) {
    for (const line of scriptIn(input.forwardedProps)) {
      if (await passGate(line, signal)) continue;
      const { value } = emit.state;
      if (typeof value !== "object" || value === null || Array.isArray(value)) await emit.state.set(line);
      else await emit.state.update((draft) => replaceMembers(draft, line));
    }
  },
});

function replaceMembers(draft: object, members: object): void {
  for (const key of Object.keys(draft)) Reflect.deleteProperty(draft, key);
  Object.assign(draft, members);
}

/** Says the roles of the messages that it was given. */
export const roles = defineAgent({
  name: "roles",
  run: ({ input, emit }) => emit.text().write(input.messages.map(({ role }) => role).join(" ")),
});
