/**
 * Tools that run on the server: a name and a description for the model, a schema for the arguments, a function.
 *
 * The schema is of any library that follows standardschema.dev, or a JSON Schema; what `execute` is given has passed
 * it.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Emit } from "./emit.ts";
import type { Log } from "./log.ts";
import { checkOf, jsonSchemaOf } from "./schema.ts";
import type { JsonSchema, Schema } from "./schema.ts";

/** What a tool's `execute` is given beside its arguments. */
export interface ToolContext {
  /** Id of the call. */
  readonly toolCallId: string;
  /** How the tool speaks while it works. Its result is what it returns. */
  readonly emit: Emit;
  /** Aborts when the run is to stop, or the tool's time is up. */
  readonly signal: AbortSignal;
  /** For whoever runs the agent. */
  readonly log: Log;
}

/** What `defineTool` is given. */
export interface ToolDefinition<Args, Result> {
  /** Name that the model calls it by: letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** What its arguments look like. */
  readonly parameters: Schema<Args>;
  /** How long it may take. Default: as long as it likes. */
  readonly timeoutMs?: number;
  /** Whether a person has to agree before it runs. */
  readonly needsApproval?: boolean | ((args: Args) => boolean | Promise<boolean>);
  /**
   * Does the work. Text and content parts are the result as they are, nothing is an empty text, and anything else
   * becomes JSON. What it throws becomes a result too, which says what went wrong.
   */
  execute(args: Args, context: ToolContext): Result | Promise<Result>;
}

/** A call whose arguments fit. */
export interface PreparedCall {
  /** Whether a person has to agree first. */
  readonly needsApproval: boolean;
  /** Does the work. */
  run(context: ToolContext): Promise<unknown>;
}

/** A tool that runs on the server. Made by `defineTool`. */
export interface ServerTool<Args = never, Result = unknown> {
  /** Name that the model calls it by. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** What its arguments look like, as JSON Schema. */
  readonly parameters: JsonSchema;
  /** How long it may take. */
  readonly timeoutMs?: number;
  /** Does the work, on arguments of the right form. */
  execute(args: Args, context: ToolContext): Result | Promise<Result>;
  /** Judges arguments. Rejects with `tool-arguments-invalid` where they do not fit. */
  prepare(args: unknown): Promise<PreparedCall>;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Makes a tool. Throws `config-invalid` where its name or its schema cannot be given to a model. */
export function defineTool<Args = Readonly<Record<string, unknown>>, Result = unknown>(
  definition: ToolDefinition<Args, Result>,
): ServerTool<Args, Result> {
  const { name, description, timeoutMs, needsApproval = false } = definition;
  if (!NAME.test(name)) {
    const expected = "1 to 64 letters, digits, '_' or '-'";
    const message = `The tool's name is ${JSON.stringify(name)}: expected ${expected}.`;
    throw new HeddleError("config-invalid", message, { setting: "name", expected, received: JSON.stringify(name) });
  }
  const check = checkOf(definition.parameters);
  const execute = (args: Args, context: ToolContext): Result | Promise<Result> => definition.execute(args, context);
  const tool: ServerTool<Args, Result> = {
    name,
    description,
    parameters: jsonSchemaOf(definition.parameters, `the parameters of ${name}`),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    execute,
    async prepare(args) {
      const checked = await check(args);
      if (!checked.ok) {
        const message = `The arguments of ${name} do not fit: ${checked.problems.join("; ")}.`;
        throw new HeddleError("tool-arguments-invalid", message, { tool: name, problems: checked.problems });
      }
      const { value } = checked;
      return {
        needsApproval: typeof needsApproval === "function" ? await needsApproval(value) : needsApproval,
        run: async (context) => execute(value, context),
      };
    },
  };
  return Object.freeze(tool);
}
