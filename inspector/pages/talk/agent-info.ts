/** What an agent tells of itself, in the words that Talk shows. Nothing here knows any agent by its name. */
import type { AgentInfo } from "heddle/client";

/** What an agent is for, where it says so. */
export const purposeOf = ({ capabilities }: AgentInfo): string | undefined => capabilities.identity?.description;

/** What to call it. */
export const titleOf = ({ name, capabilities }: AgentInfo): string => capabilities.identity?.name ?? name;

const MAX_EXAMPLES = 4;

/** Things to say to it, as it proposes them: `capabilities.custom.examples`, a list of texts. */
export function examplesOf({ capabilities }: AgentInfo): readonly string[] {
  const examples: unknown = capabilities.custom?.["examples"];
  if (!Array.isArray(examples)) return [];
  return examples.filter((each): each is string => typeof each === "string" && each !== "").slice(0, MAX_EXAMPLES);
}

/** What it says that it can do, in a few words each. */
export function abilitiesOf({ capabilities }: AgentInfo): readonly string[] {
  const { tools, reasoning, state, humanInTheLoop, multiAgent, multimodal } = capabilities;
  const names = tools?.items?.map(({ name }) => name) ?? [];
  const can: readonly (readonly [unknown, string])[] = [
    [tools?.supported === true || names.length > 0, names.length > 0 ? `Tools: ${names.join(", ")}` : "Calls tools"],
    [reasoning?.supported, "Shows its reasoning"],
    [state?.snapshots === true || state?.deltas === true, "Shares its state"],
    [asks(humanInTheLoop), "Asks before it acts"],
    [multiAgent?.supported, "Works with subagents"],
    [multimodal?.input?.image, "Reads images"],
  ];
  return can.flatMap(([isSo, words]) => (isSo === true ? [words] : []));
}

/** Whether it asks people. */
export const asks = (capability: AgentInfo["capabilities"]["humanInTheLoop"]): boolean =>
  capability?.supported === true || capability?.interrupts === true || capability?.approvals === true;
