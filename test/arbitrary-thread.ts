/**
 * Arbitrary threads, as unruly as threads get: reasoning of several providers and of none, parallel calls, answers that
 * are denied, failed, late, missing, doubled or of no call, odd ids and names, parts of every kind, and roles anywhere.
 */
import fc from "fast-check";
import type { ContentPart, Message, Tool } from "../src/protocol/index.ts";

/** Seals a block as an adapter of this issuer would. */
export const sealedBy = (issuer: string, block: object): string => JSON.stringify({ issuer, block });

const text = fc.oneof(fc.constantFrom("Hello", "", " ", "\n", "wörld 🌍"), fc.string({ maxLength: 12 }));

const source = fc.oneof(
  fc.record({
    type: fc.constant("data" as const),
    value: fc.constantFrom("AAEC", "SGVsbG8=", "!"),
    mimeType: fc.constantFrom("image/png", "image/tiff", "application/pdf", "text/plain", "audio/wav", "video/mp4"),
  }),
  fc.record({ type: fc.constant("url" as const), value: fc.constant("https://example.org/x") }),
  fc.record(
    {
      type: fc.constant("file" as const),
      value: fc.constant("file_1"),
      provider: fc.constantFrom("openai", "anthropic", "google"),
    },
    { requiredKeys: ["type", "value"] },
  ),
);

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text }),
  fc.record({
    type: fc.constantFrom("image" as const, "audio" as const, "video" as const, "document" as const),
    source,
  }),
);

const content = fc.oneof(text, fc.array(part, { maxLength: 3 }));

const callId = fc.oneof(
  { weight: 4, arbitrary: fc.uuid().map((id) => `call_${id.slice(0, 8)}`) },
  { weight: 1, arbitrary: fc.constantFrom("again", "", "späße", "x".repeat(80), "a b") },
);

const toolName = fc.constantFrom("get_weather", "weather.get", "weather_get", "größe", "x".repeat(90));

const argumentText = fc.oneof(fc.json(), fc.constantFrom("", "{}", '{"city":"Rome"}', '{"cut', "[1]", "null", "text"));

/** Reasoning whose signature tells which text it belongs to. */
const reasoning = fc
  .record({
    thought: text,
    issuer: fc.constantFrom("openai", "anthropic", "anthropic", "chat", "google", "none", "garbage"),
  })
  .map(({ thought, issuer }) => {
    const blocks: Readonly<Record<string, object>> = {
      openai: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: `enc:${thought}` },
      anthropic: { type: "thinking", signature: `sig:${thought}` },
      google: { type: "thought", data: "secret of google" },
    };
    const block = blocks[issuer];
    if (issuer === "chat") {
      const details = { type: "reasoning_details", reasoning_details: [{ type: "reasoning.text", text: thought }] };
      return { content: thought, encryptedValue: sealedBy("openai", details) };
    }
    if (issuer === "garbage") return { content: thought, encryptedValue: "neither JSON nor ours" };
    return block === undefined ? { content: thought } : { content: thought, encryptedValue: sealedBy(issuer, block) };
  });

type WithoutId<M> = M extends Message ? Omit<M, "id"> : never;

type Step =
  | { readonly kind: "message"; readonly message: WithoutId<Message> }
  | { readonly kind: "answer"; readonly calls: readonly CallStep[]; readonly content: string | undefined };

interface CallStep {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly outcome: "answered" | "denied" | "missing" | "late" | "twice";
  readonly result: string | readonly ContentPart[];
}

const call: fc.Arbitrary<CallStep> = fc.record({
  id: callId,
  name: toolName,
  text: argumentText,
  outcome: fc.constantFrom("answered", "answered", "denied", "missing", "late", "twice"),
  result: content,
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: content.map((said): Step => ({ kind: "message", message: { role: "user", content: said } })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ role: fc.constantFrom("system" as const, "developer" as const), content: text })
      .map((message): Step => ({ kind: "message", message })),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>({ kind: "message", message: { role: "activity", activityType: "x", content: {} } }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>({ kind: "message", message: { role: "tool", toolCallId: "nobody", content: "?" } }),
  },
  {
    weight: 3,
    arbitrary: reasoning.map((message): Step => ({ kind: "message", message: { role: "reasoning", ...message } })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ content: fc.option(text, { nil: undefined }), calls: fc.array(call, { maxLength: 3 }) })
      .map((answer): Step => ({ kind: "answer", ...answer })),
  },
);

/** A thread, and the tools that are offered with it. */
export function arbitraryThread(): fc.Arbitrary<{ messages: readonly Message[]; tools: readonly Tool[] }> {
  const tool = fc.record({ name: toolName, description: text, parameters: fc.constantFrom({ type: "object" }, true) });
  return fc.record({
    messages: fc.array(step, { maxLength: 12 }).map(toMessages),
    tools: fc.array(tool, { maxLength: 4 }),
  });
}

function toMessages(steps: readonly Step[]): readonly Message[] {
  const messages: Message[] = [];
  const late: Message[] = [];
  const nextId = (): string => `m${messages.length + late.length}`;
  for (const each of steps) {
    if (each.kind === "message") messages.push({ id: nextId(), ...each.message });
    else {
      const toolCalls = each.calls.map(({ id, name, text: given }) => ({
        id,
        type: "function" as const,
        function: { name, arguments: given },
      }));
      messages.push({
        id: nextId(),
        role: "assistant",
        ...(each.content === undefined ? {} : { content: each.content }),
        ...(toolCalls.length === 0 ? {} : { toolCalls }),
      });
      for (const { id, outcome, result } of each.calls) {
        const answer = { role: "tool" as const, toolCallId: id, content: result };
        if (outcome === "answered" || outcome === "twice") messages.push({ id: nextId(), ...answer });
        if (outcome === "twice") messages.push({ id: nextId(), ...answer });
        if (outcome === "denied") messages.push({ id: nextId(), ...answer, content: "", error: "The user said no." });
        if (outcome === "late") late.push({ id: nextId(), ...answer });
      }
    }
  }
  return [...messages, ...late];
}
