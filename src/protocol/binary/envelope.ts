/**
 * The envelope: a oneof with one arm per event.
 *
 * The arm says which event it is, and `BaseEvent.type` has to agree. An envelope with nothing but arms that this build
 * does not know is an event of a later version: it is dropped with a warning (R-PROC-05). Anything else without an
 * event, the empty envelope included, is broken bytes.
 */
import { invalid } from "./failures.ts";
import type { JsonObject } from "./json-value.ts";
import { EVENTS } from "./layout.ts";
import { eventReader } from "./message-reader.ts";
import type { MessageReader } from "./message-reader.ts";
import { RESHAPES } from "./reshape.ts";
import type { WireReader } from "./wire-reader.ts";

interface Arm {
  readonly type: string;
  readonly number: number;
  readonly read: MessageReader;
  readonly fromWire: ((wire: JsonObject) => JsonObject) | undefined;
}

const ARMS: readonly (Arm | undefined)[] = armTable();

function armTable(): readonly (Arm | undefined)[] {
  const layouts = Object.entries(EVENTS);
  return Array.from({ length: layouts.length + 1 }, (_, armNumber) => {
    const entry = layouts.find(([, { arm }]) => arm === armNumber);
    if (entry === undefined) return undefined;
    const [type, { number, fields }] = entry;
    return { type, number, read: eventReader(fields), fromWire: RESHAPES[type]?.fromWire };
  });
}

/** Reads the envelope that ends at `end`; undefined is an event of a later version. */
export function readEvent(wire: WireReader, end: number): JsonObject | undefined {
  const start = wire.values.pos;
  let arm: Arm | undefined;
  let event: JsonObject | undefined;
  wire.baseType = undefined;
  while (wire.values.pos < end) {
    const tag = wire.tag();
    const known = ARMS[tag >>> 3];
    if (known === undefined) {
      wire.skip(tag);
      continue;
    }
    if ((tag & 7) !== 2) throw invalid("malformed", `The envelope holds ${known.type} in a form that is no message.`);
    if (arm !== undefined && arm !== known) {
      throw invalid("conflicting-arms", `The envelope holds ${arm.type} and ${known.type} at once.`);
    }
    arm = known;
    event = known.read(wire, wire.end(end), event ?? { type: known.type });
  }
  wire.close(end);
  if (arm === undefined || event === undefined) return laterEvent(wire, start, end);
  if (wire.baseType !== arm.number) {
    throw invalid("type-mismatch", `The envelope says ${arm.type}, its base event says otherwise.`, {
      type: arm.type,
      baseType: wire.baseType,
    });
  }
  return arm.fromWire === undefined ? event : arm.fromWire(event);
}

/** Tells an event of a later version from broken bytes: every unknown arm has to be a well-formed message. */
function laterEvent(wire: WireReader, start: number, end: number): undefined {
  let arms = 0;
  wire.values.pos = start;
  while (wire.values.pos < end) {
    const tag = wire.tag();
    if ((tag & 7) !== 2) wire.skip(tag);
    else {
      arms++;
      const armEnd = wire.end(end);
      while (wire.values.pos < armEnd) wire.skip(wire.tag());
      wire.close(armEnd);
    }
  }
  if (arms === 0) throw invalid("no-event", "The envelope holds no event.");
  wire.warn?.({
    code: "unknown-event",
    path: "",
    message: "Dropped an event: its type is newer than this build.",
  });
  return undefined;
}
