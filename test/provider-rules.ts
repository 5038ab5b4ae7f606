/**
 * What the providers document about request bodies, each rule as a check of its own.
 *
 * Written from the providers' documentation and error messages, apart from the adapters: a body that breaks a rule is
 * one that the provider answers with status 400. Each function returns the rules that are broken.
 */

type Json = Readonly<Record<string, unknown>>;

const record = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {});
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(record) : []);
const isText = (value: unknown): value is string => typeof value === "string";

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

class Findings {
  readonly broken = new Set<string>();

  must(holds: boolean, rule: string): void {
    if (!holds) this.broken.add(rule);
  }

  unique(values: readonly unknown[], rule: string): void {
    this.must(new Set(values).size === values.length, rule);
  }
}

function isJsonObject(text: unknown): boolean {
  try {
    const value: unknown = isText(text) ? JSON.parse(text) : undefined;
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Rules of OpenAI's Chat Completions that a body breaks. */
export function brokenChatRules(body: object): readonly string[] {
  const found = new Findings();
  const messages = list(record(body)["messages"]);
  found.must(messages.length > 0, "messages is not empty");
  found.must(
    messages.some(({ role }) => role !== "system"),
    "there is something to answer",
  );
  let waiting: unknown[] = [];
  const ids: unknown[] = [];
  for (const message of messages) {
    const { role, content } = message;
    if (role === "tool") {
      found.must(waiting.includes(message["tool_call_id"]), "a tool message answers a call directly before it, once");
      waiting = waiting.filter((id) => id !== message["tool_call_id"]);
      found.must(isText(content), "a result is text");
      continue;
    }
    found.must(waiting.length === 0, "every call is answered directly behind its message");
    if (role === "assistant") {
      const calls = list(message["tool_calls"]);
      waiting = calls.map(({ id }) => id);
      ids.push(...waiting);
      found.must(isText(content) ? content !== "" : calls.length > 0, "an assistant says or calls something");
      found.must(message["tool_calls"] === undefined || calls.length > 0, "tool_calls is not empty");
      for (const { id, type, function: called } of calls) {
        found.must(isText(id) && id !== "" && id.length <= 40, "an id of a call has 1 to 40 characters");
        found.must(type === "function" && NAME.test(String(record(called)["name"])), "a call names a function");
        found.must(isJsonObject(record(called)["arguments"]), "arguments are a JSON object");
      }
    } else if (role === "user") {
      found.must(isText(content) || list(content).length > 0, "a user says something");
      for (const part of list(content)) found.must(isChatPart(part), "a part has a documented form");
    } else found.must(role === "system" && isText(content), "roles are system, user, assistant and tool");
  }
  found.must(waiting.length === 0, "every call is answered directly behind its message");
  found.unique(ids, "ids of calls are unique");
  const names = list(record(body)["tools"]).map((tool) => record(tool["function"])["name"]);
  found.unique(names, "names of tools are unique");
  for (const name of names) found.must(NAME.test(String(name)), "a tool's name has 1 to 64 letters, digits, _ or -");
  return [...found.broken];
}

function isChatPart(part: Json): boolean {
  switch (part["type"]) {
    case "text":
      return isText(part["text"]);
    case "image_url":
      return /^(https?:|data:image\/(png|jpeg|webp|gif);base64,)/.test(String(record(part["image_url"])["url"]));
    case "input_audio":
      return ["wav", "mp3"].includes(String(record(part["input_audio"])["format"]));
    case "file": {
      const { file_id, file_data, filename } = record(part["file"]);
      return isText(file_id) || (isText(filename) && String(file_data).startsWith("data:"));
    }
    default:
      return false;
  }
}

/** Rules of OpenAI's Responses that a body breaks. `issued` are the reasoning items that OpenAI made. */
export function brokenResponsesRules(body: object, issued: (item: Json) => boolean): readonly string[] {
  const found = new Findings();
  const items = list(record(body)["input"]);
  found.must(
    items.some(({ role }) => role !== "system" && role !== "developer"),
    "there is something to answer",
  );
  found.must(record(body)["store"] === false, "nothing is stored, so nothing is looked up by id");
  let waiting: unknown[] = [];
  const ids: unknown[] = [];
  items.forEach((item, index) => {
    const next = items[index + 1];
    switch (item["type"]) {
      case "reasoning":
        found.must(issued(item), "reasoning goes back to its issuer, unchanged");
        found.must(
          next !== undefined &&
            (next["role"] === "assistant" || ["reasoning", "function_call"].includes(String(next["type"]))),
          "reasoning is followed by what it led to",
        );
        break;
      case "function_call":
        waiting.push(item["call_id"]);
        ids.push(item["call_id"]);
        found.must(isText(item["call_id"]) && /^.{1,64}$/s.test(item["call_id"]), "a call_id has 1 to 64 characters");
        found.must(NAME.test(String(item["name"])), "a call names a function");
        found.must(isJsonObject(item["arguments"]), "arguments are a JSON object");
        return;
      case "function_call_output":
        found.must(waiting.includes(item["call_id"]), "an output belongs to a call before it, once");
        waiting = waiting.filter((id) => id !== item["call_id"]);
        found.must(isText(item["output"]) || list(item["output"]).length > 0, "an output is text or parts");
        return;
      default:
        found.must(
          ["system", "developer", "user", "assistant"].includes(String(item["role"])),
          "a message has a documented role",
        );
        found.must(isText(item["content"]) || list(item["content"]).length > 0, "a message says something");
    }
    found.must(
      waiting.length === 0 || item["role"] === "assistant" || item["type"] === "reasoning",
      "every call is answered before anyone else speaks",
    );
  });
  found.must(waiting.length === 0, "every call has an output");
  found.unique(ids, "ids of calls are unique");
  found.unique(
    list(record(body)["tools"]).map(({ name }) => name),
    "names of tools are unique",
  );
  return [...found.broken];
}

/** Rules of Anthropic's Messages that a body breaks. `signed` tells whether thinking is as Anthropic made it. */
export function brokenAnthropicRules(body: object, signed: (block: Json) => boolean): readonly string[] {
  const found = new Findings();
  const { messages: given, system, tools, max_tokens } = record(body);
  const messages = list(given);
  found.must(typeof max_tokens === "number" && max_tokens > 0, "max_tokens is there");
  found.must(messages[0]?.["role"] === "user", "the user begins");
  found.must(messages.at(-1)?.["role"] === "user", "the user is last: models do not go on from their own words");
  const ids: unknown[] = [];
  messages.forEach(({ role, content }, index) => {
    const blocks = list(content);
    found.must(role === (index % 2 === 0 ? "user" : "assistant"), "user and assistant take turns");
    found.must(blocks.length > 0, "a turn is not empty");
    for (const block of blocks) {
      if (block["type"] === "text") found.must(String(block["text"]).trim() !== "", "text holds more than white space");
    }
    if (role === "user") checkUserTurn(found, blocks, list(messages[index - 1]?.["content"]));
    else {
      ids.push(...blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id));
      checkAssistantTurn(found, blocks, list(messages[index + 1]?.["content"]), signed);
    }
  });
  found.unique(ids, "ids of calls are unique");
  for (const { type, text } of list(system)) {
    found.must(type === "text" && String(text).trim() !== "", "system holds more than white space");
  }
  found.unique(
    list(tools).map(({ name }) => name),
    "names of tools are unique",
  );
  for (const { name, input_schema } of list(tools)) {
    found.must(NAME.test(String(name)), "a tool's name has letters, digits, _ or -");
    found.must(record(input_schema)["type"] === "object", "a schema is of an object");
  }
  return [...found.broken];
}

function checkUserTurn(found: Findings, blocks: readonly Json[], before: readonly Json[]): void {
  const asked = before.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  const answered = blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id);
  found.unique(answered, "a call has one result");
  found.must(
    asked.length === answered.length && asked.every((id) => answered.includes(id)),
    "the results of a turn's calls, and only they, stand in the next turn",
  );
  found.must(
    blocks.slice(0, answered.length).every(({ type }) => type === "tool_result"),
    "results come first in their turn",
  );
  for (const block of blocks) {
    found.must(
      ["text", "image", "document", "tool_result"].includes(String(block["type"])),
      "a user's block has a documented form",
    );
    found.must(block["citations"] === undefined, "a user's text cites nothing");
    for (const inner of list(block["content"])) {
      found.must(
        ["text", "image", "document"].includes(String(inner["type"])),
        "a result holds text, images, documents",
      );
      found.must(inner["type"] !== "text" || String(inner["text"]).trim() !== "", "text holds more than white space");
    }
    const { type, media_type } = record(block["source"]);
    if (type === "base64") {
      const images = ["image/jpeg", "image/png", "image/gif", "image/webp"];
      const allowed = block["type"] === "image" ? images : ["application/pdf"];
      found.must(allowed.includes(String(media_type)), "media are of a documented type");
    }
  }
}

function checkAssistantTurn(
  found: Findings,
  blocks: readonly Json[],
  next: readonly Json[],
  signed: (block: Json) => boolean,
): void {
  found.must(
    !["thinking", "redacted_thinking"].includes(String(blocks.at(-1)?.["type"])),
    "thinking is not the last of a turn",
  );
  const uses = blocks.filter(({ type }) => type === "tool_use");
  found.must(uses.length === 0 || next.length > 0, "every call has a result in the next turn");
  for (const block of blocks) {
    switch (block["type"]) {
      case "thinking":
      case "redacted_thinking":
        found.must(signed(block), "thinking is returned as it was signed");
        break;
      case "tool_use":
        found.must(/^[A-Za-z0-9_-]+$/.test(String(block["id"])), "an id of a call has letters, digits, _ or -");
        found.must(NAME.test(String(block["name"])), "a call names a tool");
        found.must(
          typeof block["input"] === "object" && block["input"] !== null && !Array.isArray(block["input"]),
          "input is an object",
        );
        break;
      case "text":
      case "server_tool_use":
      case "web_search_tool_result":
        break;
      default:
        found.must(false, `an assistant's block has a documented form, not ${String(block["type"])}`);
    }
  }
}
