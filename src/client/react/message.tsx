/**
 * One message, which renders again when this message is another, and never for a token of another one. A result is shown with
 * its call, and not by itself.
 */
import { memo, useContext, useSyncExternalStore } from "react";
import type { ComponentType, ReactElement } from "react";
import type { Message as AnyMessage, ToolCall as Call } from "../../protocol/index.ts";
import { Activity } from "./activity.tsx";
import { Reasoning } from "./reasoning.tsx";
import { SlotContext } from "./slots.ts";
import type { MessageSlotProps, TextProps, ToolCallProps } from "./slots.ts";
import { textOf } from "./text-of.ts";
import { useModel } from "./thread-context.ts";
import { ToolCall } from "./tool-call.tsx";

/** Which message. */
export interface MessageProps {
  /** Its id. */
  readonly id: string;
  /** Its place in the list, where it is known: then it is not searched for. */
  readonly place?: number;
}

/** A message of the thread around. */
export const Message: ComponentType<MessageProps> = memo(function Message({ id, place = 0 }: MessageProps) {
  const message = useMessage(id, place);
  const { roles = {}, Footer } = useContext(SlotContext);
  if (message === undefined) return null;
  const Slot = roles[message.role] ?? BODIES[message.role];
  if (Slot === undefined) return null;
  return (
    <article data-part="message" data-role={message.role} data-message={id} aria-label={message.role}>
      <Slot message={message} />
      {Footer !== undefined && <Footer message={message} />}
    </article>
  );
});

/** A message of the thread around, by its id. Renders again when it is another. */
export function useMessage(id: string, place = 0): AnyMessage | undefined {
  const { model } = useModel();
  return useSyncExternalStore(
    model.subscribe,
    () => model.message(id, place),
    () => undefined,
  );
}

function Said({ message }: MessageSlotProps): ReactElement {
  const { Text = PlainText } = useContext(SlotContext);
  const text = textOf(message.content);
  const calls = message.role === "assistant" ? message.toolCalls : undefined;
  return (
    <>
      {text !== "" && <Text text={text} message={message} />}
      {calls?.map((call) => (
        <CallSlot key={call.id} call={call} />
      ))}
    </>
  );
}

const PlainText = ({ text }: TextProps): ReactElement => <p style={{ whiteSpace: "pre-wrap" }}>{text}</p>;

const CallSlot = memo(function CallSlot({ call }: { readonly call: Call }): ReactElement {
  const { tools = {}, ToolCall: Default = ToolCall } = useContext(SlotContext);
  const { model } = useModel();
  const found = useSyncExternalStore(
    model.subscribe,
    () => model.resultOf(call.id),
    () => undefined,
  );
  const result = found?.role === "tool" ? found : undefined;
  const Slot: ComponentType<ToolCallProps> = tools[call.function.name] ?? Default;
  return <Slot call={call} result={result} />;
});

function ReasoningSlot({ message }: MessageSlotProps): ReactElement | null {
  const { Reasoning: Slot = Reasoning } = useContext(SlotContext);
  return message.role === "reasoning" ? <Slot message={message} /> : null;
}

function ActivitySlot({ message }: MessageSlotProps): ReactElement | null {
  const { activities = {}, Activity: Default = Activity } = useContext(SlotContext);
  if (message.role !== "activity") return null;
  const Slot = activities[message.activityType] ?? Default;
  return <Slot message={message} />;
}

/** What is shown of each role; instructions and results are not. */
const BODIES: { readonly [role in AnyMessage["role"]]?: ComponentType<MessageSlotProps> } = {
  user: Said,
  assistant: Said,
  reasoning: ReasoningSlot,
  activity: ActivitySlot,
};
