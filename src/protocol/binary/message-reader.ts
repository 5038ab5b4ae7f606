/**
 * The decoding half of the codec: the layout compiled once into a table of readers per message.
 *
 * Reading yields plain JSON for enforcement to judge: absent stays absent, a required string or list without presence
 * reads as "" or [] (R-PROC-06). Unknown fields are passed over. A member of a list whose variant is unknown is left
 * out with a warning, and an unknown source takes its part along; two arms at once are refused. Singular messages that
 * come twice merge, as protobuf says.
 */
import { invalid } from "./failures.ts";
import { readObject, readValue } from "./json-value.ts";
import type { JsonObject } from "./json-value.ts";
import { BASE_EVENT, BASE_EVENT_NUMBER, isOneof, MESSAGES, PATCH_OPS } from "./layout.ts";
import type { Fields, MessageName, Oneof, Slot } from "./layout.ts";
import { RESHAPES } from "./reshape.ts";
import type { WireReader } from "./wire-reader.ts";

/** Reads a message up to `end`, into `current` where there is one; undefined says that its variant is unknown. */
export type MessageReader = (wire: WireReader, end: number, current: JsonObject | undefined) => JsonObject | undefined;

/** Reads the value of one field into `target`; false says that the variant of the whole message is unknown. */
type FieldReader = (wire: WireReader, end: number, target: JsonObject) => boolean;

interface SlotReader {
  /** The tag that the slot is written with; another wire type makes the field an unknown one. */
  readonly tag: number;
  readonly read: FieldReader;
}

const VARINT = 0;
const DELIMITED = 2;

/** The fields of an event up to `end`; `BaseEvent.type` goes to `wire.baseType`, where the envelope looks for it. */
export function eventReader(fields: Fields): MessageReader {
  return fieldsReader(fields, [baseEventSlot()]);
}

function baseEventSlot(): SlotReader {
  const typeSlot: SlotReader = {
    tag: 1 * 8 + VARINT,
    read(wire) {
      wire.baseType = wire.values.int32();
      return true;
    },
  };
  const slots = slotTable(BASE_EVENT, [typeSlot]);
  return {
    tag: BASE_EVENT_NUMBER * 8 + DELIMITED,
    read(wire, end, target) {
      // proto3 leaves out the zero, so a base event without a type says 0.
      wire.baseType ??= 0;
      return readFields(slots, wire, wire.end(end), target);
    },
  };
}

const compiled = new Map<MessageName, MessageReader>();

function messageReader(name: MessageName): MessageReader {
  let read = compiled.get(name);
  if (read === undefined) {
    const layout = MESSAGES[name];
    read = isOneof(layout) ? oneofReader(layout) : fieldsReader(layout);
    compiled.set(name, read);
  }
  return read;
}

function slotTable(fields: Fields, others: readonly SlotReader[]): readonly (SlotReader | undefined)[] {
  const slots = [...others, ...Object.entries(fields).map(([field, slot]) => slotReader(field, slot))];
  const size = Math.max(...slots.map((slot) => slot.tag >>> 3)) + 1;
  return Array.from({ length: size }, (_, number) => slots.find((slot) => slot.tag >>> 3 === number));
}

function readFields(
  slots: readonly (SlotReader | undefined)[],
  wire: WireReader,
  end: number,
  target: JsonObject,
): boolean {
  const { values } = wire;
  let known = true;
  while (values.pos < end) {
    const tag = wire.tag();
    const slot = slots[tag >>> 3];
    if (slot === undefined || slot.tag !== tag) wire.skip(tag);
    else if (!slot.read(wire, end, target)) known = false;
  }
  wire.close(end);
  return known;
}

function fieldsReader(fields: Fields, others: readonly SlotReader[] = []): MessageReader {
  const slots = slotTable(fields, others);
  const texts: [field: string, text: string][] = [];
  const lists: string[] = [];
  for (const [field, { kind, presence }] of Object.entries(fields)) {
    if (presence === "list" || presence === "filled-list") lists.push(field);
    else if (presence === "required" && kind === "string") texts.push([field, ""]);
    else if (kind === "patch-op") texts.push([field, PATCH_OPS[0]]);
  }
  return (wire, end, target = {}) => {
    if (!readFields(slots, wire, end, target)) return undefined;
    for (const [field, text] of texts) if (target[field] === undefined) target[field] = text;
    for (const field of lists) if (target[field] === undefined) target[field] = [];
    return target;
  };
}

function oneofReader({ arms }: Oneof): MessageReader {
  const table = Object.entries(arms).map(([type, { number, message }]) => ({
    type,
    tag: number * 8 + DELIMITED,
    read: messageReader(message),
  }));
  return (wire, end, current) => {
    let json = current;
    let seen: (typeof table)[number] | undefined;
    let known = true;
    while (wire.values.pos < end) {
      const tag = wire.tag();
      const arm = table.find((candidate) => candidate.tag === tag);
      if (arm === undefined) {
        wire.skip(tag);
        continue;
      }
      if (seen !== undefined && seen !== arm) {
        throw invalid("conflicting-arms", `A value is ${seen.type} and ${arm.type} at once.`);
      }
      seen = arm;
      if (json?.type !== arm.type) json = { type: arm.type };
      if (arm.read(wire, wire.end(end), json) === undefined) known = false;
    }
    wire.close(end);
    return known ? json : undefined;
  };
}

function slotReader(field: string, { number, kind, presence }: Slot): SlotReader {
  const isList = presence !== "required" && presence !== "optional";
  const delimited = number * 8 + DELIMITED;
  const varint = number * 8 + VARINT;
  switch (kind) {
    case "string":
      return { tag: delimited, read: isList ? textListField(field) : textField(field) };
    case "bool":
      return { tag: varint, read: scalarField(field, (wire) => wire.values.bool()) };
    case "int64":
      return { tag: varint, read: scalarField(field, readInt64) };
    case "patch-op":
      return { tag: varint, read: scalarField(field, readPatchOp) };
    case "json":
    case "json-not-null":
      return {
        tag: delimited,
        read: scalarField(field, (wire, end, current) => readValue(wire, wire.end(end), current)),
      };
    case "object":
      return {
        tag: delimited,
        read: scalarField(field, (wire, end, current) =>
          readObject(wire, wire.end(end), (current as JsonObject | undefined) ?? {}),
        ),
      };
    default:
      return { tag: delimited, read: isList ? messageListField(field, kind) : messageField(field, kind) };
  }
}

function textField(field: string): FieldReader {
  return (wire, _end, target) => {
    target[field] = wire.values.string();
    return true;
  };
}

function textListField(field: string): FieldReader {
  return (wire, _end, target) => {
    listAt(target, field).push(wire.values.string());
    return true;
  };
}

function scalarField(field: string, read: (wire: WireReader, end: number, current: unknown) => unknown): FieldReader {
  return (wire, end, target) => {
    target[field] = read(wire, end, target[field]);
    return true;
  };
}

function messageField(field: string, kind: MessageName): FieldReader {
  const read = messageReader(kind);
  return (wire, end, target) => {
    wire.path.push(field);
    const message = read(wire, wire.end(end), target[field] as JsonObject | undefined);
    wire.path.pop();
    if (message === undefined) return false;
    target[field] = message;
    return true;
  };
}

function messageListField(field: string, kind: MessageName): FieldReader {
  const read = messageReader(kind);
  const fromWire = RESHAPES[kind]?.fromWire;
  const jsonField = field === "contentParts" ? "content" : field;
  return (wire, end, target) => {
    const list = listAt(target, field);
    wire.path.push(jsonField, list.length);
    const message = read(wire, wire.end(end), undefined);
    wire.path.length -= 2;
    if (message === undefined) wire.leftOut(jsonField);
    else list.push(fromWire === undefined ? message : fromWire(message));
    return true;
  };
}

function listAt(target: JsonObject, field: string): unknown[] {
  return (target[field] ??= []) as unknown[];
}

function readInt64(wire: WireReader): number {
  const value = Number(wire.values.int64());
  if (!Number.isSafeInteger(value)) {
    throw invalid("unsafe-integer", "An integer is beyond what JSON can carry exactly.", { received: String(value) });
  }
  return value;
}

/** An operation that has no name here keeps its number, for enforcement to name and strip. */
function readPatchOp(wire: WireReader): string {
  const op = wire.values.int32();
  return PATCH_OPS[op] ?? String(op);
}
