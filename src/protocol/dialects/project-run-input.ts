/**
 * Run inputs as an agent of any age can read them. What is lost on the way is reported; what would change its meaning is
 * refused with `projection-refused`.
 */
import type { Enforced } from "../enforce.ts";
import { HeddleError } from "../errors.ts";
import type { ResumeEntry, RunAgentInput } from "../generated/model.ts";
import { lacks } from "./peer.ts";
import type { Peer } from "./peer.ts";
import { projectMessages } from "./project-message.ts";
import type { Direction } from "./project-message.ts";
import { notes, without } from "./rewrite.ts";
import type { Fields, Note } from "./rewrite.ts";

/** A run input for a peer. Activity messages never leave for an agent (R-ACT-10). */
export function projectRunInput(input: RunAgentInput, peer: Peer): Enforced<Fields> {
  const { warnings, note } = notes("lossy-projection");
  const messages = input.messages.filter(({ role }) => role !== "activity");
  const value = projectInput({ ...input, messages }, peer, "to-agent", "", note);
  return { value, warnings };
}

/** The same for an input inside another value, such as the echo of `RUN_STARTED`. */
export function projectInput(input: RunAgentInput, peer: Peer, direction: Direction, path: string, note: Note): Fields {
  let value: Fields = {
    ...input,
    messages: projectMessages(input.messages, peer, direction, `${path}/messages`, note),
  };
  if (lacks(peer, "protocolVersion")) value = without(value, "protocolVersion");
  // Before 1.0 these fields had to be there; empty means the same as absent.
  if (lacks(peer, "optionalInputFields")) value = { state: {}, tools: [], context: [], forwardedProps: {}, ...value };
  if (lacks(peer, "parentRunId") && input.parentRunId !== undefined) {
    note(`${path}/parentRunId`, "Left out parentRunId: the peer is too old for it.");
    value = without(value, "parentRunId");
  }
  if (peer.interrupts === "single" && input.resume !== undefined) value = singleResume(value, input.resume, path);
  return value;
}

function singleResume(value: Fields, resume: readonly ResumeEntry[], path: string): Fields {
  const [entry, ...others] = resume;
  if (entry === undefined) return without(value, "resume");
  if (others.length > 0) {
    throw refused("Answer the interrupts one at a time: the peer takes a single answer.", `${path}/resume`);
  }
  if (entry.status !== "resolved") {
    throw refused("The peer has no word for an interrupt that is given up.", `${path}/resume/0/status`);
  }
  return { ...value, resume: without({ ...entry }, "status", "metadata") };
}

/** The error of a projection that would change the meaning. */
export function refused(message: string, path: string): HeddleError<"projection-refused"> {
  return new HeddleError("projection-refused", message, { path });
}
