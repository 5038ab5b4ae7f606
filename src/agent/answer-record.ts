/**
 * Answers that an agent may need again.
 *
 * A resume brings the answers to the newest questions only. An agent that asks, goes on and asks once more is replayed
 * with the second answer, and would ask its first question again. So a run that used answers and ends with questions
 * leaves a record of them: a developer message, which clients keep and send back, with the answers in its metadata.
 * It counts only in the run that answers those questions: not after a new user message, and not without a resume.
 */
import { METADATA_KEY, textMessageContent, textMessageEnd, textMessageStart } from "../protocol/index.ts";
import type { Event, Interrupt, Message, ResumeEntry, RunAgentInput } from "../protocol/index.ts";
import { mintId } from "./mint-id.ts";

/** The events that leave a record; none where no answer was used. */
export function recordOf(used: readonly ResumeEntry[], open: readonly Interrupt[]): readonly Event[] {
  if (used.length === 0) return [];
  const messageId = mintId("msg");
  const timestamp = Date.now();
  const metadata = { [METADATA_KEY]: { answers: used, asked: open.map(({ id }) => id) } };
  const delta = `Questions answered so far: ${used.map(({ interruptId }) => interruptId).join(", ")}.`;
  return [
    textMessageStart({ messageId, role: "developer", timestamp, metadata }),
    textMessageContent({ messageId, delta, timestamp }),
    textMessageEnd({ messageId, timestamp }),
  ];
}

/** Whether a message is such a record: not for models, and not for people. */
export const isAnswerRecord = (message: Message): boolean => readRecord(message) !== undefined;

/** Answers of earlier runs that the run of this input goes on from. */
export function recordedAnswers({ messages, resume = [] }: RunAgentInput): readonly ResumeEntry[] {
  const index = messages.findLastIndex((message) => message.role === "user" || isAnswerRecord(message));
  const newest = messages[index];
  const record = newest === undefined ? undefined : readRecord(newest);
  if (record === undefined || resume.length === 0) return [];
  return resume.every(({ interruptId }) => record.asked.includes(interruptId)) ? record.answers : [];
}

function readRecord(message: Message): { answers: readonly ResumeEntry[]; asked: readonly unknown[] } | undefined {
  if (message.role !== "developer") return undefined;
  const own: unknown = message.metadata?.[METADATA_KEY];
  if (typeof own !== "object" || own === null) return undefined;
  const answers: unknown = Reflect.get(own, "answers");
  const asked: unknown = Reflect.get(own, "asked");
  return Array.isArray(answers) && Array.isArray(asked) ? { answers: answers.filter(isEntry), asked } : undefined;
}

const isEntry = (value: unknown): value is ResumeEntry =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, "interruptId") === "string" &&
  ["resolved", "cancelled"].includes(Reflect.get(value, "status"));
