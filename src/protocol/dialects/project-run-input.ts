/**
 * Run inputs as an agent of any age can read them. What is lost on the way is reported; what would change its meaning is
 * refused with `projection-refused`.
 */
import type { Enforced } from "../enforce.ts";
import { HeddleError } from "../errors.ts";
import type { ResumeEntry, RunAgentInput } from "../generated/model.ts";
import { isOlder } from "./peer.ts";
import type { Peer } from "./peer.ts";
import { projectMessages } from "./project-message.ts";
import { notes, without } from "./rewrite.ts";
import type { Fields } from "./rewrite.ts";

/** A run input for a peer. Activity messages never leave for an agent (R-ACT-10). */
export function projectRunInput(input: RunAgentInput, peer: Peer): Enforced<Fields> {
  const { warnings, note } = notes("lossy-projection");
  const messages = input.messages.filter(({ role }) => role !== "activity");
  let value: Fields = { ...input, messages: projectMessages(messages, peer, "/messages", note) };
  if (isOlder(peer, "1.0")) {
    // Before 1.0 these fields had to be there; empty means the same as absent.
    value = { state: {}, tools: [], context: [], forwardedProps: {}, ...without(value, "protocolVersion") };
  }
  if (isOlder(peer, "0.0.40")) {
    if (input.parentRunId !== undefined) note("/parentRunId", "Left out parentRunId: the peer is older than 0.0.40.");
    value = without(value, "parentRunId");
  }
  if (peer.interrupts === "single" && input.resume !== undefined) value = { ...value, resume: single(input.resume) };
  return { value, warnings };
}

function single(resume: readonly ResumeEntry[]): Fields | undefined {
  const [entry, ...others] = resume;
  if (entry === undefined) return undefined;
  if (others.length > 0) {
    throw refused("Answer the interrupts one at a time: the peer takes a single answer.", "/resume");
  }
  if (entry.status !== "resolved") {
    throw refused("The peer has no word for an interrupt that is given up.", "/resume/0/status");
  }
  return without({ ...entry }, "status", "metadata");
}

/** The error of a projection that would change the meaning. */
export function refused(message: string, path: string): HeddleError<"projection-refused"> {
  return new HeddleError("projection-refused", message, { path });
}
