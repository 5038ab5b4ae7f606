/** What a question of a run asks for: a decision about a tool call, or an answer of any form. */
import type { Interrupt, Message } from "heddle/protocol";
import { fieldsOf, membersOf, readDraft } from "./schema-form.ts";
import type { Draft, FormField, Read } from "./schema-form.ts";

/** What is asked. */
export interface QuestionForm {
  /** Whether it is about letting something happen, yes or no. */
  readonly isApproval: boolean;
  /** The arguments that can be changed before they are approved. */
  readonly argumentFields: readonly FormField[];
  /** Everything else that is asked for. */
  readonly fields: readonly FormField[];
  /** The arguments as the agent wrote them. */
  readonly args: unknown;
}

/** Reads a question. */
export function questionOf(interrupt: Interrupt, messages: readonly Message[]): QuestionForm {
  const { responseSchema, toolCallId } = interrupt;
  const { properties } = membersOf(responseSchema);
  const { approved, editedArgs, ...others } = membersOf(properties);
  const args = toolCallId === undefined ? undefined : argumentsOf(toolCallId, messages);
  if (membersOf(approved)["type"] !== "boolean") {
    return { isApproval: false, argumentFields: [], fields: fieldsOf(responseSchema ?? {}), args };
  }
  const required = membersOf(responseSchema)["required"];
  const hasOthers = Object.keys(others).length > 0;
  return {
    isApproval: true,
    argumentFields: editedArgs === undefined ? [] : fieldsOf(editedArgs, args, responseSchema),
    fields: hasOthers ? fieldsOf({ properties: others, required }, undefined, responseSchema) : [],
    args,
  };
}

/** The arguments of a call; undefined where they are no JSON. */
function argumentsOf(toolCallId: string, messages: readonly Message[]): unknown {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  try {
    return JSON.parse(calls.findLast(({ id }) => id === toolCallId)?.function.arguments || "{}");
  } catch {
    return undefined;
  }
}

/**
 * The arguments as they are wanted. What was not touched stays as the agent wrote it, known to the form or not; what was emptied
 * is left out. Where the agent's cannot be read, all of it is what is written.
 */
export function editedArgsOf(fields: readonly FormField[], draft: Draft, args: unknown): Read {
  if (args === undefined) return readDraft(fields, draft);
  const touched = fields.filter(({ name, initial }) => draft[name] !== initial);
  if (touched.length === 0) return { value: args };
  const read = readDraft(touched, draft);
  if (read.problems !== undefined || touched[0]?.name === "" || !isObject(args)) return read;
  const names = new Set(touched.map(({ name }) => name));
  const kept = Object.entries(args).filter(([name]) => !names.has(name));
  return { value: { ...Object.fromEntries(kept), ...Object(read.value) } };
}

/** The answer that approves: arguments go with it only where they were changed, and then as a whole. */
export function approvalOf(args: unknown, edited: unknown, others: unknown): object {
  const isSame = edited === undefined || JSON.stringify(edited) === JSON.stringify(args);
  return { ...Object(others), approved: true, ...(!isSame && { editedArgs: edited }) };
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
