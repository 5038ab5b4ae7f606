/**
 * Where an agent says what people who run it should know: apart from its events, which are for people who use it.
 * Nothing is written anywhere unless whoever runs the agent hands over a log.
 */

/** What a line of the log is about, by name. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Takes lines at four levels. */
export interface Log {
  /** For whoever looks for a fault. */
  debug(message: string, fields?: LogFields): void;
  /** Worth knowing. */
  info(message: string, fields?: LogFields): void;
  /** Wrong, and the run goes on. */
  warn(message: string, fields?: LogFields): void;
  /** Wrong, and something was lost. */
  error(message: string, fields?: LogFields): void;
}

const ignore = (): void => {};

/** A log that keeps nothing. */
export const SILENT: Log = Object.freeze({ debug: ignore, info: ignore, warn: ignore, error: ignore });
