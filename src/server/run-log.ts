/**
 * What an agent logs while it runs, on its way to whoever runs the server. Repairs come this way too where events do not
 * pass ingest: what an agent forwards by `emit` is put right there, and logged.
 */
import type { Log, LogFields } from "../agent/index.ts";
import { ADVICE, RULES } from "../stream/index.ts";
import { REPAIRS } from "../stream/repair/index.ts";
import type { Repair } from "../stream/repair/index.ts";

/** Takes a line that an agent logs. */
export type LogLine = (level: keyof Log, message: string, fields: LogFields) => void;

/** The log of one run. */
export function runLog(onLine: LogLine, onRepair: (repair: Repair) => void): Log {
  const at =
    (level: keyof Log): Log["debug"] =>
    (message, fields = {}) =>
      onLine(level, message, fields);
  return {
    debug: at("debug"),
    info: at("info"),
    error: at("error"),
    warn(message, fields = {}) {
      const { rule } = fields;
      if (isRule(rule)) onRepair({ rule, message });
      else onLine("warn", message, fields);
    },
  };
}

const isRule = (rule: unknown): rule is Repair["rule"] =>
  typeof rule === "string" && [RULES, ADVICE, REPAIRS].some((table) => Object.hasOwn(table, rule));
