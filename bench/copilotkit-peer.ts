/**
 * CopilotKit's runtime as a peer: installed when it is first needed, since it is large and nothing else needs it. Where
 * that fails, a sentence says so, and the rows against it are not measured.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { Child } from "./child.ts";

const FOLDER = "bench/copilotkit";
const LOCK = `${FOLDER}/package-lock.json`;
/** What npm leaves behind when an installation is complete. */
const INSTALLED = `${FOLDER}/node_modules/.package-lock.json`;

/** The runtime's server, in a process of its own; undefined where it cannot be had. */
export async function startPeer(): Promise<Child | undefined> {
  if (!isInstalled()) {
    console.log("Installing CopilotKit's runtime, the peer of this suite: npm ci in bench/copilotkit, 290 MB, once.");
    const fault = install();
    if (fault !== undefined) return without(`The peer could not be installed, check that npm can install: ${fault}`);
  }
  const quiet = { COPILOTKIT_TELEMETRY_DISABLED: "true", DO_NOT_TRACK: "1" };
  try {
    return await Child.start("copilotkit/serve.ts", [], quiet);
  } catch (error) {
    return without(`The peer could not be started: ${String(error)}`);
  }
}

function without(reason: string): undefined {
  console.log(`${reason}\nRows against it are not measured.`);
}

/** Whether everything that the lock names is there. */
function isInstalled(): boolean {
  if (!existsSync(INSTALLED)) return false;
  const there = versionsIn(INSTALLED);
  return [...versionsIn(LOCK)].every(([name, version]) => there.get(name) === version);
}

function versionsIn(file: string): ReadonlyMap<string, string> {
  const { packages }: { packages: Record<string, { version?: string; optional?: boolean }> } = JSON.parse(
    readFileSync(file, "utf8"),
  );
  const needed = Object.entries(packages).filter(([name, { optional }]) => name !== "" && optional !== true);
  return new Map(needed.map(([name, { version = "" }]) => [name, version]));
}

/** Installs, and gives what went wrong. */
function install(): string | undefined {
  const shell = process.platform === "win32";
  const { status, stderr, error } = spawnSync("npm", ["ci"], { cwd: FOLDER, encoding: "utf8", shell });
  if (status === 0) return undefined;
  const said = (stderr ?? "").split("\n").filter((text) => text.startsWith("npm error"));
  return error === undefined ? `npm ci ended with ${status}. ${said.slice(0, 3).join(" ")}` : error.message;
}
