/** What each rule of a valid stream says, in a sentence for whoever writes the agent. */
import { ADVICE, RULES } from "heddle/stream";
import { REPAIRS } from "heddle/stream/repair";

type RuleName = keyof typeof RULES | keyof typeof ADVICE | keyof typeof REPAIRS;

const WORDS: Readonly<Record<RuleName, string>> = {
  "first-event": "A stream begins with RUN_STARTED, or with RUN_ERROR.",
  "after-finish": "Nothing but another RUN_STARTED comes after RUN_FINISHED.",
  "after-error": "Nothing comes after RUN_ERROR.",
  "nested-run": "A run ends before the next one starts.",
  "run-id": "RUN_FINISHED names the run that RUN_STARTED began.",
  "thread-id": "RUN_FINISHED names the thread that RUN_STARTED named.",
  "second-thread": "All runs of a stream are in one thread.",
  truncated: "A stream ends with RUN_FINISHED or RUN_ERROR.",
  "already-open": "A message or tool call is started once before it is ended.",
  "not-open": "Content and ends belong to something that was started.",
  "open-at-finish": "Every message, tool call and step is ended before RUN_FINISHED.",
  "step-already-open": "A step is started once before it is finished.",
  "step-not-open": "STEP_FINISHED belongs to a step that was started.",
  "owner-mismatch": "What a subagent began is continued and ended by the same subagent.",
  "call-owner": "A tool call belongs to whoever its message belongs to.",
  "subagent-active": "A subagent is started before it says anything, and ended once.",
  "subagent-reused": "Each subagent has an id of its own.",
  "subagent-parent": "The parent of a subagent is active when it starts.",
  "subagent-not-active": "A subagent that has ended says nothing more.",
  "interrupt-ids": "Each question of a run has an id of its own.",
  "chunk-first": "The first chunk of a message or tool call names it.",
  "chunk-conflict": "A chunk does not contradict the message that it continues.",
  "chunk-ambiguous": "A chunk without an id belongs to exactly one open message.",
  "chunk-unexpanded": "Chunks are written as start, content and end first.",
  "result-orphan": "A tool result belongs to a call that was made.",
  "result-duplicate": "A tool call has one result.",
  "pending-calls": "RUN_FINISHED lists the calls that are left to the client.",
  "version-newer": "The agent speaks a newer version of AG-UI than this server.",
  "version-unreadable": "The protocol version is a version number.",
  "patch-unappliable": "A change of the state fits the state as it is.",
  "activity-missing": "A change of an activity belongs to one that was shown.",
  "activity-content": "The content of an activity is an object.",
  "id-taken": "Each message has an id of its own.",
};

const CLAUSES: Readonly<Record<string, string>> = { ...RULES, ...ADVICE, ...REPAIRS };

/** What a rule says; undefined for a name that is none of ours. */
export const ruleWords = (rule: string): string | undefined => new Map<string, string>(Object.entries(WORDS)).get(rule);

/** The clause of AG-UI that a rule comes from. */
export const ruleClause = (rule: string): string | undefined => new Map(Object.entries(CLAUSES)).get(rule);
