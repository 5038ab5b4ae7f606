/**
 * Agents from files: every export that `defineAgent` made, under whatever name it is exported.
 * TypeScript is read by Node itself, so an agent file needs no build.
 */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";

/** Loads the agents of all files, in order. Throws `config-invalid`, or whatever a file throws while it loads. */
export async function loadAgents(files: readonly string[]): Promise<readonly Agent[]> {
  const agents = new Set<Agent>();
  for (const file of files) for (const agent of await agentsOf(file)) agents.add(agent);
  return [...agents];
}

async function agentsOf(file: string): Promise<readonly Agent[]> {
  const path = resolve(file);
  if (!(await isFile(path))) {
    throw new HeddleError("config-invalid", `There is no file ${file}: expected a file that exports agents.`, {
      setting: file,
      expected: "a file that exports agents",
      received: "no file",
    });
  }
  const exports: object = await import(pathToFileURL(path).href);
  const agents = Object.values(exports).filter(isAgent);
  if (agents.length > 0) return agents;
  throw new HeddleError("config-invalid", `The file ${file} exports no agent: expected one made by defineAgent.`, {
    setting: file,
    expected: "an export made by defineAgent",
    received: Object.keys(exports).join(", ") || "no exports",
  });
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
