/** What a check of an agent comes to, and what to do next. */
import type { Check } from "../../server/api.ts";

/** The verdicts, with the words for them. */
export const VERDICTS = {
  works: "It works",
  repaired: "It works behind Heddle, with repairs",
  broken: "It does not work yet",
} as const;

/** A verdict. */
export type Verdict = keyof typeof VERDICTS;

/** The verdict: repairs alone are no reason not to use an agent behind Heddle. */
export function verdictOf({ ok, reached, findings }: Pick<Check, "ok" | "reached" | "findings">): Verdict {
  if (ok) return "works";
  const isBroken = !reached || findings.some(({ kind }) => kind === "error");
  return !isBroken && findings.some(({ kind }) => kind === "repair") ? "repaired" : "broken";
}

/** What goes in quotes for a shell. */
const quoted = (text: string): string =>
  /^[\w:/.?=%@,~-]+$/.test(text) && !text.includes("?") ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A name for the agent at an address: the last part of its path that says something, else its host. */
export function agentName(url: string): string {
  const { hostname, pathname } = new URL(url);
  const part = pathname.split("/").findLast((each) => each !== "" && !/^(ag-?ui|agents?|api|run|v\d+)$/i.test(each));
  const name = (part ?? (/^[\d.:[\]]+$|^localhost$/.test(hostname) ? "agent" : hostname.split(".")[0])) || "agent";
  return name.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
}

/** The line that puts the agent behind Heddle. */
export const serveLine = (url: string): string => `npx heddle serve --agent ${quoted(`${agentName(url)}=${url}`)}`;
