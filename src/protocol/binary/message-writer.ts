/**
 * The encoding half of the codec: the layout compiled once into one closure per field.
 *
 * A writer checks what it writes: a required field that is missing, or any field of another type than its slot, is
 * refused, because the wire has no way to say it and a reader would find "" or worse. Optional fields that are null
 * count as absent. Members without a slot do not travel. Bytes are those of `@ag-ui/proto`; see `losses.ts`.
 */
import { invalid, wrongField } from "./failures.ts";
import { isObject, writeObject, writeValue } from "./json-value.ts";
import type { JsonObject } from "./json-value.ts";
import { BASE_EVENT, BASE_EVENT_NUMBER, EVENTS, isOneof, MESSAGES, PATCH_OPS } from "./layout.ts";
import type { EventLayout, Fields, MessageName, Oneof, Slot } from "./layout.ts";
import { RESHAPES } from "./reshape.ts";
import type { WireWriter } from "./wire-writer.ts";

/** Writes the content of a message. */
export type MessageWriter = (writer: WireWriter, json: JsonObject) => void;

/** Writes tag and value; refuses a value that the slot cannot hold. */
type ValueWriter = (writer: WireWriter, value: unknown) => void;

const VARINT = 0;
const DELIMITED = 2;

const compiled = new Map<MessageName, MessageWriter>();

function messageWriter(name: MessageName): MessageWriter {
  let write = compiled.get(name);
  if (write === undefined) {
    const layout = MESSAGES[name];
    write = isOneof(layout) ? oneofWriter(name, layout) : withToWire(name, fieldsWriter(name, layout));
    compiled.set(name, write);
  }
  return write;
}

function withToWire(name: string, write: MessageWriter): MessageWriter {
  const toWire = RESHAPES[name]?.toWire;
  return toWire === undefined ? write : (writer, json) => write(writer, toWire(json));
}

function fieldsWriter(owner: string, fields: Fields): MessageWriter {
  const slots = Object.entries(fields).map(([field, slot]) => slotWriter(owner, field, slot));
  return (writer, json) => {
    for (const write of slots) write(writer, json);
  };
}

function oneofWriter(owner: string, { arms }: Oneof): MessageWriter {
  const writers = new Map<unknown, MessageWriter>();
  for (const [type, arm] of Object.entries(arms)) {
    const write = messageWriter(arm.message);
    const tag = arm.number * 8 + DELIMITED;
    writers.set(type, (writer, json) => {
      writer.uint(tag).open();
      write(writer, json);
      writer.close();
    });
  }
  const expected = `one of ${Object.keys(arms).join(", ")}`;
  return (writer, json) => {
    const write = writers.get(json.type);
    if (write === undefined) throw wrongField(owner, "type", expected);
    write(writer, json);
  };
}

function slotWriter(owner: string, field: string, slot: Slot): MessageWriter {
  const { kind, presence } = slot;
  const write = valueWriter(owner, field, slot);
  switch (presence) {
    case "required":
      return (writer, json) => write(writer, json[field]);
    case "optional":
      return (writer, json) => {
        const value = json[field];
        if (value !== undefined && (value !== null || kind === "json")) write(writer, value);
      };
    default:
      return (writer, json) => {
        const value = json[field];
        if (Array.isArray(value)) for (const element of value) write(writer, element);
        else if (presence === "list" || (value !== undefined && value !== null))
          throw wrongField(owner, field, "a list");
      };
  }
}

function valueWriter(owner: string, field: string, { number, kind, presence }: Slot): ValueWriter {
  const varint = number * 8 + VARINT;
  const delimited = number * 8 + DELIMITED;
  switch (kind) {
    case "string": {
      // A required string has no presence: proto3 leaves out the empty one.
      const skipsEmpty = presence === "required";
      return (writer, value) => {
        if (typeof value !== "string") throw wrongField(owner, field, "a string");
        if (value !== "" || !skipsEmpty) writer.uint(delimited).text(value);
      };
    }
    case "bool":
      return (writer, value) => {
        if (typeof value !== "boolean") throw wrongField(owner, field, "true or false");
        writer.uint(varint).uint(value ? 1 : 0);
      };
    case "int64":
      return (writer, value) => {
        if (!Number.isSafeInteger(value)) throw wrongField(owner, field, "a safe integer");
        writer.uint(varint).int64(value as number);
      };
    case "patch-op":
      return (writer, value) => {
        const op = (PATCH_OPS as readonly unknown[]).indexOf(value);
        if (op < 0) throw wrongField(owner, field, `one of ${PATCH_OPS.join(", ")}`);
        if (op > 0) writer.uint(varint).uint(op);
      };
    case "json":
    case "json-not-null":
      return (writer, value) => {
        if (value === undefined) throw wrongField(owner, field, "a JSON value");
        writer.uint(delimited).open();
        writeValue(writer, value);
        writer.close();
      };
    case "object":
      return (writer, value) => {
        if (!isObject(value)) throw wrongField(owner, field, "an object");
        writer.uint(delimited).open();
        writeObject(writer, value);
        writer.close();
      };
    default: {
      const write = messageWriter(kind);
      return (writer, value) => {
        if (!isObject(value)) throw wrongField(owner, field, "an object");
        writer.uint(delimited).open();
        write(writer, value);
        writer.close();
      };
    }
  }
}

function eventWriter(type: string, { arm, number, fields }: EventLayout): MessageWriter {
  const armTag = arm * 8 + DELIMITED;
  const baseTag = BASE_EVENT_NUMBER * 8 + DELIMITED;
  const writeBase = fieldsWriter(type, BASE_EVENT);
  const writeFields = withToWire(type, fieldsWriter(type, fields));
  return (writer, event) => {
    writer.uint(armTag).open().uint(baseTag).open();
    if (number !== 0) writer.uint(8).uint(number);
    writeBase(writer, event);
    writer.close();
    writeFields(writer, event);
    writer.close();
  };
}

const eventWriters: ReadonlyMap<unknown, MessageWriter> = new Map(
  Object.entries(EVENTS).map(([type, layout]) => [type, eventWriter(type, layout)]),
);

/** Writes the envelope of one event; anything but one of the 31 is refused. */
export function writeEvent(writer: WireWriter, event: unknown): void {
  const write = isObject(event) ? eventWriters.get(event.type) : undefined;
  if (write === undefined) {
    const type = isObject(event) ? event.type : undefined;
    throw invalid("unknown-event", "Only AG-UI's 31 events have a form in protobuf.", { type });
  }
  write(writer, event as JsonObject);
}
