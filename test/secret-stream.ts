/**
 * Arbitrary streams with secrets in every place that a view may hide, and what is left of a fold without them.
 *
 * The state keeps them below `/secrets` and in the `token` of each of `/users`; patches move them about there, and some do
 * not apply. All of it is as the log of a server has it that knows of these places.
 */
import fc from "fast-check";
import type { Event, JsonPatch, Message } from "../src/protocol/index.ts";
import { ForViews } from "../src/server/for-views.ts";
import { HiddenPaths } from "../src/server/hidden-paths.ts";
import { isInstruction } from "../src/server/mark-instructions.ts";
import { createReduceState, reduce } from "../src/stream/index.ts";
import type { ThreadView } from "../src/stream/index.ts";
import { arbitraryStream } from "./arbitrary-stream.ts";
import type { StreamOptions } from "./arbitrary-stream.ts";

/** What every secret holds. */
export const SECRET = "SECRET";

/** Where the state holds them. */
export const HIDDEN_STATE = ["/secrets", "/users/*/token"] as const;

const ADA = { name: "Ada", token: SECRET };
const GIVEN = { secrets: { k: SECRET }, users: [ADA, { name: "Bo", token: SECRET }] };

const DELTAS: readonly JsonPatch[] = [
  [{ op: "add", path: "/secrets", value: { k: SECRET, n: 1 } }],
  [{ op: "add", path: "/users", value: GIVEN.users }],
  [
    { op: "add", path: "/users/-", value: ADA },
    { op: "test", path: "/users/0", value: ADA },
  ],
  [{ op: "replace", path: "/secrets/k", value: { deep: SECRET } }],
  [
    { op: "add", path: "/shown", value: 1 },
    { op: "test", path: "/secrets", value: SECRET },
  ],
  [
    { op: "add", path: "/shown", value: 2 },
    { op: "remove", path: "/secrets/k" },
  ],
  [{ op: "move", from: "/users/0", path: "/users/1" }],
  [{ op: "copy", from: "/secrets/k", path: "/secrets/j" }],
  [{ op: "move", from: "/a", path: "/secrets/a" }],
  [{ op: "copy", from: "/a", path: "/users/0/token" }],
  [{ op: "remove", path: "/users/0" }],
  [{ op: "replace", path: "", value: { ...GIVEN, a: 1, list: [] } }],
  [{ op: "copy", from: "/users/0", path: "/secrets/u" }],
  [{ op: "move", from: "/users", path: "/secrets/users" }],
  [{ op: "copy", from: "/made", path: "/users/0" }],
  [{ op: "add", path: "/made", value: { name: "Cy", token: 3 } }],
];

/** A secret that comes into a stream: behind which event, and which. */
interface Plant {
  readonly at: number;
  readonly which: number;
}

const plant: fc.Arbitrary<Plant> = fc.record({ at: fc.nat(40), which: fc.nat(DELTAS.length) });

const eventOf = ({ which }: Plant): Event => {
  const delta = DELTAS[which];
  return delta === undefined ? { type: "STATE_SNAPSHOT", snapshot: GIVEN } : { type: "STATE_DELTA", delta };
};

/** Puts secrets into what is there: thoughts, sealed values, instructions, and what a provider said. */
class Planter {
  readonly #instructions = new Set<string>();

  plant(event: Event): Event {
    switch (event.type) {
      case "RUN_STARTED":
        if (event.input === undefined) return event;
        return { ...event, input: { ...event.input, messages: event.input.messages.map(withSecret) } };
      case "MESSAGES_SNAPSHOT":
        return { ...event, messages: event.messages.map(withSecret) };
      case "REASONING_MESSAGE_CONTENT":
        return { ...event, delta: SECRET };
      case "REASONING_ENCRYPTED_VALUE":
        return { ...event, encryptedValue: SECRET };
      case "RAW":
        return { ...event, event: { said: SECRET } };
      case "TEXT_MESSAGE_START":
        if (isInstruction(event.role ?? "assistant")) this.#instructions.add(event.messageId);
        return { ...event, rawEvent: { said: SECRET } };
      case "TEXT_MESSAGE_CONTENT":
        return this.#instructions.has(event.messageId) ? { ...event, delta: SECRET } : event;
      default:
        return event;
    }
  }
}

function withSecret(message: Message): Message {
  if (isInstruction(message.role) || message.role === "reasoning") {
    return { ...message, content: SECRET } as Message;
  }
  if (message.role !== "assistant") return message;
  const toolCalls = message.toolCalls?.map((call) => ({ ...call, encryptedValue: SECRET }));
  return { ...message, encryptedValue: SECRET, ...(toolCalls === undefined ? {} : { toolCalls }) };
}

/** The events, with more behind some of them; nothing comes between the end of a run and what it belies. */
function mixed(events: readonly Event[], plants: readonly Plant[]): readonly Event[] {
  let running = false;
  return events.flatMap((event, index) => {
    if (event.type === "RUN_STARTED") running = true;
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") running = false;
    return running ? [event, ...plants.filter(({ at }) => at === index).map(eventOf)] : [event];
  });
}

/** Events as a server logs them whose views hide these places. */
export function asLogged(events: readonly Event[], hidden: readonly string[]): readonly Event[] {
  const forViews = new ForViews([new HiddenPaths(hidden)]);
  const fold = createReduceState();
  return events.map((event) => {
    const logged = forViews.tell(event, fold);
    reduce(fold, logged);
    return logged;
  });
}

/** Valid streams with secrets. */
export function arbitrarySecretStream(options: Omit<StreamOptions, "chunks"> = {}): fc.Arbitrary<readonly Event[]> {
  return fc.tuple(arbitraryStream(options), fc.array(plant, { maxLength: 12 })).map(([events, plants]) => {
    const planter = new Planter();
    return mixed(events, plants).map((event) => planter.plant(event));
  });
}

/** What a view may hide. */
export interface Hides {
  /** Whether reasoning is hidden. */
  readonly reasoning: boolean;
  /** Whether the secret places of the state are. */
  readonly state: boolean;
  /** Whether instructions are. */
  readonly instructions: boolean;
}

/** A fold without what a view hides. */
export function withoutSecrets(folded: ThreadView, hides: Hides): ThreadView {
  const messages = folded.messages.filter(
    ({ role }) => !(hides.reasoning && role === "reasoning") && !(hides.instructions && isInstruction(role)),
  );
  return {
    ...folded,
    messages: hides.reasoning ? messages.map(withoutSealed) : messages,
    state: hides.state ? withoutHidden(folded.state) : folded.state,
  };
}

/** Written as text, so that nothing of how the server does it is used. */
const withoutSealed = (message: Message): Message =>
  JSON.parse(JSON.stringify(message), (key, value: unknown) => (key.startsWith("encryptedValue") ? undefined : value));

function withoutHidden(state: unknown): unknown {
  if (typeof state !== "object" || state === null || Array.isArray(state)) return state;
  const { secrets: _secrets, ...rest } = { secrets: 0, ...state };
  if (!("users" in rest) || !Array.isArray(rest.users)) return rest;
  const users = rest.users.map((user: object) => {
    const { token: _token, ...others } = { token: 0, ...user };
    return others;
  });
  return { ...rest, users };
}
