/**
 * Tools that whoever sits here offers to agents, and executes by hand. They go with every run of theirs in this tab. A call to
 * one waits here until its card is answered; the client posts the result.
 */
import { useSyncExternalStore } from "react";
import type { PendingToolCall } from "heddle/client";
import { keptForTab } from "../../kept.ts";
import { person } from "../../server/person.ts";

/** A tool that is offered. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

const keyOf = (who: string): string => `heddle-offered-tools${who}`;
const listeners = new Set<() => void>();
const waiting = new Map<
  string,
  { readonly resolve: (value: string) => void; readonly reject: (error: Error) => void }
>();

const isTool = (value: unknown): value is OfferedTool =>
  typeof Object(value).name === "string" && typeof Object(value).description === "string";

function kept(who: string): readonly OfferedTool[] {
  try {
    const list: unknown = JSON.parse(keptForTab.get(keyOf(who)) ?? "[]");
    return Array.isArray(list) ? list.filter(isTool) : [];
  } catch {
    return [];
  }
}

let offered: { readonly who: string; readonly tools: readonly OfferedTool[] } | undefined;

function current(): readonly OfferedTool[] {
  const who = person();
  if (offered?.who !== who) offered = { who, tools: kept(who) };
  return offered.tools;
}

function change(tools: readonly OfferedTool[]): void {
  offered = { who: person(), tools };
  keptForTab.set(keyOf(offered.who), JSON.stringify(tools));
  for (const listener of listeners) listener();
}

/** Offers a tool, in place of another of its name. */
export const offerTool = (tool: OfferedTool): void =>
  change([...current().filter(({ name }) => name !== tool.name), tool]);

/** Takes a tool back. */
export const takeBackTool = (name: string): void => change(current().filter((tool) => tool.name !== name));

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** The tools that are offered, in a component. */
export const useOfferedTools = (): readonly OfferedTool[] => useSyncExternalStore(subscribe, current);

/** Executes a call: waits for whoever sits here. */
export function executeByHand({ toolCallId }: PendingToolCall): Promise<string> {
  const { promise, ...settle } = Promise.withResolvers<string>();
  waiting.set(toolCallId, settle);
  return promise;
}

/** What came of a call. */
export interface HandResult {
  readonly toolCallId: string;
  readonly content: string;
  readonly error?: string;
}

/** Gives results to calls that wait here; false where the client does not wait for them, and they have to be posted. */
export function settleByHand(results: readonly HandResult[]): boolean {
  if (!results.every(({ toolCallId }) => waiting.has(toolCallId))) return false;
  for (const { toolCallId, content, error } of results) {
    const settle = waiting.get(toolCallId);
    waiting.delete(toolCallId);
    if (error === undefined) settle?.resolve(content);
    else settle?.reject(new Error(error));
  }
  return true;
}

const NAME = /^[\w-]{1,64}$/;

/** Reads what was written about a tool: the tool, or why it is none. */
export function readTool(written: {
  readonly name: string;
  readonly description: string;
  readonly schema: string;
}): OfferedTool | { readonly problem: string } {
  const name = written.name.trim();
  if (!NAME.test(name)) return { problem: "A name has up to 64 letters, digits, _ and -, and no spaces." };
  if (written.description.trim() === "") return { problem: "Say what it does: the model decides by that." };
  try {
    const parameters: unknown = JSON.parse(written.schema.trim() === "" ? '{"type":"object"}' : written.schema);
    if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
      return { problem: 'The schema has to be a JSON object, such as {"type":"object"}.' };
    return { name, description: written.description.trim(), parameters: { ...parameters } };
  } catch {
    return { problem: "The schema is not JSON yet." };
  }
}
