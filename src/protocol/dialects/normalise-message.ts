/**
 * Messages in older and seed forms, turned into those of 1.0: snake_case and flat tool calls (seed 001), `binary`
 * parts (seed 000), reasoning with `encryptedContent` or a list of texts.
 */
import { camelCaseKnown, dropNulls, keep, rewrite, rewriteList, without } from "./rewrite.ts";
import type { Fields, Note } from "./rewrite.ts";
import { isObject, objectShape, unionShape } from "../shape.ts";

/** Turns one message into the form of 1.0. What is no message comes back as it is. */
export function normaliseMessage(message: unknown, path: string, note: Note): unknown {
  if (!isObject(message) || typeof message.role !== "string") return message;
  const fields = unionShape("Message").members.get(message.role)?.fields;
  let changed = camelCaseKnown(message, (name) => fields?.has(name) === true, path, note);
  if (changed.role === "reasoning") changed = normaliseReasoning(changed, path, note);
  changed = rewrite(changed, "content", (content) => normaliseContent(content, `${path}/content`, note));
  return rewrite(changed, "toolCalls", (calls) =>
    rewriteList(calls, (call, index) => normaliseToolCall(call, `${path}/toolCalls/${index}`, note)),
  );
}

function normaliseReasoning(message: Fields, path: string, note: Note): Fields {
  let changed = message;
  if (Array.isArray(message.content) && message.content.every((text) => typeof text === "string")) {
    note(`${path}/content`, "A list of reasoning texts is one text.");
    changed = { ...changed, content: message.content.join("") };
  }
  if (typeof message.encryptedContent === "string" && !("encryptedValue" in message)) {
    note(`${path}/encryptedContent`, "encryptedContent is called encryptedValue.");
    changed = { ...without(changed, "encryptedContent"), encryptedValue: message.encryptedContent };
  }
  return changed;
}

function normaliseToolCall(call: unknown, path: string, note: Note): unknown {
  if (!isObject(call)) return call;
  const { fields } = objectShape("ToolCall");
  const changed = camelCaseKnown(call, (name) => fields.has(name), path, note);
  if ("function" in call || typeof call.name !== "string") return changed;
  note(path, "A tool call's name and arguments belong into its function member.");
  return {
    ...without(changed, "name", "arguments"),
    type: "function",
    function: { name: call.name, arguments: textOf(call.arguments ?? "") },
  };
}

const textOf = (value: unknown): unknown => (isObject(value) ? JSON.stringify(value) : value);

/** Turns `binary` parts into media parts, in a list of content parts; text comes back as it is. */
export function normaliseContent(content: unknown, path: string, note: Note): unknown {
  if (!Array.isArray(content)) return content;
  const changed = rewriteList(content, (part, index) => {
    if (!isObject(part)) return part;
    if (part.type === "binary") return normaliseBinary(part, `${path}/${index}`, note);
    return part.type === "text" ? part : dropNulls(part, ["metadata"], `${path}/${index}`, note);
  });
  if (changed === content || !Array.isArray(changed)) return changed;
  // Clients of the transition sent an attachment in both forms; the modern twin is the one that counts.
  return changed.filter((part, index) => {
    const twin = part !== content[index] && content.some((other) => JSON.stringify(other) === JSON.stringify(part));
    if (twin) note(`${path}/${index}`, "Left out a binary part that repeats a media part.");
    return !twin;
  });
}

function normaliseBinary(part: Fields, path: string, note: Note): unknown {
  const { mimeType, data, url, id, filename } = part;
  if (typeof mimeType !== "string") return part;
  const type = /^(image|audio|video)\//.exec(mimeType)?.[1] ?? "document";
  const source = data
    ? { type: "data", value: data, mimeType }
    : url
      ? { type: "url", value: url, mimeType }
      : id
        ? { type: "file", value: id, mimeType }
        : undefined;
  if (source === undefined) return part;
  note(path, `A binary part is a part of type ${type}.`);
  const named = filename ? { metadata: { filename } } : {};
  const media = { type, source, ...named };
  // One source is what a part can have; the others stay readable.
  const others = { ...(data && url ? { url } : {}), ...((data || url) && id ? { id } : {}) };
  return Object.keys(others).length === 0 ? media : keep(media, others);
}
