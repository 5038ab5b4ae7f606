/**
 * Tool calls of the AI SDK: streamed or whole, static or dynamic, answered, failed, denied or asked about.
 *
 * A call ends with the SDK's `tool-call` part, not with the end of its streamed input, since only then is it known to be
 * whole. An approval is asked under the id of its call, and what the SDK needs to recognise it again is sealed on the
 * call: the next run gets both back with the messages, and nothing has to be remembered in between.
 */
import type {
  TextStreamPart,
  ToolApprovalRequestOutput,
  ToolApprovalResponseOutput,
  ToolSet,
  TypedToolCall,
  TypedToolResult,
} from "ai";
import { METADATA_KEY } from "../../../protocol/index.ts";
import type { Event, Interrupt, ResumeEntry } from "../../../protocol/index.ts";
import { mintId } from "../../mint-id.ts";
import { seal } from "../provider/opaque.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { ISSUER } from "./issuer.ts";
import { verdictOf } from "./verdict.ts";

/** A call whose input is being streamed. */
interface OpenCall {
  /** Whether the text that comes is JSON; other text is only known whole. */
  readonly isJson: boolean;
  text: string;
}

type ToolCallPart = TypedToolCall<ToolSet>;
type InputStart = Extract<TextStreamPart<ToolSet>, { readonly type: "tool-input-start" }>;

/** What the answer to an approval looks like. */
export const APPROVAL_SCHEMA = {
  type: "object",
  properties: {
    approved: { type: "boolean", description: "Whether the tool may be run." },
    reason: { type: "string", description: "Why, for the model." },
  },
  required: ["approved"],
} as const;

/** Turns the parts of tool calls into events. */
export class CallMapper {
  /** The message that the next calls belong to; made anew where there is none. */
  parentId: string | undefined;
  readonly #warn: OnWarning;
  readonly #open = new Map<string, OpenCall>();
  readonly #reasons = new Map<string, string | undefined>();
  readonly #interrupts = new Map<string, Interrupt>();

  /** Answers to the approvals of an earlier run: the SDK says that a call was denied, not why. */
  constructor(resume: readonly ResumeEntry[], warn: OnWarning) {
    this.#warn = warn;
    for (const entry of resume) this.#reasons.set(entry.interruptId, verdictOf(entry).reason);
  }

  /** Questions that are open. */
  get interrupts(): readonly Interrupt[] {
    return [...this.#interrupts.values()];
  }

  /** The input begins. */
  start({ id, toolName, inputEncoding }: InputStart): readonly Event[] {
    const before = this.#end(id);
    this.#open.set(id, { isJson: inputEncoding !== "text", text: "" });
    return [...before, this.#startOf(id, toolName)];
  }

  /** The input goes on. */
  delta(toolCallId: string, delta: string): readonly Event[] {
    const open = this.#open.get(toolCallId);
    if (open === undefined || delta === "" || !open.isJson) return [];
    open.text += delta;
    return [{ type: "TOOL_CALL_ARGS", toolCallId, delta }];
  }

  /** The call is whole. */
  call(part: ToolCallPart): readonly Event[] {
    const { toolCallId, toolName } = part;
    const open = this.#open.get(toolCallId);
    this.#open.delete(toolCallId);
    const delta = inputText(part);
    const events: Event[] = open === undefined ? [this.#startOf(toolCallId, toolName)] : [];
    if (open === undefined || open.text === "") events.push({ type: "TOOL_CALL_ARGS", toolCallId, delta });
    else if (part.invalid !== true && canonical(open.text) !== delta) {
      this.#warn(`The input of the call ${toolCallId} was changed after it had been streamed; the stream stands.`);
    }
    events.push({ type: "TOOL_CALL_END", toolCallId });
    if (part.providerMetadata !== undefined || part.providerExecuted === true) events.push(sealedCall(part));
    return events;
  }

  /** The call is answered; an answer that another one will replace is only shown. */
  result({ toolCallId, output, preliminary }: TypedToolResult<ToolSet>): readonly Event[] {
    if (preliminary === true) {
      const value = { toolCallId, output: output ?? null };
      return [{ type: "CUSTOM", name: `${ISSUER}.preliminary-tool-result`, value }];
    }
    this.#interrupts.delete(toolCallId);
    return [resultOf(toolCallId, textOf(output))];
  }

  /** The call failed. */
  fail(toolCallId: string, error: string): readonly Event[] {
    this.#interrupts.delete(toolCallId);
    return [{ ...resultOf(toolCallId, error), metadata: { [METADATA_KEY]: { error } } }];
  }

  /** The call was not allowed. */
  deny(toolCallId: string): readonly Event[] {
    const reason = this.#reasons.get(toolCallId);
    return this.fail(toolCallId, reason === undefined ? "The call was denied." : `The call was denied: ${reason}`);
  }

  /** Somebody has to allow the call. What the SDK decides by itself is no question. */
  ask(request: ToolApprovalRequestOutput<ToolSet>): readonly Event[] {
    if (request.isAutomatic === true) return [];
    const { approvalId, toolCall, reason, signature } = request;
    const { toolCallId, toolName } = toolCall;
    this.#interrupts.set(toolCallId, {
      id: toolCallId,
      reason: "tool_call",
      message: reason ?? `Run ${toolName}?`,
      toolCallId,
      responseSchema: APPROVAL_SCHEMA,
    });
    return [sealedCall(toolCall, { approvalId, ...(signature === undefined ? {} : { signature }) })];
  }

  /** Somebody, or a rule of the SDK's, has decided. */
  answer({ toolCall, reason }: ToolApprovalResponseOutput<ToolSet>): readonly Event[] {
    this.#reasons.set(toolCall.toolCallId, reason);
    return [];
  }

  /** What closes the calls whose input is still open. */
  close(): readonly Event[] {
    return [...this.#open.keys()].flatMap((id) => this.#end(id));
  }

  #end(toolCallId: string): readonly Event[] {
    return this.#open.delete(toolCallId) ? [{ type: "TOOL_CALL_END", toolCallId }] : [];
  }

  #startOf(toolCallId: string, toolCallName: string): Event {
    const parentMessageId = (this.parentId ??= mintId("msg"));
    return { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId };
  }
}

function sealedCall({ toolCallId, providerMetadata, providerExecuted }: ToolCallPart, approval?: object): Event {
  const block = {
    type: "tool-call",
    ...(providerMetadata && { providerMetadata }),
    ...(providerExecuted === true && { providerExecuted }),
    ...(approval && { approval }),
  };
  return { type: "REASONING_ENCRYPTED_VALUE", subtype: "tool-call", entityId: toolCallId, ...seal(ISSUER, block) };
}

const resultOf = (toolCallId: string, content: string): Extract<Event, { readonly type: "TOOL_CALL_RESULT" }> => ({
  type: "TOOL_CALL_RESULT",
  messageId: mintId("msg"),
  toolCallId,
  content,
  role: "tool",
});

/** An invalid call has the model's own text where its input should be. */
const inputText = ({ input, invalid }: ToolCallPart): string =>
  invalid === true && typeof input === "string" ? input : (JSON.stringify(input) ?? "{}");

const textOf = (output: unknown): string => (typeof output === "string" ? output : (JSON.stringify(output) ?? ""));

function canonical(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}
