/**
 * What an activity shows, read off its form: a checklist, how far something is, a surface of components. Agents name such things
 * differently; what is not recognised is left for a plain view of names and values.
 */
import { readSurfaces, readTree } from "./surfaces.ts";
import type { UiNode } from "./surfaces.ts";
import { membersOf, wordOf } from "./schema-form.ts";

/** A line of a checklist. */
export interface ChecklistItem {
  readonly title: string;
  readonly status: "done" | "active" | "open" | "failed";
  readonly note: string | undefined;
}

/** What an activity shows. */
export interface ActivityShape {
  readonly title: string | undefined;
  readonly items: readonly ChecklistItem[];
  readonly progress: { readonly done: number; readonly total: number } | undefined;
  readonly surfaces: readonly UiNode[];
  /** What is none of these. */
  readonly rest: Readonly<Record<string, unknown>>;
}

const LISTS = ["steps", "todos", "tasks", "items", "plan", "checklist"];
const NAMES = ["title", "description", "text", "name", "label", "content", "task", "step"];
const NOTES = ["note", "detail", "details", "result", "activeForm"];
const RATIOS: readonly (readonly [string, string])[] = [
  ["done", "total"],
  ["completed", "total"],
  ["current", "total"],
  ["part", "of"],
  ["step", "steps"],
  ["value", "max"],
];

/** Reads an activity. */
export function activityOf(activityType: string, content: unknown): ActivityShape {
  const members = membersOf(content);
  const used = new Set<string>();
  const take = (name: string | undefined): unknown => {
    if (name === undefined) return undefined;
    used.add(name);
    return members[name];
  };
  const surfaces = /^a2ui/i.test(activityType) || looksLikeA2ui(members) ? readSurfaces(content) : treeOf(content);
  if (surfaces.length > 0) return { title: undefined, items: [], progress: undefined, surfaces, rest: {} };
  const list = LISTS.find((name) => itemsIn(members[name]) !== undefined);
  const items = itemsIn(take(list)) ?? [];
  const progress = progressIn(members, take);
  const title = textIn(members, ["title", "name", "label"], take);
  const rest = Object.fromEntries(Object.entries(members).filter(([name]) => !used.has(name)));
  return { title, items, progress, surfaces: [], rest };
}

const looksLikeA2ui = (members: Readonly<Record<string, unknown>>): boolean =>
  ["a2ui_operations", "surfaceUpdate", "updateComponents", "beginRendering", "createSurface"].some(
    (name) => members[name] !== undefined,
  );

function treeOf(content: unknown): readonly UiNode[] {
  const tree = readTree(content);
  return tree === undefined ? [] : [tree];
}

function textIn(
  members: Readonly<Record<string, unknown>>,
  names: readonly string[],
  take: (name: string) => unknown = (name) => members[name],
): string | undefined {
  const name = names.find((each) => typeof members[each] === "string" && members[each] !== "");
  return name === undefined ? undefined : String(take(name));
}

function progressIn(
  members: Readonly<Record<string, unknown>>,
  take: (name: string) => unknown,
): ActivityShape["progress"] {
  const pair = RATIOS.find(([done, total]) => isNumber(members[done]) && isNumber(members[total]));
  if (pair !== undefined) return { done: Number(take(pair[0])), total: Number(take(pair[1])) };
  const share = ["progress", "percent", "percentage"].find((name) => isNumber(members[name]));
  if (share === undefined) return undefined;
  const value = Number(take(share));
  return { done: value, total: share === "progress" && value <= 1 ? 1 : 100 };
}

const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);

function itemsIn(value: unknown): readonly ChecklistItem[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const items = value.map(itemOf);
  return items.every((item) => item !== undefined) ? items : undefined;
}

function itemOf(value: unknown): ChecklistItem | undefined {
  if (typeof value === "string") return { title: value, status: "open", note: undefined };
  const members = membersOf(value);
  const title = textIn(members, NAMES);
  return title === undefined ? undefined : { title, status: statusOf(members), note: textIn(members, NOTES) };
}

function statusOf({
  done,
  completed,
  checked,
  status,
  state,
}: Readonly<Record<string, unknown>>): ChecklistItem["status"] {
  if (done === true || completed === true || checked === true) return "done";
  const word = wordOf(status ?? state).toLowerCase();
  if (/^(done|complete|completed|finished|success|ok)$/.test(word)) return "done";
  if (/^(in[_ -]?progress|active|running|executing|doing|current|working)$/.test(word)) return "active";
  return /^(failed|error|cancelled|canceled|skipped)$/.test(word) ? "failed" : "open";
}
