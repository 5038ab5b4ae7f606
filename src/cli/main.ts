/**
 * The command line: finds the command, and turns whatever it throws into a sentence and an exit code.
 *
 * Exit codes: 0 fine, 1 a finding or a failure, 2 misuse (a wrong command, flag or value).
 */
import { readFile } from "node:fs/promises";
import { HeddleError } from "../protocol/index.ts";
import { conformanceCommand } from "./conformance-command.ts";
import { serveCommand } from "./serve-command.ts";
import type { Environment } from "./settings.ts";
import { threadsCommand } from "./threads-command.ts";

const HELP = `Usage: heddle <command> [options]

Commands:
  serve [agent.ts …]   Serve agents over HTTP
  conformance <dir>    Run AG-UI's conformance fixtures
  threads <what>       List, show, export, import and delete threads

Options:
  --help               Show this help; "heddle <command> --help" shows a command's
  --version            Show the version

Exit codes: 0 fine, 1 a finding or a failure, 2 misuse.`;

/** Runs the command that the arguments name, and returns its exit code. */
export async function main(args: readonly string[], env: Environment): Promise<number> {
  const [command, ...rest] = args;
  try {
    switch (command) {
      case "serve":
        return await serveCommand(rest, env);
      case "conformance":
        return await conformanceCommand(rest);
      case "threads":
        return await threadsCommand(rest, env);
      case "--help":
      case "-h":
      case "help":
        console.log(HELP);
        return 0;
      case "--version":
      case "-v":
        console.log(await readVersion());
        return 0;
      case undefined:
        console.error(HELP);
        return 2;
      default:
        console.error(`heddle: there is no command ${JSON.stringify(command)}. "heddle --help" lists them.`);
        return 2;
    }
  } catch (error) {
    return explain(error, command);
  }
}

/** Says what went wrong. Errors of ours are a sentence; anything else is a fault, and keeps its stack. */
function explain(error: unknown, command: string | undefined): number {
  if (error instanceof HeddleError) {
    console.error(`heddle: ${error.message} (${error.code})`);
    return error.code === "config-invalid" ? 2 : 1;
  }
  if (isArgumentError(error)) {
    console.error(`heddle: ${error.message.replace(/\.?$/, ".")} "heddle ${command} --help" lists the options.`);
    return 2;
  }
  console.error(error);
  return 1;
}

/** Whether `parseArgs` refused the arguments. */
function isArgumentError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    error.code.startsWith("ERR_PARSE_ARGS")
  );
}

async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
