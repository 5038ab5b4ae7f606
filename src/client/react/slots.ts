/**
 * What messages are shown with: components of yours in place of ours, each by what it shows. What is not given is plain HTML
 * without any style.
 */
import { createContext } from "react";
import type { ComponentType } from "react";
import type { ActivityMessage, Message, ReasoningMessage, ToolCall, ToolMessage } from "../../protocol/index.ts";

/** A text of a message. */
export interface TextProps {
  /** The text so far. */
  readonly text: string;
  /** The message. */
  readonly message: Message;
}

/** A call and what came of it. */
export interface ToolCallProps {
  /** The call, with its arguments so far. */
  readonly call: ToolCall;
  /** Its result, where there is one. */
  readonly result: ToolMessage | undefined;
}

/** Reasoning. */
export interface ReasoningProps {
  /** The message. */
  readonly message: ReasoningMessage;
}

/** An activity. */
export interface ActivityProps {
  /** The message. */
  readonly message: ActivityMessage;
}

/** A whole message. */
export interface MessageSlotProps {
  /** The message. */
  readonly message: Message;
}

/** Components in place of ours. */
export interface MessageComponents {
  /** Whole messages, by role. */
  readonly roles?: { readonly [role in Message["role"]]?: ComponentType<MessageSlotProps> };
  /** Texts: for Markdown, say. */
  readonly Text?: ComponentType<TextProps>;
  /** Calls. */
  readonly ToolCall?: ComponentType<ToolCallProps>;
  /** Calls of some tools, by the name of the tool. */
  readonly tools?: Readonly<Record<string, ComponentType<ToolCallProps>>>;
  /** Reasoning. */
  readonly Reasoning?: ComponentType<ReasoningProps>;
  /** Activities. */
  readonly Activity?: ComponentType<ActivityProps>;
  /** Activities of some types, by the type. */
  readonly activities?: Readonly<Record<string, ComponentType<ActivityProps>>>;
  /** What stands below a message: buttons, the choice of a branch. */
  readonly Footer?: ComponentType<MessageSlotProps>;
}

/** The components in place of ours, for the messages below. */
export const SlotContext = createContext<MessageComponents>({});
