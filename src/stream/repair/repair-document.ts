/**
 * Repairs of documents: the shared state and the contents of activities, whose deltas always apply when they leave here.
 *
 * A delta for an activity that nobody has shown yet becomes the snapshot that it should have been, where its patch makes
 * something of an empty object.
 */
import type { Event, JsonPatch, MessagesSnapshotEvent } from "../../protocol/index.ts";
import { endRenamed, rightlyOwned, rightlyTagged } from "./repair-item.ts";
import { repairPatch } from "./repair-patch.ts";
import { amend, emit, learn, report } from "./repair-state.ts";
import type { RepairStep } from "./repair-state.ts";

type EventOf<T extends Event["type"]> = Extract<Event, { readonly type: T }>;

/** Makes a delta of the state apply. */
export function repairStateDelta(step: RepairStep, event: EventOf<"STATE_DELTA">): void {
  const { state } = step;
  const { patch, value } = fitting(step, state.document === undefined ? {} : state.document, event.delta);
  // A delta that does nothing leaves the state unsaid, so that an input may still say it.
  if (patch.length > 0) state.document = value;
  if (patch === event.delta || patch.length > 0) emit(step, amend(rightlyTagged(step, event), { delta: patch }));
}

/** Makes a delta of an activity apply, or a snapshot of it. */
export function repairActivityDelta(step: RepairStep, event: EventOf<"ACTIVITY_DELTA">): void {
  const { activities, verified, ids } = step.state;
  const { messageId: id, patch: said, ...rest } = event;
  const held = activities.get(id);
  const { patch, value } = fitting(step, held ?? {}, said);
  if (!isRecord(value)) {
    report(step, "activity-content", `The activity ${id} would be no object: it is dropped.`);
  } else if (held !== undefined) {
    if (patch !== said && patch.length === 0) return;
    activities.set(id, value);
    emit(step, amend(rightlyOwned(step, event, verified.activityOwners, id), { patch }));
  } else if (patch.length === 0) {
    report(step, "activity-missing", `There is no activity ${id}: it is dropped.`);
  } else {
    report(step, "activity-missing", `There is no activity ${id}: it becomes a snapshot.`);
    activities.set(id, value);
    ids.add(id);
    emit(step, rightlyTagged(step, { ...rest, type: "ACTIVITY_SNAPSHOT", messageId: id, content: value }));
  }
}

function fitting(step: RepairStep, document: unknown, said: JsonPatch) {
  const { patch, value, faults } = repairPatch(document, said);
  for (const fault of faults) report(step, "patch-unappliable", fault);
  return { patch, value };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Takes in what an activity shows. */
export function repairActivitySnapshot(step: RepairStep, event: EventOf<"ACTIVITY_SNAPSHOT">): void {
  const { activities, ids } = step.state;
  const { messageId: id } = event;
  ids.add(id);
  if (event.replace !== false || !activities.has(id)) activities.set(id, event.content);
  emit(step, rightlyTagged(step, event));
}

/** Takes in messages that are restated. */
export function repairMessagesSnapshot(step: RepairStep, event: MessagesSnapshotEvent): void {
  endRenamed(step);
  if (event.messages.some(({ role }) => role === "activity")) step.state.activities.clear();
  learn(step.state, event.messages);
  emit(step, event);
}
