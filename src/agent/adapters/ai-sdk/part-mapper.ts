/**
 * The parts of the AI SDK's full stream as events, one part at a time.
 *
 * The SDK repeats its ids in every step, so messages get ids of ours. Whatever a provider wants back unchanged (its
 * metadata on text, reasoning and calls) is sealed as an encrypted value. An item opens with its first text: providers
 * open blocks that stay empty. A call belongs to the text before it in the same step, unless reasoning stands between
 * them, so that the order survives the way through messages.
 */
import type { Citation, GeneratedFile, ProviderMetadata, TextStreamPart, ToolSet, UserModelMessage } from "ai";
import type { Event, Interrupt, ResumeEntry } from "../../../protocol/index.ts";
import { modelUsage } from "../../index.ts";
import { mintId } from "../../mint-id.ts";
import { seal } from "../provider/opaque.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { errorText } from "./ai-sdk-error.ts";
import { CallMapper } from "./call-mapper.ts";
import { ISSUER } from "./issuer.ts";
import { tokenUsage } from "./token-usage.ts";

/** A part of the SDK's stream. */
export type Part = TextStreamPart<ToolSet>;

/** A block of text or reasoning that is being written. */
interface Block {
  readonly messageId: string;
  opened: boolean;
  /** The newest metadata; the SDK keeps only that, too. */
  metadata: ProviderMetadata | undefined;
}

const NONE: readonly Event[] = Object.freeze([]);

/** Turns parts into events; holds what one stream has opened. */
export class PartMapper {
  readonly #warn: OnWarning;
  readonly #texts = new Map<string, Block>();
  readonly #thoughts = new Map<string, Block>();
  readonly #calls: CallMapper;
  #steps = 0;
  #stepOpen = false;

  constructor(resume: readonly ResumeEntry[], warn: OnWarning) {
    this.#warn = warn;
    this.#calls = new CallMapper(resume, warn);
  }

  /** Questions that are open, in the order in which they were asked. */
  get interrupts(): readonly Interrupt[] {
    return this.#calls.interrupts;
  }

  /** Whether a block is open: a stream that ends now was cut. */
  get isOpen(): boolean {
    return this.#texts.size > 0 || this.#thoughts.size > 0;
  }

  /** The events of one part. */
  push(part: Part): readonly Event[] {
    switch (part.type) {
      case "text-delta":
        return this.#text(part.id, part.text, part.providerMetadata);
      case "reasoning-delta":
        return this.#think(part.id, part.text, part.providerMetadata);
      case "tool-input-delta":
        return this.#calls.delta(part.id, part.delta);
      case "text-start":
        return this.#startText(part.id, part.providerMetadata);
      case "text-end":
        return this.#endText(part.id, part.providerMetadata, part.citations);
      case "reasoning-start":
        return this.#startThought(part.id, part.providerMetadata);
      case "reasoning-end":
        return this.#endThought(part.id, part.providerMetadata);
      case "start-step":
        for (const warning of part.warnings) this.#warn(`The provider warns: ${JSON.stringify(warning)}`);
        return [...this.#endStep(), ...this.#startStep()];
      case "finish-step":
        return [...this.#endStep(), ...tokenUsage(part.usage, part.response.modelId).map(modelUsage)];
      case "source":
      case "file":
      case "reasoning-file":
      case "custom":
      case "raw":
      case "steering-message":
        return this.#beside(part);
      case "start":
      case "finish":
      case "ping":
      case "abort":
      case "error":
        return NONE;
      default:
        return this.#ofCall(part);
    }
  }

  /** What closes the items that are still open. */
  end(): readonly Event[] {
    return this.#endStep();
  }

  #ofCall(part: Extract<Part, { readonly type: `tool-${string}` }>): readonly Event[] {
    switch (part.type) {
      case "tool-input-start":
        return this.#calls.start(part);
      case "tool-input-end":
      case "tool-input-delta":
        return NONE;
      case "tool-call":
        return this.#calls.call(part);
      case "tool-result":
        return this.#calls.result(part);
      case "tool-error":
        return this.#calls.fail(part.toolCallId, errorText(part.error));
      case "tool-output-denied":
        return this.#calls.deny(part.toolCallId);
      case "tool-approval-request":
        return this.#calls.ask(part);
      case "tool-approval-response":
        return this.#calls.answer(part);
      default:
        return this.#unknown(part);
    }
  }

  #startText(id: string, metadata: ProviderMetadata | undefined): readonly Event[] {
    const before = this.#endText(id);
    this.#texts.set(id, newBlock("msg", metadata));
    return before;
  }

  #text(id: string, delta: string, metadata: ProviderMetadata | undefined): readonly Event[] {
    const block = this.#texts.get(id) ?? newBlock("msg", undefined);
    block.metadata = metadata ?? block.metadata;
    if (delta === "") return NONE;
    const { messageId } = block;
    const content: Event = { type: "TEXT_MESSAGE_CONTENT", messageId, delta };
    return block.opened ? [content] : [...this.#openText(id, block), content];
  }

  #openText(id: string, block: Block): readonly Event[] {
    block.opened = true;
    this.#texts.set(id, block);
    this.#calls.parentId = block.messageId;
    return [{ type: "TEXT_MESSAGE_START", messageId: block.messageId, role: "assistant" }];
  }

  #endText(id: string, metadata?: ProviderMetadata, citations?: readonly Citation[]): readonly Event[] {
    const block = this.#texts.get(id);
    if (block === undefined) return NONE;
    const sealed = metadata ?? block.metadata;
    const events = block.opened || sealed === undefined ? [] : [...this.#openText(id, block)];
    this.#texts.delete(id);
    if (!block.opened) return NONE;
    const { messageId } = block;
    const cited = citations === undefined ? {} : { metadata: { [ISSUER]: { citations } } };
    events.push({ type: "TEXT_MESSAGE_END", messageId, ...cited });
    if (sealed !== undefined) events.push(sealedMessage(messageId, "text", sealed));
    return events;
  }

  #startThought(id: string, metadata: ProviderMetadata | undefined): readonly Event[] {
    const before = this.#endThought(id);
    this.#thoughts.set(id, newBlock("rsn", metadata));
    this.#calls.parentId = undefined;
    return before;
  }

  #think(id: string, delta: string, metadata: ProviderMetadata | undefined): readonly Event[] {
    const block = this.#thoughts.get(id) ?? newBlock("rsn", undefined);
    block.metadata = metadata ?? block.metadata;
    if (delta === "") return NONE;
    const content: Event = { type: "REASONING_MESSAGE_CONTENT", messageId: block.messageId, delta };
    return block.opened ? [content] : [...this.#openThought(id, block), content];
  }

  #openThought(id: string, block: Block): readonly Event[] {
    block.opened = true;
    this.#thoughts.set(id, block);
    const { messageId } = block;
    return [
      { type: "REASONING_START", messageId },
      { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
    ];
  }

  #endThought(id: string, metadata?: ProviderMetadata): readonly Event[] {
    const block = this.#thoughts.get(id);
    if (block === undefined) return NONE;
    const sealed = metadata ?? block.metadata;
    const events = block.opened || sealed === undefined ? [] : [...this.#openThought(id, block)];
    this.#thoughts.delete(id);
    if (!block.opened) return NONE;
    const { messageId } = block;
    events.push({ type: "REASONING_MESSAGE_END", messageId });
    if (sealed !== undefined) events.push(sealedMessage(messageId, "reasoning", sealed));
    events.push({ type: "REASONING_END", messageId });
    return events;
  }

  #startStep(): readonly Event[] {
    this.#stepOpen = true;
    this.#calls.parentId = undefined;
    return [{ type: "STEP_STARTED", stepName: `step-${++this.#steps}` }];
  }

  #endStep(): readonly Event[] {
    const events = [
      ...[...this.#thoughts.keys()].flatMap((id) => this.#endThought(id)),
      ...[...this.#texts.keys()].flatMap((id) => this.#endText(id)),
      ...this.#calls.close(),
    ];
    if (this.#stepOpen) events.push({ type: "STEP_FINISHED", stepName: `step-${this.#steps}` });
    this.#stepOpen = false;
    return events;
  }

  /** What is no message of AG-UI's: shown beside the conversation, and kept with it where it is worth keeping. */
  #beside(
    part: Extract<
      Part,
      { readonly type: "source" | "file" | "reasoning-file" | "custom" | "raw" | "steering-message" }
    >,
  ): readonly Event[] {
    switch (part.type) {
      case "source": {
        const { type: _, ...source } = part;
        return [activity("source", { ...source })];
      }
      case "file":
      case "reasoning-file":
        return [activity(part.type, fileContent(part.file))];
      case "custom": {
        const { kind, providerMetadata } = part;
        return [
          { type: "CUSTOM", name: `${ISSUER}.${kind}`, value: { kind, ...(providerMetadata && { providerMetadata }) } },
        ];
      }
      case "raw":
        return [{ type: "RAW", event: part.rawValue, source: ISSUER }];
      case "steering-message":
        return this.#steering(part.message);
    }
  }

  /** A message of the person's that the SDK took in while the run was going on. */
  #steering({ content }: UserModelMessage): readonly Event[] {
    const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const delta = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const dropped = parts.filter(({ type }) => type !== "text").length;
    if (dropped > 0) this.#warn(`Dropped ${dropped} files of a steering message: only its text can be shown.`);
    const messageId = mintId("msg");
    return [
      { type: "TEXT_MESSAGE_START", messageId, role: "user" },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
      { type: "TEXT_MESSAGE_END", messageId },
    ];
  }

  #unknown(part: { readonly type?: unknown }): readonly Event[] {
    const message = `Dropped a part of the AI SDK's stream: this version does not know ${JSON.stringify(part.type)}.`;
    this.#warn(message);
    return NONE;
  }
}

const newBlock = (prefix: string, metadata: ProviderMetadata | undefined): Block => ({
  messageId: mintId(prefix),
  opened: false,
  metadata,
});

const sealedMessage = (entityId: string, type: string, providerMetadata: ProviderMetadata): Event => ({
  type: "REASONING_ENCRYPTED_VALUE",
  subtype: "message",
  entityId,
  ...seal(ISSUER, { type, providerMetadata }),
});

const activity = (kind: string, content: Readonly<Record<string, unknown>>): Event => ({
  type: "ACTIVITY_SNAPSHOT",
  messageId: mintId("act"),
  activityType: `${ISSUER}.${kind}`,
  content,
});

const fileContent = ({ mediaType, base64 }: GeneratedFile): Readonly<Record<string, unknown>> => ({
  source: { type: "data", value: base64, mimeType: mediaType },
});
