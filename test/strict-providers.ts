/**
 * Providers that take nothing amiss: each answers as it is told, and refuses, with status 400, a request that breaks a
 * documented rule. Anthropic's signs its thinking over everything that came before, and checks that on the way back;
 * OpenAI's knows which item each reasoning item led to.
 */
import { brokenAnthropicRules, brokenChatRules, brokenResponsesRules } from "./provider-rules.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a model says in one answer. */
export interface Script {
  /** What it thinks; undefined for a model that does not. */
  readonly thought: string | undefined;
  /** Whether Anthropic hides some of it. */
  readonly redacted: boolean;
  /** Whether the provider searches the web by itself, between thinking and text. */
  readonly searches: boolean;
  /** Whether it thinks once more between text and calls. */
  readonly afterthought: boolean;
  /** Pieces of text, blocks of their own at Anthropic. */
  readonly text: readonly string[];
  /** Tools that it calls, in parallel. */
  readonly calls: readonly { readonly name: string; readonly city: string }[];
}

/** A strict provider: a client to give to a model, and what it refused. */
export interface StrictProvider {
  /** The method that both packages' clients have. */
  readonly create: (body: object) => Promise<AsyncIterable<unknown>>;
  /** The broken rules of every request that was refused. */
  readonly refused: readonly string[];
  /** How many requests it took. */
  readonly taken: () => number;
  /** How often its own reasoning came back to it. */
  readonly returned: () => number;
}

/** A provider that gives these answers in turn, then plain ones. */
function strictProvider(
  scripts: readonly Script[],
  judge: (body: object) => readonly string[],
  answer: (script: Script, turn: number, body: object) => readonly unknown[],
): StrictProvider {
  const refused: string[] = [];
  let turn = 0;
  let returned = 0;
  return {
    refused,
    taken: () => turn,
    returned: () => returned,
    async create(body) {
      const text = JSON.stringify(body);
      returned += text.split(/"type":"(?:thinking|redacted_thinking|reasoning)"/).length - 1;
      const broken = judge(JSON.parse(text));
      if (broken.length > 0) {
        refused.push(...broken);
        const error = { type: "invalid_request_error", message: broken.join("; ") };
        throw Object.assign(new Error(error.message), { status: 400, error: { error } });
      }
      const script = scripts[turn] ?? {
        thought: undefined,
        afterthought: false,
        redacted: false,
        searches: false,
        text: ["Done."],
        calls: [],
      };
      const events = answer(script, turn++, body);
      return (async function* stream() {
        yield* events;
      })();
    },
  };
}

const blocksOf = (body: object): readonly { readonly role: unknown; readonly block: Json }[] =>
  (Reflect.get(body, "messages") as readonly { role: string; content: readonly Json[] }[]).flatMap(
    ({ role, content }) => content.map((block) => ({ role, block })),
  );

const before = (body: object, blocks: readonly unknown[]): string =>
  canonical([Reflect.get(body, "system") ?? null, Reflect.get(body, "tools") ?? null, blocks]);

/** A strict Anthropic. */
export function strictAnthropic(scripts: readonly Script[]): StrictProvider {
  const signatures = new Map<unknown, string>();
  const judge = (body: object): readonly string[] => {
    const broken = [...brokenAnthropicRules(body, ({ signature, data }) => signatures.has(signature ?? data))];
    const all = blocksOf(body);
    all.forEach(({ block }, index) => {
      const key = block["signature"] ?? block["data"];
      if (key === undefined || block["source"] !== undefined) return;
      const expected = before(body, all.slice(0, index)) + String(block["thinking"] ?? "");
      if (signatures.get(key) !== expected) broken.push("thinking is bound to a different conversation");
    });
    return broken;
  };

  const answer = (script: Script, turn: number, body: object): readonly unknown[] => {
    const said: { readonly role: string; readonly block: Json }[] = [];
    const events: unknown[] = [{ type: "message_start", message: { model: "m", usage: { input_tokens: 1 } } }];
    const add = (block: Json, start: Json, ...deltas: readonly Json[]): void => {
      const index = said.length;
      said.push({ role: "assistant", block });
      events.push(
        { type: "content_block_start", index, content_block: start },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      );
    };
    const sign = (text: string): string => {
      const signature = `sig_${signatures.size}`;
      signatures.set(signature, before(body, [...blocksOf(body), ...said]) + text);
      return signature;
    };
    const { thought, redacted, searches, text, calls } = script;
    if (thought !== undefined) {
      const signature = sign(thought);
      const delta = [...thought].map((char) => ({ type: "thinking_delta", thinking: char }));
      const start = { type: "thinking", thinking: "", signature: "" };
      add({ ...start, thinking: thought, signature }, start, ...delta, { type: "signature_delta", signature });
    }
    if (redacted) {
      const block = { type: "redacted_thinking", data: sign("") };
      add(block, block);
    }
    if (searches) {
      const use = { type: "server_tool_use", id: `srv_${turn}`, name: "web_search", input: {} };
      const found = { type: "web_search_tool_result", tool_use_id: `srv_${turn}`, content: [] };
      add({ ...use, input: { query: "q" } }, use, { type: "input_json_delta", partial_json: '{"query":"q"}' });
      add(found, found);
      if (thought !== undefined) {
        const start = { type: "thinking", thinking: "", signature: "" };
        const signature = sign("");
        add({ ...start, signature }, start, { type: "signature_delta", signature });
      }
    }
    for (const [index, piece] of text.entries()) {
      const citation = { type: "web_search_result_location", cited_text: piece, url: "u", encrypted_index: "e" };
      const cited = searches && index % 2 === 1;
      const delta = { type: "text_delta", text: piece };
      const citing = { type: "citations_delta", citation };
      const block = { type: "text", text: piece, ...(cited ? { citations: [citation] } : {}) };
      add(block, { type: "text", text: "" }, ...(cited ? [citing, delta] : [delta]));
    }
    if (script.afterthought) {
      const start = { type: "thinking", thinking: "", signature: "" };
      const signature = sign("");
      add({ ...start, signature }, start, { type: "signature_delta", signature });
    }
    for (const [index, { name, city }] of calls.entries()) {
      const use = { type: "tool_use", id: `toolu_${turn}_${index}`, name, input: {} };
      add({ ...use, input: { city } }, use, { type: "input_json_delta", partial_json: JSON.stringify({ city }) });
    }
    const stop_reason = calls.length > 0 ? "tool_use" : "end_turn";
    events.push(
      { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    );
    return events;
  };
  return strictProvider(scripts, judge, answer);
}

const chunk = (delta: Json, finish_reason: string | null = null) => ({ choices: [{ index: 0, delta, finish_reason }] });

/** A strict Chat Completions. */
export function strictChat(scripts: readonly Script[]): StrictProvider {
  return strictProvider(scripts, brokenChatRules, ({ thought, text, calls }, turn) => {
    return [
      ...(thought === undefined ? [] : [chunk({ reasoning_content: thought })]),
      ...text.map((content) => chunk({ content })),
      ...calls.map(({ name, city }, index) => {
        const called = { name, arguments: JSON.stringify({ city }) };
        return chunk({ tool_calls: [{ index, id: `call_${turn}_${index}`, type: "function", function: called }] });
      }),
      chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    ];
  });
}

/** A strict Responses. */
export function strictResponses(scripts: readonly Script[]): StrictProvider {
  const issued = new Map<unknown, { readonly item: string; readonly next: string | undefined }>();
  const judge = (body: object): readonly string[] => {
    const items = Reflect.get(body, "input") as readonly Json[];
    const broken = [...brokenResponsesRules(body, (item) => issued.get(item["id"])?.item === canonical(item))];
    items.forEach((item, index) => {
      if (item["type"] !== "reasoning") return;
      const next = items[index + 1];
      const led = next?.["call_id"] ?? next?.["content"];
      if (issued.get(item["id"])?.next !== led) broken.push("reasoning is followed by its own item");
    });
    return broken;
  };
  return strictProvider(scripts, judge, ({ thought, text, calls }, turn) => {
    const id = `rs_${turn}`;
    const summary = thought === undefined || thought === "" ? [] : [{ type: "summary_text", text: thought }];
    const reasoning = { id, type: "reasoning", summary, encrypted_content: `enc_${turn}` };
    const said = text.join("");
    const items: readonly Json[] = [
      ...(thought === undefined ? [] : [reasoning]),
      ...(said === "" ? [] : [{ id: `msg_${turn}`, type: "message", content: [{ type: "output_text", text: said }] }]),
      ...calls.map(({ name, city }, index) => {
        const call_id = `call_${turn}_${index}`;
        return { id: `fc_${index}`, type: "function_call", call_id, name, arguments: JSON.stringify({ city }) };
      }),
    ];
    issued.set(id, {
      item: canonical(reasoning),
      next: said === "" ? (calls.length > 0 ? `call_${turn}_0` : undefined) : said,
    });
    return [
      ...items.flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item },
        { type: "response.output_item.done", output_index, item },
      ]),
      { type: "response.completed", response: {} },
    ];
  });
}

/** JSON with members in order, so that only what is said counts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
