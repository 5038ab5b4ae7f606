/**
 * What the log holds of a run of the agent `scripted`, against what that agent says: a whole run is all of its script, one
 * that was lost a beginning of it and what closes that; each valid, with one terminal event.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Event } from "heddle/protocol";
import { closingEvents } from "heddle/store";
import { createVerifyState, verify, verifyEnd } from "heddle/stream";
import { scriptOf } from "./store-children/run-script.ts";
import type { ScriptKey } from "./store-children/run-script.ts";

/** What became of a run, by the events of it that are in the log. Throws where they are not as they have to be. */
export function judgeScripted(key: ScriptKey, logged: readonly Event[]): "whole" | "cut" {
  const name = `${key.threadId} ${key.runId}`;
  const verifying = createVerifyState();
  for (const event of logged) verify(verifying, event);
  verifyEnd(verifying);
  // What the agent says bears no time; what the server adds does: the beginning, the state of the branch, the end.
  const said = logged.filter(({ timestamp }) => timestamp === undefined);
  const script = scriptOf(key).slice(1, -1);
  deepStrictEqual(said, script.slice(0, said.length), `${name}: more or other than the agent said`);
  const end = logged.at(-1);
  if (end?.type === "RUN_ERROR" && end.code === "worker-lost") {
    const from = said.length === 0 ? logged.length - 1 : logged.findLastIndex((event) => event === said.at(-1)) + 1;
    const closers = closingEvents(logged.slice(0, from), "worker-lost", 0);
    deepStrictEqual(
      logged.slice(from).map((event) => ({ ...event, timestamp: 0 })),
      closers,
      `${name}: what closes it`,
    );
    return "cut";
  }
  strictEqual(said.length, script.length, `${name} ended before its end`);
  strictEqual(end?.type, scriptOf(key).at(-1)?.type, `${name}: end`);
  return "whole";
}
