/**
 * Open JSON as `google.protobuf.Value`, `Struct` and `ListValue`.
 *
 * Writing follows `JSON.stringify`: an undefined member is left out, an undefined element is null, `toJSON` is asked;
 * what JSON cannot say (NaN, an infinity, a function, a bigint) is refused. Reading yields JSON and nothing else: a
 * `Value` without a kind is not JSON. Repeated payloads merge as protobuf says. Both ways are bounded in depth.
 */
import { invalid, tooLarge } from "./failures.ts";
import type { WireReader } from "./wire-reader.ts";
import type { WireWriter } from "./wire-writer.ts";

/** How deep open JSON may nest, in either direction: the default of the text formats. */
export const MAX_JSON_DEPTH = 512;

/** A JSON object as the codec handles it. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is an object and not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Writes the content of a `Value`. */
export function writeValue(writer: WireWriter, value: unknown, depth = 0): void {
  switch (typeof value) {
    case "string":
      writer.uint(26).text(value);
      return;
    case "number":
      if (!Number.isFinite(value)) throw notJson(String(value));
      writer.uint(17).double(value);
      return;
    case "boolean":
      writer.uint(32).uint(value ? 1 : 0);
      return;
    case "object":
      if (value === null) writer.uint(8).uint(0);
      else if (Array.isArray(value)) writeList(writer, value, depth + 1);
      else if ("toJSON" in value && typeof value.toJSON === "function") {
        checkDepth(depth + 1);
        writeValue(writer, value.toJSON() ?? null, depth + 1);
      } else {
        writer.uint(42).open();
        writeObject(writer, value as JsonObject, depth + 1);
        writer.close();
      }
      return;
    default:
      throw notJson(`a ${typeof value}`);
  }
}

/** Writes the content of a `Struct`. */
export function writeObject(writer: WireWriter, object: JsonObject, depth = 1): void {
  checkDepth(depth);
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value === undefined) continue;
    writer.uint(10).open();
    if (key !== "") writer.uint(10).text(key);
    writer.uint(18).open();
    writeValue(writer, value, depth);
    writer.close().close();
  }
}

function writeList(writer: WireWriter, list: readonly unknown[], depth: number): void {
  checkDepth(depth);
  writer.uint(50).open();
  for (const element of list) {
    writer.uint(10).open();
    writeValue(writer, element === undefined ? null : element, depth);
    writer.close();
  }
  writer.close();
}

/** Reads a `Value` that ends at `end`; `current` is what an earlier occurrence of the same field held. */
export function readValue(wire: WireReader, end: number, current?: unknown, depth = 0): unknown {
  const { values } = wire;
  let value = current;
  while (values.pos < end) {
    const tag = wire.tag();
    switch (tag) {
      case 8:
        values.int32();
        value = null;
        break;
      case 17:
        value = values.double();
        if (!Number.isFinite(value)) throw notJson(String(value));
        break;
      case 26:
        value = values.string();
        break;
      case 32:
        value = values.bool();
        break;
      case 42:
        value = readObject(wire, wire.end(end), isObject(value) ? value : {}, depth + 1);
        break;
      case 50:
        value = readList(wire, wire.end(end), Array.isArray(value) ? value : [], depth + 1);
        break;
      default:
        wire.skip(tag);
    }
  }
  wire.close(end);
  if (value === undefined) throw notJson("a value without a kind");
  return value;
}

/** Reads a `Struct` that ends at `end` into `target`. */
export function readObject(wire: WireReader, end: number, target: JsonObject, depth = 1): JsonObject {
  checkDepth(depth);
  while (wire.values.pos < end) {
    const tag = wire.tag();
    if (tag === 10) readMember(wire, wire.end(end), target, depth);
    else wire.skip(tag);
  }
  wire.close(end);
  return target;
}

function readMember(wire: WireReader, end: number, target: JsonObject, depth: number): void {
  let key = "";
  let value: unknown;
  while (wire.values.pos < end) {
    const tag = wire.tag();
    if (tag === 10) key = wire.values.string();
    else if (tag === 18) value = readValue(wire, wire.end(end), value, depth);
    else wire.skip(tag);
  }
  wire.close(end);
  if (value === undefined) throw notJson("a member without a value");
  // Assigning to `__proto__` would set a prototype; as JSON it is a member like any other.
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

function readList(wire: WireReader, end: number, target: unknown[], depth: number): unknown[] {
  checkDepth(depth);
  while (wire.values.pos < end) {
    const tag = wire.tag();
    if (tag === 10) target.push(readValue(wire, wire.end(end), undefined, depth));
    else wire.skip(tag);
  }
  wire.close(end);
  return target;
}

function checkDepth(depth: number): void {
  if (depth > MAX_JSON_DEPTH) throw tooLarge("depth of the JSON value", MAX_JSON_DEPTH, depth);
}

function notJson(what: string): Error {
  return invalid("not-json", `JSON has no form for ${what}.`, { received: what });
}
