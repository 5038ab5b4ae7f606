/**
 * Run inputs in older and seed forms, turned into those of 1.0. Only named forms are translated; any other malformed
 * value stays for enforcement to refuse (R-VER-05).
 */
import type { Enforced } from "../enforce.ts";
import { normaliseMessage } from "./normalise-message.ts";
import { camelCaseKnown, dropNulls, notes, rewrite, rewriteList } from "./rewrite.ts";
import type { Note } from "./rewrite.ts";
import { checkOf, isObject, objectShape } from "../shape.ts";

/** Turns a run input of any age into the form of 1.0, and reports what it changed. Enforcement comes after it. */
export function normaliseRunInput(input: unknown): Enforced<unknown> {
  const { warnings, note } = notes("retired-form");
  const value = checkOf("@RunAgentInput")(input) ? input : normaliseInput(input, "", note);
  return { value, warnings };
}

/** The same for an input inside another value, such as the echo of `RUN_STARTED`. */
export function normaliseInput(input: unknown, path: string, note: Note): unknown {
  if (!isObject(input)) return input;
  const { fields } = objectShape("RunAgentInput");
  let changed = camelCaseKnown(input, (name) => fields.has(name), path, note);
  changed = dropNulls(changed, ["state", "forwardedProps"], path, note);
  changed = rewrite(changed, "messages", (messages) =>
    rewriteList(messages, (message, index) => normaliseMessage(message, `${path}/messages/${index}`, note)),
  );
  changed = rewrite(changed, "tools", (tools) =>
    rewriteList(tools, (tool, index) =>
      isObject(tool) ? dropNulls(tool, ["parameters"], `${path}/tools/${index}`, note) : tool,
    ),
  );
  return "resume" in changed
    ? rewrite(changed, "resume", (resume) => normaliseResume(resume, `${path}/resume`, note))
    : changed;
}

function normaliseResume(resume: unknown, path: string, note: Note): unknown {
  let entries = resume;
  if (isObject(resume)) {
    note(path, "resume is a list of answers.");
    entries = [resume];
  }
  const { fields } = objectShape("ResumeEntry");
  return rewriteList(entries, (entry, index) => {
    if (!isObject(entry)) return entry;
    const at = `${path}/${index}`;
    let changed = camelCaseKnown(entry, (name) => fields.has(name), at, note);
    changed = dropNulls(changed, ["payload"], at, note);
    if ("status" in changed) return changed;
    note(`${at}/status`, "An answer without a status is resolved.");
    return { ...changed, status: "resolved" };
  });
}
