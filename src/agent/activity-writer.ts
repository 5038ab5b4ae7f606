/** Activities: messages for people's eyes only, shown at once and changed by small patches. */
import { HeddleError, activityDelta, activitySnapshot } from "../protocol/index.ts";
import type { JsonPatch } from "../protocol/index.ts";
import { changeByPatch, changeByRecipe } from "./document-change.ts";
import type { DocumentChange, Recipe } from "./document-change.ts";
import { mintId } from "./mint-id.ts";
import type { Scope } from "./scope.ts";

/** What an activity shows. */
export type ActivityContent = Readonly<Record<string, unknown>>;

/** What an activity may be told beforehand. */
export interface ActivityOptions {
  /** Id of its message. Default: a new one. */
  readonly id?: string;
}

/** Shows one activity, and changes it. */
export interface ActivityWriter<T extends ActivityContent = ActivityContent> {
  /** Id of the message. */
  readonly id: string;
  /** Shows something else in its place. */
  set(content: T): Promise<void>;
  /** Changes it by operations of JSON Patch, all or none. */
  patch(operations: JsonPatch): Promise<void>;
  /** Changes it as the recipe changes a draft of it; only the difference is sent. */
  update(recipe: Recipe<T>): Promise<void>;
}

/** A writer of one activity, which is shown at once. */
export function createActivityWriter<T extends ActivityContent>(
  scope: Scope,
  activityType: string,
  content: T,
  { id: messageId = mintId("act") }: ActivityOptions,
): ActivityWriter<T> {
  const { channel } = scope.run;

  function show(shown: ActivityContent): Promise<void> {
    // The event outlives the call: what the author changes later must not change it.
    const { content: checked, ...event } = activitySnapshot({
      messageId,
      activityType,
      content: shown,
      ...scope.stamp(),
    });
    return scope.ended ? scope.refusal() : channel.send({ ...event, content: structuredClone(checked) });
  }

  function change(make: (before: unknown) => DocumentChange): Promise<void> {
    if (scope.ended) return scope.refusal();
    if (!channel.accepts) return channel.room();
    const { after, patch } = make(channel.activity(messageId));
    if (!isObject(after)) {
      const problem = { path: "", expected: "an object", received: "something else" };
      throw new HeddleError("event-invalid", "An activity's content has to stay an object.", problem);
    }
    if (patch.length === 0) return channel.room();
    return channel.send(activityDelta({ messageId, activityType, patch, ...scope.stamp() }));
  }

  void show(content);
  return {
    id: messageId,
    set: show,
    patch: (operations) => change((before) => changeByPatch(before, operations)),
    update: (recipe) => change((before) => changeByRecipe(before, recipe)),
  };
}

const isObject = (value: unknown): value is ActivityContent =>
  typeof value === "object" && value !== null && !Array.isArray(value);
