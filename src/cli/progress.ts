/**
 * A progress bar on one line of a terminal. Says nothing where there is no terminal, and nothing about what is done within
 * a second; what it wrote is gone when it ends.
 */

/** What a bar is drawn on. */
export interface ProgressScreen {
  /** Whether somebody sees it. */
  readonly isTTY?: boolean;
  /** Puts text on it. */
  write(text: string): unknown;
}

/** Options of `Progress`. */
export interface ProgressOptions {
  /** What it is drawn on. Default: the process's standard error. */
  readonly screen?: ProgressScreen;
  /** The clock. Default: `performance.now`. */
  readonly nowMs?: () => number;
}

/** Nothing is shown before. */
const PATIENCE_MS = 1000;
/** Least time between two drawings. */
const REDRAW_MS = 100;
const WIDTH = 30;
const CLEAR = "\r\u001b[2K";

/** Shows how far something is. */
export class Progress {
  readonly #screen: ProgressScreen;
  readonly #nowMs: () => number;
  #nextMs: number;
  #shown = false;

  constructor({ screen = process.stderr, nowMs = () => performance.now() }: ProgressOptions = {}) {
    this.#screen = screen;
    this.#nowMs = nowMs;
    this.#nextMs = nowMs() + PATIENCE_MS;
  }

  /** So much of so much is done; a total of 0 is not known. */
  show(what: string, done: number, total: number): void {
    if (this.#screen.isTTY !== true || this.#nowMs() < this.#nextMs) return;
    this.#nextMs = this.#nowMs() + REDRAW_MS;
    this.#shown = true;
    this.#screen.write(`${CLEAR}${what} ${total > 0 ? bar(done / total) : done}`);
  }

  /** Takes the bar away. */
  end(): void {
    if (this.#shown) this.#screen.write(CLEAR);
    this.#shown = false;
  }
}

function bar(share: number): string {
  const full = Math.round(WIDTH * Math.min(1, share));
  return `[${"#".repeat(full)}${".".repeat(WIDTH - full)}] ${Math.floor(100 * Math.min(1, share))} %`;
}
